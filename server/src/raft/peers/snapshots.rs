//! A shard's image to a peer that is too far behind for the log, over a connection of its own.
//!
//! Rows are read and cut by a thread, which waits while the peer is slow. It goes on where an earlier stream of the same
//! image was cut short, and ends as soon as nobody wants its parts any more.
//!
//! Invariant: what is sent is the image that the library was told of, or nothing: one that has moved on meanwhile is
//! another snapshot.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{Stream, stream};
use openraft::alias::{SnapshotMetaOf, SnapshotOf, VoteOf};
use openraft::errors::{NetworkError, ReplicationClosed, StreamingError, Unreachable};
use openraft::raft::SnapshotResponse;
use ruvio_proto::peer::v1 as peer;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tonic::{Code, Request, Status};

use super::Remote;
use crate::image::{Exports, Outline, Part, Progress, Recipient, priority};
use crate::raft::snapshot::{Images, Snapshot};
use crate::raft::types::C;
use crate::raft::wire::Wire;
use crate::wal::{LogId, ShardId};

/// Messages that wait for the network: with those on their way, what a snapshot takes of memory.
const WAITING_MAX: usize = 4;
/// The peer reads what it has before it answers.
const PROGRESS_MAX: Duration = Duration::from_secs(60);

type Failed = StreamingError<C>;

fn network(why: &Status) -> Failed {
    StreamingError::Network(NetworkError::new(why))
}

fn failed(status: &Status) -> Failed {
    match status.code() {
        Code::Cancelled | Code::Aborted | Code::DataLoss => network(status),
        // Again, after a while.
        _ => StreamingError::Unreachable(Unreachable::new(status)),
    }
}

/// One snapshot on its way.
struct Sending {
    runtime: Handle,
    remote: Arc<Remote>,
    shard: ShardId,
    at: LogId,
    vote: VoteOf<C>,
    meta: SnapshotMetaOf<C>,
    messages: mpsc::Sender<peer::SnapshotRequest>,
    pace: Pace,
}

/// Sends a snapshot, and waits until it is installed.
pub(super) async fn send(
    remote: Arc<Remote>,
    images: Arc<dyn Images>,
    shard: ShardId,
    vote: VoteOf<C>,
    snapshot: SnapshotOf<C, Snapshot>,
    cancel: impl Future<Output = ReplicationClosed> + Send + 'static,
) -> Result<SnapshotResponse<C>, Failed> {
    let Snapshot::Kept(held) = snapshot.snapshot else {
        return Err(network(&Status::internal("it is not this node's own image")));
    };
    let Some(exports) = images.exports() else {
        return Err(failed(&Status::unavailable("there are no images to send")));
    };
    let sent = async {
        let permit = remote.snapshots.acquire().await;
        let _permit = permit.map_err(|_| failed(&Status::unavailable("the node ends")))?;
        let (messages, to_send) = mpsc::channel(WAITING_MAX);
        let sending = Sending {
            runtime: Handle::current(),
            remote: Arc::clone(&remote),
            shard,
            at: held.at,
            vote,
            meta: snapshot.meta,
            messages,
            pace: Pace::new(Box::new(move || images.bytes_per_second_max())),
        };
        deliver(&remote, exports, sending, to_send).await
    };
    let sent = tokio::select! {
        closed = cancel => Err(StreamingError::Closed(closed)),
        sent = sent => sent,
    };
    // It is tried again, and somebody should know why it takes so long.
    sent.inspect_err(|why| tracing::warn!(shard = shard.0, %why, "a snapshot was not taken"))
}

async fn deliver(
    remote: &Remote,
    exports: Exports,
    sending: Sending,
    mut to_send: mpsc::Receiver<peer::SnapshotRequest>,
) -> Result<SnapshotResponse<C>, Failed> {
    let (shard, began) = (sending.shard.0, Instant::now());
    let (tell, told) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name(format!("snapshot-{shard}"));
    let spawned = thread.spawn(move || {
        priority::lower_thread();
        // Nobody waits for it where the call has ended.
        let _ = tell.send(sending.run(&exports));
    });
    spawned.map_err(|why| failed(&Status::unavailable(why.to_string())))?;
    // Only then is it known where it begins.
    let first = to_send.recv().await;
    let answered = match first {
        Some(header) => {
            // The stream ends with this call, whoever gives it up.
            let (_alive, gone) = tokio::sync::oneshot::channel();
            let request = Request::new(following(header, to_send, gone));
            let mut client = remote
                .snapshot_link
                .client()
                .await
                .map_err(|status| failed(&status))?;
            Some(client.snapshot(request).await)
        }
        None => None,
    };
    let sent = told.await;
    let response = match (answered, sent) {
        (Some(Ok(response)), Ok(Ok(sent))) => {
            tracing::info!(
                shard,
                bytes = sent.bytes,
                took_ms = began.elapsed().as_millis() as u64,
                "a snapshot was sent"
            );
            response.into_inner()
        }
        // The peer answered early: it has a higher vote.
        (Some(Ok(response)), _) => response.into_inner(),
        // The peer says why; the thread, only that nobody takes its parts.
        (Some(Err(status)), _) => return Err(failed(&status)),
        (None, Ok(Err(why))) => return Err(failed(&Status::aborted(why.to_string()))),
        (None, _) => return Err(failed(&Status::internal("the thread that sends ended"))),
    };
    SnapshotResponse::<C>::from_wire(response).map_err(|why| network(&Status::internal(why.to_string())))
}

