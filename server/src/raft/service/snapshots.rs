//! Another node's image on its way here: into a file, by a thread, and to the group once it is whole.
//!
//! Invariant: without its end, and unless it is what was sent, nothing of a stream is installed.
//! Invariant: what the library would not expect (a snapshot beyond its leader's term, or one that contradicts what is
//! committed here) is refused before it sees it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use openraft::alias::{SnapshotMetaOf, SnapshotOf, VoteOf};
use openraft::async_runtime::watch::WatchReceiver;
use ruvio_proto::peer::v1 as peer;
use ruvio_proto::peer::v1::snapshot_request::Part as Sent;
use tokio::sync::{mpsc, oneshot};
use tonic::{Status, Streaming};

use super::{Seat, malformed, speaks_for};
use crate::image::{self, ArrivalError, Arrivals, Part, Progress};
use crate::raft::identity::Caller;
use crate::raft::snapshot::{Received, Snapshot};
use crate::raft::types::C;
use crate::raft::wire::{self, Wire};
use crate::wal::{LogId, ShardId};

/// Parts that wait for the disk.
const WAITING_MAX: usize = 4;

fn refused(why: &ArrivalError) -> Status {
    let told = why.to_string();
    match why {
        ArrivalError::Room { .. } => Status::resource_exhausted(told),
        ArrivalError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
            Status::resource_exhausted(told)
        }
        ArrivalError::Io { .. } => Status::unavailable(told),
        ArrivalError::Id | ArrivalError::Large(_) => Status::invalid_argument(told),
        ArrivalError::Superseded => Status::unavailable(told),
        // The sender looks what there is, and goes on or begins again.
        ArrivalError::Gap { .. }
        | ArrivalError::Damaged(_)
        | ArrivalError::Short { .. }
        | ArrivalError::Other => Status::aborted(told),
    }
}

fn arrivals(seat: &Seat) -> Result<Arc<Arrivals>, Status> {
    let arrivals = seat.images.arrivals();
    arrivals.ok_or_else(|| Status::unavailable("this node takes no snapshots"))
}

pub(super) async fn progress(
    seat: &Seat,
    request: peer::SnapshotProgressRequest,
) -> Result<peer::SnapshotProgressResponse, Status> {
    let (arrivals, shard) = (arrivals(seat)?, seat.port.shard());
    let read = tokio::task::spawn_blocking(move || arrivals.progress(shard, &request.snapshot_id)).await;
    let progress = read
        .map_err(|panic| Status::internal(panic.to_string()))?
        .map_err(|why| refused(&why))?;
    Ok(peer::SnapshotProgressResponse {
        bytes: progress.bytes,
        crc32c: progress.crc32c,
    })
}

/// What a stream says of itself.
pub(super) struct Header {
    pub shard: ShardId,
    vote: VoteOf<C>,
    meta: SnapshotMetaOf<C>,
    at: LogId,
    id: String,
    offset: u64,
    bytes_about: u64,
}

/// The first message.
pub(super) async fn header(
    caller: Caller,
    stream: &mut Streaming<peer::SnapshotRequest>,
) -> Result<Header, Status> {
    let Some(Sent::Header(header)) = stream.message().await?.and_then(|message| message.part) else {
        return Err(Status::invalid_argument("a snapshot begins with its header"));
    };
    let vote = wire::snapshot_vote(header.vote).map_err(malformed)?;
    speaks_for(caller, vote.leader_id.node_id)?;
    let meta = header
        .meta
        .ok_or(wire::Malformed::Missing("meta"))
        .map_err(malformed)?;
    let meta = SnapshotMetaOf::<C>::from_wire(meta).map_err(malformed)?;
    let last = meta
        .last_log_id
        .ok_or_else(|| malformed(wire::Malformed::Missing("last_log_id")))?;
    if last.leader_id > vote.leader_id {
        return Err(Status::invalid_argument(
            "a snapshot from beyond its leader's term",
        ));
    }
    Ok(Header {
        shard: wire::shard(header.shard).map_err(malformed)?,
        vote,
        meta,
        at: wire::wal_id(&last),
        id: header.snapshot_id,
        offset: header.offset,
        bytes_about: header.total_bytes,
    })
}

