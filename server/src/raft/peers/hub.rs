//! The heartbeats of all shards to one peer: those that are due within a moment travel in one message.
//!
//! Invariant: what waits is bounded, and so are the messages under way: a peer that does not answer holds up nothing
//! but its own heartbeats.

use std::sync::Arc;
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

/// How long the first one waits for others: a small part of the time between two.
const MOMENT: Duration = Duration::from_millis(10);
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

#[derive(Clone)]
pub(super) struct Hub(mpsc::Sender<Due>);

impl Hub {
    /// Ends when nobody has it any longer. `answer_max`: an answer that comes later serves nobody.
    pub fn start(link: Arc<Link>, answer_max: Duration) -> Self {
        let (due, to_send) = mpsc::channel(WAITING_MAX);
        tokio::spawn(gather(link, to_send, answer_max));
        Self(due)
    }

    pub async fn beat(&self, shard: ShardId, request: AppendEntriesRequest<C>) -> Answer {
        let (answer, answered) = oneshot::channel();
        let due = Due {
            previous: request.prev_log_id,
            sent: wire::heartbeat_to_wire(shard, request),
            answer,
        };
        self.0
            .try_send(due)
            .map_err(|_| Status::unavailable("too many heartbeats wait for this peer"))?;
        answered
            .await
            .map_err(|_| Status::unavailable("the heartbeat was not sent"))?
    }
}

async fn gather(link: Arc<Link>, mut to_send: mpsc::Receiver<Due>, answer_max: Duration) {
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
        let link = Arc::clone(&link);
        tokio::spawn(async move {
            send(&link, due, answer_max).await;
            drop(permit);
        });
    }
}

async fn send(link: &Link, mut due: Vec<Due>, answer_max: Duration) {
    let shards = due.iter_mut().map(|one| std::mem::take(&mut one.sent)).collect();
    let call = async {
        let request = Request::new(peer::HeartbeatRequest { shards });
        link.client().await?.heartbeat(request).await
    };
    let answers = match tokio::time::timeout(answer_max, call).await {
        Ok(Ok(response)) => response.into_inner().shards,
        Ok(Err(status)) => return fail(due, &status),
        Err(_) => {
            return fail(
                due,
                &Status::deadline_exceeded("a heartbeat was not answered in time"),
            );
        }
    };
    if answers.len() != due.len() {
        return fail(due, &Status::internal("not as many answers as heartbeats"));
    }
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

fn fail(due: Vec<Due>, status: &Status) {
    for one in due {
        let _ = one.answer.send(Err(status.clone()));
    }
}
