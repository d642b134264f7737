//! What is done to a cluster while clients are at work: a schedule from a seed, carried out one after the other or two at once, and
//! undone again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;

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
        }
    }

    fn random(nodes: usize, has_network: bool, rng: &mut Rng) -> Fault {
        let node = rng.usize(..nodes);
        let other = (node + 1 + rng.usize(..nodes.max(2) - 1)) % nodes;
        let kinds = if has_network { 15 } else { 6 };
        match rng.u8(..kinds) {
            0..=2 => Fault::Kill(node),
            3 => Fault::Stop(node),
            4 => Fault::Pause(node),
            5 if nodes > 1 => Fault::KillAll,
            5 => Fault::Kill(node),
            6 => Fault::Pause(node),
            7 | 8 => Fault::Isolate(node),
            9 => Fault::Mute(node),
            10 => Fault::Deafen(node),
            11 => Fault::Part(node, other),
            12 => Fault::PartOneWay(node, other),
            13 => Fault::Lossy(node),
            _ => Fault::Slow(node),
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
pub fn schedule(seed: u64, faults: usize, nodes: usize, has_network: bool) -> Vec<Step> {
    let mut rng = Rng::with_seed(seed);
    let mut steps = Vec::new();
    let mut left = faults;
    while left > 0 {
        let mut at_once = vec![Fault::random(nodes, has_network, &mut rng)];
        if left > 1 && nodes > 1 && rng.u8(..4) == 0 {
            at_once.push(Fault::random(nodes, has_network, &mut rng));
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
            Fault::Stop(node) => {
                self.nodes[node].resume()?;
                self.nodes[node].stop()?;
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
        }
        Ok(())
    }

    /// Nothing is wrong any more, as far as that is ours; who ended by itself is an error.
    pub fn heal(&mut self) -> Result<()> {
        if let Some(network) = &self.network {
            network.mend()?;
        }
        for node in &mut self.nodes {
            node.resume()?;
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
        let steps = schedule(7, 400, 3, true);
        assert_eq!(steps, schedule(7, 400, 3, true));
        let faults: Vec<Fault> = steps.into_iter().flat_map(|step| step.faults).collect();
        assert_eq!(faults.len(), 400);
        let mut names: Vec<&str> = faults.iter().map(|fault| fault.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 11, "{names:?}");
        let is_of_two = |fault: &Fault| match fault {
            Fault::Part(one, other) | Fault::PartOneWay(one, other) => one != other,
            _ => true,
        };
        assert!(faults.iter().all(is_of_two));
        let alone = schedule(7, 400, 1, false);
        let is_of_one = |fault: &Fault| matches!(fault, Fault::Kill(0) | Fault::Stop(0) | Fault::Pause(0));
        assert!(alone.iter().flat_map(|step| &step.faults).all(is_of_one));
    }
}