/// Takes the rest of a stream, and gives the group what came.
pub(super) async fn take(
    seat: &Seat,
    header: Header,
    stream: Streaming<peer::SnapshotRequest>,
) -> Result<peer::SnapshotResponse, Status> {
    let vote = seat.current.raft().server_metrics().borrow_watched().vote;
    if vote > header.vote {
        return Ok(peer::SnapshotResponse {
            vote: Some(vote.to_wire()),
        });
    }
    let Header { vote, meta, at, .. } = &header;
    let (vote, meta, at) = (*vote, meta.clone(), *at);
    let shard = header.shard.0;
    let file = receive(arrivals(seat)?, header, stream).await?;
    let given = seat.port.given();
    if at.index <= given.index && at > given {
        return Err(Status::failed_precondition(
            "it contradicts what is committed here",
        ));
    }
    tracing::info!(shard, at = %at, "a snapshot has come");
    let received = Received {
        at,
        file: file.clone(),
    };
    let snapshot = SnapshotOf::<C, Snapshot> {
        meta,
        snapshot: Snapshot::Received(received),
    };
    let answer = seat.current.raft().install_full_snapshot(vote, snapshot).await;
    // One that was not wanted is in nobody's place.
    let removed = tokio::task::spawn_blocking(move || std::fs::remove_file(file)).await;
    drop(removed);
    let answer = answer.map_err(|fatal| Status::unavailable(fatal.to_string()))?;
    Ok(answer.to_wire())
}

/// The complete file.
async fn receive(
    arrivals: Arc<Arrivals>,
    header: Header,
    mut stream: Streaming<peer::SnapshotRequest>,
) -> Result<PathBuf, Status> {
    let (parts, to_write) = mpsc::channel(WAITING_MAX);
    let (tell, mut told) = oneshot::channel();
    let thread = std::thread::Builder::new().name(format!("arrival-{}", header.shard.0));
    let spawned = thread.spawn(move || {
        // Nobody waits for it where the call has ended.
        let _ = tell.send(write(&arrivals, &header, to_write));
    });
    spawned.map_err(|why| Status::unavailable(why.to_string()))?;
    loop {
        let message = tokio::select! {
            message = stream.message() => message?,
            written = &mut told => return finished(written),
        };
        let Some(message) = message.and_then(|message| message.part) else {
            return Err(Status::aborted("the snapshot has no end"));
        };
        let is_over = matches!(message, Sent::End(_));
        // It fails where the thread has ended, which says why.
        if parts.send(message).await.is_err() || is_over {
            return finished(told.await);
        }
    }
}

fn finished(written: Result<Result<PathBuf, Status>, oneshot::error::RecvError>) -> Result<PathBuf, Status> {
    written.unwrap_or_else(|_| Err(Status::internal("the thread that receives ended")))
}

/// Until the end, or until nobody sends any more.
fn write(arrivals: &Arrivals, header: &Header, mut parts: mpsc::Receiver<Sent>) -> Result<PathBuf, Status> {
    let Header {
        shard, id, offset, ..
    } = header;
    let begun = arrivals.begin(*shard, id, *offset, header.bytes_about);
    let mut arrival = begun.map_err(|why| refused(&why))?;
    loop {
        match parts.blocking_recv() {
            Some(Sent::Data(sent)) => {
                let part = Part {
                    offset: sent.offset,
                    data: sent.data,
                    crc32c: sent.crc32c,
                };
                arrival.part(&part).map_err(|why| refused(&why))?;
            }
            Some(Sent::End(end)) => {
                let sent = Progress {
                    bytes: end.total_bytes,
                    crc32c: end.crc32c,
                };
                let file = arrival.end(sent).map_err(|why| refused(&why))?;
                return check(&file, header.at).map(|()| file);
            }
            Some(Sent::Header(_)) => return Err(Status::invalid_argument("a second header")),
            None => return Err(Status::aborted("the snapshot has no end")),
        }
    }
}

/// What the file says it holds is what the header said.
fn check(file: &std::path::Path, at: LogId) -> Result<(), Status> {
    let meta = image::meta_of_stream(file).map_err(|why| Status::invalid_argument(why.to_string()))?;
    let found = LogId::new(meta.at.term, meta.at.node, meta.at.index);
    if found == at {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "a snapshot of {found} that should be of {at}"
    )))
}
