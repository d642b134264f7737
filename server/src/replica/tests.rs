//! What an owner is told, and when it may execute.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::*;
use crate::wal::{LogId, ShardId, Wake};

struct Deaf;

impl Wake for Deaf {
    fn wake(&self) {}
}

const FIRST: Epoch = Epoch { term: 1, node: 1 };

fn last() -> LogId {
    LogId::new(1, 1, 5)
}

fn port() -> Port {
    let (send, _) = mpsc::channel(1);
    Port::new(ShardId(0), Arc::new(Deaf), send, last())
}

fn events(port: &Port) -> Vec<Event> {
    let mut events = VecDeque::new();
    port.take(&mut events);
    events.into()
}

fn give(port: &Port, id: LogId) -> Given {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let payload = Bytes::from_static(b"effects");
    runtime.expect("a runtime").block_on(port.give(id, &payload))
}

#[test]
fn what_is_committed_behind_a_lost_proposal_is_not_told() {
    let port = port();
    let stint = port.lead(FIRST).expect("it begins");
    port.settle(stint, 1, Outcome::Committed(6));
    port.settle(stint, 2, Outcome::Lost);
    // The core had a lease again by then.
    port.settle(stint, 3, Outcome::Committed(7));
    assert_eq!((port.committed(), port.committed_index()), (1, 6));
    assert_eq!(
        events(&port),
        [Event::Lead(stint), Event::Follow { given: last() }]
    );
    let next = port.lead(FIRST).expect("the epoch goes on");
    port.settle(next, 4, Outcome::Committed(9));
    assert_eq!((port.committed(), port.committed_index()), (4, 9));
}

#[test]
fn an_entry_of_another_leader_ends_the_stint_before_it_is_given() {
    let port = port();
    let stint = port.lead(FIRST).expect("it begins");
    assert_eq!(give(&port, LogId::new(1, 1, 6)), Given::Executed);
    let other = LogId::new(2, 3, 7);
    assert_eq!(give(&port, other), Given::Queued);
    let given = LogId::new(1, 1, 6);
    let entry = Event::Entry {
        id: other,
        payload: Bytes::from_static(b"effects"),
    };
    assert_eq!(
        events(&port),
        [Event::Lead(stint), Event::Follow { given }, entry]
    );
    assert_eq!(port.leads(), None);
}

#[test]
fn a_lease_is_of_a_stint_and_counts_for_nothing_while_anyone_wants_rest() {
    let port = port();
    let now = Instant::now();
    let stint = port.lead(FIRST).expect("it begins");
    assert!(!port.has_lease(stint, now), "nobody answered yet");
    port.note_lease(now.after(Duration::from_secs(1)));
    assert!(port.has_lease(stint, now));
    port.hold();
    port.hold();
    port.release();
    assert!(!port.has_lease(stint, now), "one still wants it");
    port.release();
    assert!(port.has_lease(stint, now));
    port.end(stint);
    assert!(!port.has_lease(stint, now), "its owner may not know yet");
    let next = port.lead(FIRST).expect("the epoch goes on");
    assert!(port.has_lease(next, now) && !port.has_lease(stint, now));
}

#[test]
fn an_epoch_that_was_given_away_does_not_come_back() {
    let port = port();
    let stint = port.lead(FIRST).expect("it begins");
    port.close(FIRST);
    assert_eq!(
        events(&port),
        [Event::Lead(stint), Event::Follow { given: last() }]
    );
    assert_eq!(port.lead(FIRST), None);
    assert!(port.is_closed(FIRST));
    let next = Epoch { term: 2, node: 1 };
    assert!(!port.is_closed(next) && port.lead(next).is_some());
}
