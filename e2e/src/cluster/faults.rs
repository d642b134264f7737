//! What is done to a cluster while clients are at work: a schedule from a seed. How it is carried out is in `suffer`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use fastrand::Rng;

use crate::clocks::CLOCKS_CAN_BE_SET;
use crate::load::Counts;

/// One fault, as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Ended at once, and started again.
    Kill(usize),
    KillAll,
    /// Ended by itself.
    Stop(usize),
    /// Stands still with all its connections.
    Pause(usize),
    /// It and all others do not hear each other.
    Isolate(usize),
    /// The others do not hear it.
    Mute(usize),
    /// It does not hear the others.
    Deafen(usize),
    /// Two do not hear each other, and both hear the others.
    Part(usize, usize),
    /// The first does not reach the second.
    PartOneWay(usize, usize),
    /// All it sends is lost now and then.
    Lossy(usize),
    Slow(usize),
    /// The leader of a shard hands it over to the node.
    HandOver(usize, usize),
    /// The shard leaves one of its nodes for one that does not have it.
    Move(usize),
    /// It gives all its leaderships away, and takes none.
    Drain(usize),
    /// It loses all that it kept, and a new one takes its place.
    Replace(usize),
    /// Its log's thread stands still.
    Stall(usize),
    /// Its disk fails at the next sync.
    FailDisk(usize),
    /// Its disk has no room.
    FillDisk(usize),
    /// Its wall clock jumps by so many seconds, and stays there.
    StepClock(usize, i64),
    /// Its clocks but that of the wall run faster, or slower, by the most that a lease allows for.
    Drift(usize, bool),
    /// One after the other ends by itself and is started again.
    Roll,
}

/// What can be done to a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub nodes: usize,
    /// Lines can be cut.
    pub has_network: bool,
    /// Shards that can be handed over; none where nodes are nothing to each other.
    pub shards: usize,
    /// Disks can be filled.
    pub has_disks: bool,
    /// Wall clocks can be stepped.
    pub has_clocks: bool,
}

/// A kind of fault, with its details yet to be drawn.
type Draw = fn(&Field, &mut Rng) -> Fault;

fn node(field: &Field, rng: &mut Rng) -> usize {
    rng.usize(..field.nodes)
}

/// Two different ones.
fn two(field: &Field, rng: &mut Rng) -> (usize, usize) {
    let one = node(field, rng);
    (one, (one + 1 + rng.usize(..field.nodes - 1)) % field.nodes)
}

const ANYWHERE: &[(usize, Draw)] = &[
    (3, |field, rng| Fault::Kill(node(field, rng))),
    (1, |field, rng| Fault::Stop(node(field, rng))),
    (2, |field, rng| Fault::Pause(node(field, rng))),
    (1, |field, rng| Fault::Stall(node(field, rng))),
    (1, |field, rng| Fault::FailDisk(node(field, rng))),
];
const OF_SEVERAL: &[(usize, Draw)] = &[(1, |_, _| Fault::KillAll)];
const OF_LINES: &[(usize, Draw)] = &[
    (2, |field, rng| Fault::Isolate(node(field, rng))),
    (1, |field, rng| Fault::Mute(node(field, rng))),
    (1, |field, rng| Fault::Deafen(node(field, rng))),
    (1, |field, rng| {
        let (one, other) = two(field, rng);
        Fault::Part(one, other)
    }),
    (1, |field, rng| {
        let (from, to) = two(field, rng);
        Fault::PartOneWay(from, to)
    }),
    (1, |field, rng| Fault::Lossy(node(field, rng))),
    (1, |field, rng| Fault::Slow(node(field, rng))),
];
const OF_SHARDS: &[(usize, Draw)] = &[
    (2, |field, rng| {
        Fault::HandOver(rng.usize(..field.shards), node(field, rng))
    }),
    (1, |field, rng| Fault::Drain(node(field, rng))),
    (1, |field, rng| Fault::Replace(node(field, rng))),
    (1, |_, _| Fault::Roll),
];
const OF_LEASES: &[(usize, Draw)] = &[(1, |field, rng| Fault::Drift(node(field, rng), rng.bool()))];
/// Where not every node has every shard.
const OF_ROOM: &[(usize, Draw)] = &[(2, |field, rng| Fault::Move(rng.usize(..field.shards)))];
const OF_DISKS: &[(usize, Draw)] = &[(3, |field, rng| Fault::FillDisk(node(field, rng)))];
const OF_CLOCKS: &[(usize, Draw)] = &[(3, |field, rng| {
    let seconds = rng.i64(1..=STEP_SECONDS_MAX);
    Fault::StepClock(node(field, rng), if rng.bool() { seconds } else { -seconds })
})];

/// As far as a clock is stepped at once.
const STEP_SECONDS_MAX: i64 = 20;

