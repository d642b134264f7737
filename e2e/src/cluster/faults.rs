//! What is done to a cluster while clients are at work: a schedule from a seed, carried out one after the other or two at once, and
//! undone again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use regex_lite::Regex;

use super::Cluster;

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
    /// Its log's thread stands still.
    Stall(usize),
    /// Its disk fails at the next sync.
    FailDisk(usize),
    /// One after the other ends by itself and is started again.
    Roll,
}

/// What can be done to a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub nodes: usize,
    /// Lines can be cut.
    pub has_network: bool,
    /// Shards that can be handed over.
    pub shards: usize,
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
            Fault::Stall(_) => "disk that stands still",
            Fault::FailDisk(_) => "disk that fails",
            Fault::Roll => "restart of one after the other",
        }
    }

    fn random(field: Field, rng: &mut Rng) -> Fault {
        let nodes = field.nodes;
        let node = rng.usize(..nodes);
        let other = (node + 1 + rng.usize(..nodes.max(2) - 1)) % nodes;
        let of_shards = if field.shards > 0 { 4 } else { 0 };
        match rng.u8(..16 + of_shards) {
            0..=2 => Fault::Kill(node),
            3 => Fault::Stop(node),
            4 | 5 => Fault::Pause(node),
            6 => Fault::Stall(node),
            7 => Fault::FailDisk(node),
            16 | 17 => Fault::HandOver(rng.usize(..field.shards), node),
            18 if nodes > 3 => Fault::Move(rng.usize(..field.shards)),
            18 => Fault::Kill(node),
            19 => Fault::Roll,
            8 if nodes > 1 => Fault::KillAll,
            _ if !field.has_network => Fault::Kill(node),
            9 | 10 => Fault::Isolate(node),
            11 => Fault::Mute(node),
            12 => Fault::Deafen(node),
            13 => Fault::Part(node, other),
            14 if rng.bool() => Fault::PartOneWay(node, other),
            14 => Fault::Lossy(node),
            _ => Fault::Slow(node),
        }
    }
}

/// Long enough for those who are there to go on without the next.
const BETWEEN_RESTARTS: Duration = Duration::from_millis(1500);

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
    let mut steps = Vec::new();
    let mut left = faults;
    while left > 0 {
        let mut at_once = vec![Fault::random(field, &mut rng)];
        if left > 1 && field.nodes > 1 && rng.u8(..4) == 0 {
            at_once.push(Fault::random(field, &mut rng));
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

/// How often each kind took place.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    fn count(&mut self, fault: Fault) {
        *self.0.entry(fault.name()).or_default() += 1;
    }

    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    pub fn table(&self) -> String {
        let mut table = String::new();
        for (name, count) in &self.0 {
            let _ = writeln!(table, "  {name:<28}{count:>6}");
        }
        table
    }
}

impl Cluster {
    /// Carries a step out and undoes it.
    pub fn suffer(&mut self, step: &Step, seed: u64, tally: &mut Tally) -> Result<()> {
        std::thread::sleep(step.quiet);
        for fault in &step.faults {
            tally.count(*fault);
            self.begin(*fault, seed).with_context(|| format!("{fault:?}"))?;
        }
        std::thread::sleep(step.lasts);
        self.heal()
    }