fn following(
    header: peer::SnapshotRequest,
    rest: mpsc::Receiver<peer::SnapshotRequest>,
    gone: tokio::sync::oneshot::Receiver<()>,
) -> impl Stream<Item = peer::SnapshotRequest> + Send + 'static {
    stream::unfold(
        (Some(header), rest, gone),
        |(header, mut rest, mut gone)| async move {
            let next = match header {
                Some(header) => header,
                None => tokio::select! {
                    _ = &mut gone => return None,
                    next = rest.recv() => next?,
                },
            };
            Some((next, (None, rest, gone)))
        },
    )
}

fn request(part: peer::snapshot_request::Part) -> peer::SnapshotRequest {
    peer::SnapshotRequest { part: Some(part) }
}

impl Sending {
    fn run(mut self, exports: &Exports) -> io::Result<Progress> {
        let shard = self.shard;
        let sent = exports.export(shard, &mut self).map_err(io::Error::other)?;
        let sent = sent.ok_or_else(|| io::Error::other("the shard has no image any more"))?;
        self.send(peer::snapshot_request::Part::End(peer::SnapshotEnd {
            total_bytes: sent.bytes,
            crc32c: sent.crc32c,
        }))?;
        Ok(sent)
    }

    fn send(&self, part: peer::snapshot_request::Part) -> io::Result<()> {
        let sent = self.messages.blocking_send(request(part));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Recipient for Sending {
    fn progress(&mut self, outline: &Outline) -> io::Result<Progress> {
        let at = outline.meta.at;
        if LogId::new(at.term, at.node, at.index) != self.at {
            return Err(io::Error::other("the image has moved on"));
        }
        let ask = Request::new(peer::SnapshotProgressRequest {
            shard: self.shard.0.into(),
            snapshot_id: outline.id.clone(),
        });
        let link = &self.remote.snapshot_link;
        let call = async { link.client().await?.snapshot_progress(ask).await };
        let answer = self
            .runtime
            .block_on(async { tokio::time::timeout(PROGRESS_MAX, call).await });
        let answer = answer.map_err(io::Error::other)?.map_err(io::Error::other)?;
        let answer = answer.into_inner();
        Ok(Progress {
            bytes: answer.bytes,
            crc32c: answer.crc32c,
        })
    }

    fn begin(&mut self, outline: &Outline, offset: u64) -> io::Result<()> {
        tracing::info!(
            shard = self.shard.0,
            id = outline.id,
            offset,
            bytes = outline.bytes_about,
            "a snapshot is sent"
        );
        self.send(peer::snapshot_request::Part::Header(peer::SnapshotHeader {
            shard: self.shard.0.into(),
            vote: Some(self.vote.to_wire()),
            meta: Some(self.meta.clone().to_wire()),
            offset,
            total_bytes: outline.bytes_about,
            snapshot_id: outline.id.clone(),
        }))
    }

    fn part(&mut self, part: Part) -> io::Result<()> {
        self.pace.wait(part.data.len());
        self.send(peer::snapshot_request::Part::Data(peer::SnapshotData {
            offset: part.offset,
            data: part.data,
            crc32c: part.crc32c,
        }))
    }
}

/// So many bytes a second and no more, as it is asked at every part; 0: as many as go.
struct Pace {
    bytes_per_second_max: Box<dyn Fn() -> u64 + Send>,
    /// When the last part was sent, and how long it was.
    sent: Instant,
    bytes: usize,
}

/// Another rate is heard of within this.
const PACE_LOOK: Duration = Duration::from_millis(200);

impl Pace {
    fn new(bytes_per_second_max: Box<dyn Fn() -> u64 + Send>) -> Self {
        Self {
            bytes_per_second_max,
            sent: Instant::now(),
            bytes: 0,
        }
    }

    /// Until the last part has had its time.
    fn wait(&mut self, bytes: usize) {
        loop {
            let rate = (self.bytes_per_second_max)();
            if rate == 0 {
                break;
            }
            let due = Duration::from_secs_f64(self.bytes as f64 / rate as f64);
            let left = due.saturating_sub(self.sent.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(PACE_LOOK));
        }
        (self.sent, self.bytes) = (Instant::now(), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_kept_and_changes_while_somebody_waits() {
        use std::sync::atomic::{AtomicU64, Ordering};
        let rate = Arc::new(AtomicU64::new(1000));
        let of_pace = Arc::clone(&rate);
        let mut pace = Pace::new(Box::new(move || of_pace.load(Ordering::Relaxed)));
        let began = Instant::now();
        for _ in 0..4 {
            pace.wait(100);
        }
        assert!(began.elapsed() >= Duration::from_millis(300));
        rate.store(1, Ordering::Relaxed);
        let changed = Arc::clone(&rate);
        let change = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            changed.store(0, Ordering::Relaxed);
        });
        let began = Instant::now();
        (0..1000).for_each(|_| pace.wait(1 << 20));
        assert!(
            began.elapsed() >= Duration::from_millis(50),
            "a hundred seconds by the old rate"
        );
        assert!(began.elapsed() < Duration::from_secs(20));
        change.join().expect("it ends well");
    }
}