impl Field {
    /// The kinds that there are, each as often as it is likely.
    fn kinds(&self) -> Vec<Draw> {
        let is_replicated = self.shards > 0;
        let groups: [(bool, &[(usize, Draw)]); 8] = [
            (true, ANYWHERE),
            (self.nodes > 1, OF_SEVERAL),
            (self.nodes > 1 && self.has_network, OF_LINES),
            (is_replicated, OF_SHARDS),
            (is_replicated && self.nodes > 3, OF_ROOM),
            (self.has_disks, OF_DISKS),
            (self.has_clocks && CLOCKS_CAN_BE_SET, OF_CLOCKS),
            (is_replicated && CLOCKS_CAN_BE_SET, OF_LEASES),
        ];
        let there = groups.iter().filter(|(is_there, _)| *is_there);
        let kinds = there.flat_map(|(_, group)| group.iter());
        kinds
            .flat_map(|(weight, draw)| std::iter::repeat_n(*draw, *weight))
            .collect()
    }
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill(_) => "kill",
            Fault::KillAll => "kill of all",
            Fault::Stop(_) => "stop and start",
            Fault::Pause(_) => "pause",
            Fault::Isolate(_) => "cut off",
            Fault::Mute(_) => "cut off, outwards",
            Fault::Deafen(_) => "cut off, inwards",
            Fault::Part(..) => "cut between two",
            Fault::PartOneWay(..) => "cut between two, one way",
            Fault::Lossy(_) => "lossy lines",
            Fault::Slow(_) => "slow lines",
            Fault::HandOver(..) => "hand-over of a shard",
            Fault::Move(_) => "change of a shard's replicas",
            Fault::Drain(_) => "drain and undrain",
            Fault::Replace(_) => "loss of a volume, replaced",
            Fault::Stall(_) => "disk that stands still",
            Fault::FailDisk(_) => "disk that fails",
            Fault::FillDisk(_) => "disk without room",
            Fault::StepClock(..) => "step of the wall clock",
            Fault::Drift(..) => "clocks that drift",
            Fault::Roll => "restart of one after the other",
        }
    }
}

/// What happens at once, for how long, and how long nothing happens before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub quiet: Duration,
    pub faults: Vec<Fault>,
    pub lasts: Duration,
}

/// The same for the same seed.
pub fn schedule(seed: u64, faults: usize, field: Field) -> Vec<Step> {
    let mut rng = Rng::with_seed(seed);
    let kinds = field.kinds();
    let random = |rng: &mut Rng| kinds[rng.usize(..kinds.len())](&field, rng);
    let mut steps = Vec::new();
    let mut left = faults;
    while left > 0 {
        let mut at_once = vec![random(&mut rng)];
        if left > 1 && field.nodes > 1 && rng.u8(..4) == 0 {
            at_once.push(random(&mut rng));
        }
        left -= at_once.len();
        // Some are over before anybody notices, some outlast an election.
        let lasts_ms = match rng.u8(..4) {
            0 => rng.u64(20..300),
            1 | 2 => rng.u64(300..1500),
            _ => rng.u64(1500..4000),
        };
        steps.push(Step {
            quiet: Duration::from_millis(rng.u64(100..2200)),
            faults: at_once,
            lasts: Duration::from_millis(lasts_ms),
        });
    }
    steps
}

/// How often each kind took place, and what became of what clients asked for meanwhile, until it was undone.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<&'static str, (u64, Counts)>);

impl Tally {
    pub(super) fn count(&mut self, fault: Fault) {
        self.0.entry(fault.name()).or_default().0 += 1;
    }

    /// What was asked for while a step took place counts for each of its faults.
    pub fn add(&mut self, step: &Step, asked: Counts) {
        for fault in &step.faults {
            self.0.entry(fault.name()).or_default().1 += asked;
        }
    }

    pub fn total(&self) -> u64 {
        self.0.values().map(|(count, _)| count).sum()
    }

    pub fn table(&self) -> String {
        let mut table = String::new();
        let _ = writeln!(table, "| fault | times | answered | refused | unknown |");
        for (name, (count, asked)) in &self.0 {
            let Counts {
                done,
                refused,
                unknown,
            } = asked;
            let _ = writeln!(table, "| {name} | {count} | {done} | {refused} | {unknown} |");
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_its_schedule_and_all_kinds_come() {
        let field = Field {
            nodes: 5,
            has_network: true,
            shards: 6,
            has_disks: true,
            has_clocks: true,
        };
        let steps = schedule(7, 600, field);
        assert_eq!(steps, schedule(7, 600, field));
        let faults: Vec<Fault> = steps.into_iter().flat_map(|step| step.faults).collect();
        assert_eq!(faults.len(), 600);
        let mut names: Vec<&str> = faults.iter().map(|fault| fault.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), if CLOCKS_CAN_BE_SET { 21 } else { 19 }, "{names:?}");
        let is_of_two = |fault: &Fault| match fault {
            Fault::Part(one, other) | Fault::PartOneWay(one, other) => one != other,
            _ => true,
        };
        assert!(faults.iter().all(is_of_two));
        let alone = Field {
            nodes: 1,
            has_network: false,
            shards: 0,
            has_disks: false,
            has_clocks: false,
        };
        let alone = schedule(7, 600, alone);
        let is_of_one = |fault: &Fault| {
            use Fault::{FailDisk, Kill, Pause, Stall, Stop};
            matches!(fault, Kill(0) | Stop(0) | Pause(0) | Stall(0) | FailDisk(0))
        };
        assert!(alone.iter().flat_map(|step| &step.faults).all(is_of_one));
    }
}
