//! A leader's stream of appends, handed to its shard's group.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use openraft::raft::AppendEntriesRequest;
use ruvio_proto::peer::v1 as peer;
use tonic::{Status, Streaming};

use super::{Answers, Seat, speaks_for};
use crate::raft::identity::Caller;
use crate::raft::types::C;
use crate::raft::wire::Wire;
use crate::replica;

/// When each append came that is not answered. As many as the library lets be under way.
#[derive(Default)]
struct Came(Mutex<VecDeque<replica::Instant>>);

impl Came {
    fn push(&self) {
        let mut came = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        came.push_back(replica::Instant::now());
    }

    fn pop(&self) -> Option<replica::Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

pub(super) fn answer(
    seat: &Seat,
    caller: Caller,
    requests: Streaming<peer::AppendRequest>,
) -> Answers<peer::AppendResponse> {
    let shard = seat.port.shard().0;
    let (came, of_answers) = (Arc::new(Came::default()), Arc::clone(&seat.port));
    let of_requests = Arc::clone(&came);
    let images = Arc::clone(&seat.images);
    let requests = requests.scan((), move |(), message| {
        let request = message.and_then(|message| read(caller, message));
        let has_room = || Status::unavailable("the disk is full");
        let request = request.and_then(|request| images.has_room().then_some(request).ok_or_else(has_room));
        let request = request.inspect_err(|status| {
            let (node, why) = (caller.node.0, status.message());
            tracing::debug!(shard, node, why, "a stream of appends ends");
        });
        if request.is_ok() {
            of_requests.push();
        }
        std::future::ready(request.ok())
    });
    let answers = seat.current.raft().stream_append(requests);
    Box::pin(answers.map(move |answer| {
        let answer = answer.map_err(|fatal| Status::unavailable(fatal.to_string()))?;
        if let (Ok(_), Some(at)) = (&answer, came.pop()) {
            of_answers.note_heard(at);
        }
        Ok(answer.to_wire())
    }))
}

fn read(caller: Caller, message: peer::AppendRequest) -> Result<AppendEntriesRequest<C>, Status> {
    let request = AppendEntriesRequest::from_wire(message);
    let request = request.map_err(|why| Status::invalid_argument(why.to_string()))?;
    speaks_for(caller, request.vote.leader_id.node_id)?;
    Ok(request)
}
