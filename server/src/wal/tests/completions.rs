//! A running log tells when a record is safe, once, and leaves nobody waiting when it ends.

use std::io::ErrorKind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::super::disk::simulated::{Fault, Simulated};
use super::super::*;
use super::model::{recover, settings};

const SHARD: ShardId = ShardId(0);
const PATIENCE: Duration = Duration::from_secs(20);

type Told = (u64, Result<(), Ended>);

struct Running {
    wal: Wal,
    lane: std::sync::Arc<Lane>,
    completions: std::sync::Arc<Completions>,
    tell: SyncSender<Told>,
    told: Receiver<Told>,
}

fn start(disk: &Simulated, sync: SyncMode) -> Running {
    let completions = std::sync::Arc::new(Completions::default());
    let seating = Seating {
        shards: vec![SHARD],
        wake: completions.clone(),
    };
    let recovery = recover(disk).expect("the log is in order");
    let wal = recovery.start(&settings(sync), vec![seating]).expect("it starts");
    let lane = wal.lane(0);
    completions.attach(lane.clone());
    let (tell, told) = sync_channel(100);
    Running {
        wal,
        lane,
        completions,
        tell,
        told,
    }
}

impl Running {
    fn append(&self, index: u64) -> Result<Ticket, Why> {
        let id = LogId::new(1, 1, index);
        self.lane
            .append(SHARD, id, vec![7; 10])
            .map_err(|refused| refused.why)
    }

    fn after(&self, ticket: Ticket, safe: Safe) {
        let tell = self.tell.clone();
        let done = move |result| tell.send((ticket.0, result)).expect("the test listens");
        self.completions.after(ticket, safe, Box::new(done));
    }

    fn next(&self) -> Told {
        self.told.recv_timeout(PATIENCE).expect("somebody is told")
    }
}

#[test]
fn each_is_told_when_its_record_is_safe_and_in_their_order() {
    for (sync, safe) in [
        (SyncMode::Always, Safe::Durable),
        (SyncMode::Always, Safe::Written),
        (SyncMode::EverySecond, Safe::Written),
    ] {
        let running = start(&Simulated::default(), sync);
        for index in 1..=20 {
            let ticket = running.append(index).expect("there is room");
            running.after(ticket, safe);
        }
        let mut told: Vec<Told> = (0..20).map(|_| running.next()).collect();
        // One that was safe before it was asked for may be told beside the others.
        told.sort_by_key(|(ticket, _)| *ticket);
        assert_eq!(told, (1..=20).map(|ticket| (ticket, Ok(()))).collect::<Vec<_>>());
        assert!(running.lane.written().0 >= Ticket(20), "told of what is so");
        running.after(Ticket(5), safe);
        assert_eq!(
            running.next(),
            (5, Ok(())),
            "what is safe already is told at once"
        );
        running.wal.stop().expect("it ends well");
    }
}

#[test]
fn who_waits_for_durable_where_written_is_enough_gets_it_by_haste() {
    let running = start(&Simulated::default(), SyncMode::EverySecond);
    let ticket = running.append(1).expect("there is room");
    running.lane.hasten();
    running.after(ticket, Safe::Durable);
    assert_eq!(running.next(), (1, Ok(())));
    assert!(running.lane.durable().0 >= ticket);
    running.wal.stop().expect("it ends well");
}

#[test]
fn a_log_that_is_stopped_completes_what_it_took_and_refuses_the_rest() {
    let running = start(&Simulated::default(), SyncMode::EverySecond);
    let ticket = running.append(1).expect("there is room");
    running.after(ticket, Safe::Durable);
    running.after(Ticket(ticket.0 + 1), Safe::Written);
    let Running {
        wal,
        lane,
        completions,
        tell,
        told,
    } = running;
    wal.stop().expect("it ends well");
    let mut all: Vec<Told> = told.try_iter().collect();
    all.sort_by_key(|(ticket, _)| *ticket);
    assert_eq!(all, [(1, Ok(())), (2, Err(Ended))], "nobody is left");
    let refused = lane.append(SHARD, LogId::new(1, 1, 2), Vec::new());
    assert_eq!(refused.map_err(|refused| refused.why), Err(Why::Ended));
    let done = move |result| tell.send((9, result)).expect("the test listens");
    completions.after(Ticket(9), Safe::Written, Box::new(done));
    assert_eq!(told.try_recv(), Ok((9, Err(Ended))), "nor comes to wait");
}

#[test]
fn a_log_that_fails_leaves_nobody_waiting() {
    let disk = Simulated::default();
    let running = start(&disk, SyncMode::Always);
    let ticket = running.append(1).expect("there is room");
    running.after(ticket, Safe::Durable);
    assert_eq!(running.next(), (1, Ok(())));
    // Something soon fails, whichever thread meets it.
    disk.arm(disk.calls() + 1, Fault::Error(ErrorKind::Other));
    for index in 2..100 {
        let Ok(ticket) = running.append(index) else { break };
        running.after(ticket, Safe::Durable);
        if running.next().1.is_err() {
            break;
        }
    }
    assert!(running.wal.failure().is_some());
    running.after(Ticket(1000), Safe::Durable);
    assert_eq!(running.next(), (1000, Err(Ended)));
    assert!(running.wal.stop().is_err());
}