    fn begin(&mut self, fault: Fault, seed: u64) -> Result<()> {
        let others = |node: usize| (0..self.nodes.len()).filter(move |other| *other != node);
        let network = || self.network.as_ref().context("no network to cut");
        match fault {
            Fault::Kill(node) => self.nodes[node].kill()?,
            Fault::KillAll => self.nodes.iter_mut().try_for_each(super::node::Node::kill)?,
            // One that stands still does not end by itself.
            Fault::Stop(node) => self.nodes[node].stop()?,
            Fault::Roll => {
                for node in 0..self.nodes.len() {
                    self.nodes[node].stop()?;
                    self.nodes[node].start_unless_failed()?;
                    std::thread::sleep(BETWEEN_RESTARTS);
                }
            }
            Fault::Stall(node) => self.nodes[node].stall()?,
            Fault::FailDisk(node) => self.nodes[node].fail_disk()?,
            Fault::Move(shard) => {
                if let Err(error) = self.move_replica(shard) {
                    eprintln!("{error:#}");
                }
            }
            Fault::Pause(node) => self.nodes[node].pause()?,
            Fault::Isolate(node) => {
                for other in others(node) {
                    network()?.cut(node, other)?;
                    network()?.cut(other, node)?;
                }
            }
            Fault::Mute(node) => others(node).try_for_each(|other| network()?.cut(node, other))?,
            Fault::Deafen(node) => others(node).try_for_each(|other| network()?.cut(other, node))?,
            Fault::Part(one, other) => {
                network()?.cut(one, other)?;
                network()?.cut(other, one)?;
            }
            Fault::PartOneWay(from, to) => network()?.cut(from, to)?,
            Fault::Lossy(node) => {
                for other in others(node) {
                    network()?.make_lossy(node, other, seed ^ other as u64);
                }
            }
            Fault::Slow(node) => network()?.make_slow(node, 400)?,
            // It leads it already, or another fault is in the way: then it stays where it is.
            Fault::HandOver(shard, node) => {
                let (shard, to) = (shard.to_string(), (node + 1).to_string());
                let words = ["--timeout", "3s", "transfer-leader", &shard, "--to", &to];
                if let Err(error) = self.administer(&words) {
                    eprintln!("{error:#}");
                }
            }
        }
        Ok(())
    }

    /// One of those that hold it gives it to one that does not.
    fn move_replica(&self, shard: usize) -> Result<()> {
        let status = self.administer(&["status", "-o", "json"])?;
        let row = format!(r#""shard": {shard},\s*"term": \d+,\s*"voters": \[([\d,\s]*)\]"#);
        let found = Regex::new(&row)?.captures(&status).context("no such shard")?;
        let voters = found[1].split(',').map(|id| id.trim().parse::<usize>());
        let voters: Vec<usize> = voters.collect::<Result<_, _>>()?;
        let stranger = (1..=self.nodes.len()).find(|id| !voters.contains(id));
        let stranger = stranger.context("all nodes hold it")?.to_string();
        let mut last = Ok(());
        // Who leads it does not leave it.
        for voter in voters {
            let words = ["change-replicas", &shard.to_string(), "--add", &stranger];
            let rest = ["--remove", &voter.to_string(), "--catch-up", "5s"];
            last = self.administer(&[&words[..], &rest[..]].concat()).map(drop);
            if last.is_ok() {
                break;
            }
        }
        last
    }

    /// Nothing is wrong any more, as far as that is ours; who ended by itself is an error.
    pub fn heal(&mut self) -> Result<()> {
        if let Some(network) = &self.network {
            network.mend()?;
        }
        for node in &mut self.nodes {
            node.resume()?;
            node.end_failing()?;
            if !node.is_there() {
                node.start_unless_failed()?;
            }
        }
        Ok(())
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
        };
        let steps = schedule(7, 400, field);
        assert_eq!(steps, schedule(7, 400, field));
        let faults: Vec<Fault> = steps.into_iter().flat_map(|step| step.faults).collect();
        assert_eq!(faults.len(), 400);
        let mut names: Vec<&str> = faults.iter().map(|fault| fault.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 16, "{names:?}");
        let is_of_two = |fault: &Fault| match fault {
            Fault::Part(one, other) | Fault::PartOneWay(one, other) => one != other,
            _ => true,
        };
        assert!(faults.iter().all(is_of_two));
        let alone = Field {
            nodes: 1,
            has_network: false,
            shards: 0,
        };
        let alone = schedule(7, 400, alone);
        let is_of_one = |fault: &Fault| {
            use Fault::{FailDisk, Kill, Pause, Stall, Stop};
            matches!(fault, Kill(0) | Stop(0) | Pause(0) | Stall(0) | FailDisk(0))
        };
        assert!(alone.iter().flat_map(|step| &step.faults).all(is_of_one));
    }
}
