//! The heartbeats of all shards to one peer: those that are due within a moment travel in one message.
//!
//! Invariant: what waits is bounded, and so are the messages under way: a peer that does not answer holds up nothing
//! but its own heartbeats.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use openraft::alias::LogIdOf;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use ruvio_proto::peer::v1 as peer;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tonic::{Request, Status};

use super::link::Link;
use crate::raft::types::C;
use crate::raft::wire;
use crate::wal::ShardId;

/// How long the first one waits for others, which one clock made due at the same time.
const MOMENT: Duration = Duration::from_millis(2);
/// Heartbeats that wait: a few for each shard that a node may have.
const WAITING_MAX: usize = 4 << 10;
/// Of one message.
const SHARDS_MAX: usize = crate::wal::SHARDS_MAX;
/// Messages under way to one peer.
const UNDER_WAY_MAX: usize = 4;

type Answer = Result<AppendEntriesResponse<C>, Status>;

struct Due {
    sent: peer::ShardHeartbeat,
    previous: Option<LogIdOf<C>>,
    answer: oneshot::Sender<Answer>,
}

/// What was sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::raft) struct Sent {
    pub messages: u64,
    pub heartbeats: u64,
}

pub(super) struct Hub {
    due: mpsc::Sender<Due>,
    line: Arc<Line>,
}

/// A peer, and how it goes with it.
struct Line {
    link: Arc<Link>,
    /// An answer that comes later serves nobody.
    answer_max: Duration,
    is_silent: AtomicBool,
    messages: AtomicU64,
    heartbeats: AtomicU64,
}

impl Hub {
    /// Ends when nobody has it any longer.
    pub fn start(link: Arc<Link>, answer_max: Duration) -> Self {
        let (due, to_send) = mpsc::channel(WAITING_MAX);
        let line = Arc::new(Line {
            link,
            answer_max,
            is_silent: AtomicBool::new(false),
            messages: AtomicU64::new(0),
            heartbeats: AtomicU64::new(0),
        });
        tokio::spawn(gather(Arc::clone(&line), to_send));
        Self { due, line }
    }

    pub fn sent(&self) -> Sent {
        Sent {
            messages: self.line.messages.load(Ordering::Relaxed),
            heartbeats: self.line.heartbeats.load(Ordering::Relaxed),
        }
    }

    pub async fn beat(&self, shard: ShardId, request: AppendEntriesRequest<C>) -> Answer {
        let (answer, answered) = oneshot::channel();
        let due = Due {
            previous: request.prev_log_id,
            sent: wire::heartbeat_to_wire(shard, request),
            answer,
        };
        self.due
            .try_send(due)
            .map_err(|_| Status::unavailable("too many heartbeats wait for this peer"))?;
        answered
            .await
            .map_err(|_| Status::unavailable("the heartbeat was not sent"))?
    }
}

async fn gather(line: Arc<Line>, mut to_send: mpsc::Receiver<Due>) {
    let under_way = Arc::new(Semaphore::new(UNDER_WAY_MAX));
    loop {
        let Ok(permit) = Arc::clone(&under_way).acquire_owned().await else {
            return;
        };
        let mut due = Vec::new();
        if to_send.recv_many(&mut due, SHARDS_MAX).await == 0 {
            return;
        }
        tokio::time::sleep(MOMENT).await;
        while due.len() < SHARDS_MAX
            && let Ok(one) = to_send.try_recv()
        {
            due.push(one);
        }
        // Whoever asked may have given up meanwhile.
        due.retain(|one| !one.answer.is_closed());
        if due.is_empty() {
            continue;
        }
        let line = Arc::clone(&line);
        tokio::spawn(async move {
            line.send(due).await;
            drop(permit);
        });
    }
}

impl Line {
    async fn send(&self, mut due: Vec<Due>) {
        let shards: Vec<_> = due.iter_mut().map(|one| std::mem::take(&mut one.sent)).collect();
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.heartbeats.fetch_add(due.len() as u64, Ordering::Relaxed);
        let answers = self
            .call(shards)
            .await
            .and_then(|answers| match answers.len() == due.len() {
                true => Ok(answers),
                false => Err(Status::internal("not as many answers as heartbeats")),
            });
        self.note(answers.as_ref().err());
        let answers = match answers {
            Ok(answers) => answers,
            Err(status) => return fail(due, &status),
        };
        for (one, answer) in due.into_iter().zip(answers) {
            let answer = match wire::heartbeat_answer_from_wire(answer, one.previous) {
                Ok((_, Ok(answer))) => Ok(answer),
                Ok((_, Err(why))) => Err(Status::unavailable(why)),
                Err(malformed) => Err(Status::internal(malformed.to_string())),
            };
            // Whoever asked may have given up.
            let _ = one.answer.send(answer);
        }
    }

    async fn call(
        &self,
        shards: Vec<peer::ShardHeartbeat>,
    ) -> Result<Vec<peer::ShardHeartbeatAnswer>, Status> {
        let call = async {
            let request = Request::new(peer::HeartbeatRequest { shards });
            self.link.client().await?.heartbeat(request).await
        };
        match tokio::time::timeout(self.answer_max, call).await {
            Ok(response) => Ok(response?.into_inner().shards),
            Err(_) => Err(Status::deadline_exceeded("a heartbeat was not answered in time")),
        }
    }

    /// Says once that a peer is away, and once that it is back.
    fn note(&self, failed: Option<&Status>) {
        let peer = self.link.to().0;
        match (self.is_silent.swap(failed.is_some(), Ordering::Relaxed), failed) {
            (false, Some(status)) => {
                let (code, why) = (status.code(), deepest(status));
                tracing::warn!(peer, ?code, why, "a peer does not answer");
            }
            (true, None) => tracing::info!(peer, "a peer answers again"),
            _ => {}
        }
    }
}

/// What was wrong in the first place.
fn deepest(status: &Status) -> String {
    let (mut said, mut cause) = (status.message().to_owned(), status.source());
    while let Some(deeper) = cause {
        said = deeper.to_string();
        cause = deeper.source();
    }
    said
}

fn fail(due: Vec<Due>, status: &Status) {
    for one in due {
        let _ = one.answer.send(Err(status.clone()));
    }
}
