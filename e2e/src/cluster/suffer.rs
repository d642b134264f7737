//! Faults carried out, one after the other or two at once, and undone again.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Cluster;
use super::faults::{Fault, Step, Tally};
use super::node::Node;

/// Long enough for those who are there to go on without the next.
const BETWEEN_RESTARTS: Duration = Duration::from_millis(1500);
/// What somebody who administers a cluster would try again for so long, once nothing is wrong any more.
const ADMINISTER_MAX: Duration = Duration::from_secs(120);

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
        match fault {
            Fault::Kill(node) => self.nodes[node].kill()?,
            Fault::KillAll => self.nodes.iter_mut().try_for_each(Node::kill)?,
            // One that stands still does not end by itself.
            Fault::Stop(node) => self.nodes[node].stop()?,
            Fault::Roll => {
                for node in &mut self.nodes {
                    node.stop()?;
                    node.start_unless_failed()?;
                    std::thread::sleep(BETWEEN_RESTARTS);
                }
            }
            Fault::Stall(node) => self.nodes[node].stall()?,
            Fault::FailDisk(node) => self.nodes[node].fail_disk()?,
            Fault::FillDisk(node) => self.nodes[node].fill_disk()?,
            Fault::StepClock(node, seconds) => self.nodes[node].step_clock(seconds)?,
            Fault::Drift(node, is_fast) => self.nodes[node].drift(is_fast)?,
            Fault::Pause(node) => self.nodes[node].pause()?,
            Fault::Replace(node) => self.nodes[node].lose()?,
            // What another fault is in the way of stays as it is.
            Fault::Move(shard) => report(self.move_replica(shard)),
            Fault::Drain(node) => {
                self.nodes[node].is_drained = true;
                let id = self.nodes[node].id.to_string();
                report(self.administer(&["--timeout", "3s", "drain", &id]));
            }
            Fault::HandOver(shard, node) => {
                let (shard, to) = (shard.to_string(), self.nodes[node].id.to_string());
                report(self.administer(&["--timeout", "3s", "transfer-leader", &shard, "--to", &to]));
            }
            of_lines => self.cut(of_lines, seed)?,
        }
        Ok(())
    }

    fn cut(&self, fault: Fault, seed: u64) -> Result<()> {
        let network = self.network.as_ref().context("no network to cut")?;
        let others = |node: usize| (0..self.nodes.len()).filter(move |other| *other != node);
        match fault {
            Fault::Isolate(node) => others(node).try_for_each(|other| {
                network.cut(node, other)?;
                network.cut(other, node)
            }),
            Fault::Mute(node) => others(node).try_for_each(|other| network.cut(node, other)),
            Fault::Deafen(node) => others(node).try_for_each(|other| network.cut(other, node)),
            Fault::Part(one, other) => {
                network.cut(one, other)?;
                network.cut(other, one)
            }
            Fault::PartOneWay(from, to) => network.cut(from, to),
            Fault::Lossy(node) => {
                others(node).for_each(|other| network.make_lossy(node, other, seed ^ other as u64));
                Ok(())
            }
            Fault::Slow(node) => network.make_slow(node, 400),
            other => bail!("{other:?} is no fault of a line"),
        }
    }

    /// One of those that hold it gives it to one that does not.
    fn move_replica(&self, number: usize) -> Result<()> {
        let shards = self.shards()?;
        let shard = shards
            .iter()
            .find(|shard| shard.number == number)
            .context("no such shard")?;
        let stranger = self.nodes.iter().find(|node| !shard.voters.contains(&node.id));
        let stranger = stranger.context("all nodes hold it")?.id.to_string();
        // Who leads it does not leave it.
        let leaves = shard.voters.iter().find(|voter| Some(**voter) != shard.leader);
        let leaves = leaves.context("nobody can leave it")?.to_string();
        let words = ["change-replicas", &number.to_string(), "--add", &stranger];
        let rest = ["--remove", &leaves, "--catch-up", "5s"];
        self.administer(&[&words[..], &rest[..]].concat()).map(drop)
    }

    /// Nothing is wrong any more, as far as that is ours; who ended by itself is an error.
    pub fn heal(&mut self) -> Result<()> {
        if let Some(network) = &self.network {
            network.mend()?;
        }
        for node in &mut self.nodes {
            node.resume()?;
            node.empty_disk()?;
            node.end_failing()?;
            if !node.is_there() {
                node.start_unless_failed()?;
            }
        }
        for node in 0..self.nodes.len() {
            if std::mem::take(&mut self.nodes[node].is_drained) {
                let at = format!("{}:7380", self.nodes[node].address);
                self.insist(|cluster| cluster.administer(&["undrain", &at]).map(drop))?;
            }
            if self.nodes[node].is_lost {
                self.replace(node)?;
            }
        }
        Ok(())
    }

    /// One that came back with nothing joins as a new node, and takes the place of the one that it was.
    fn replace(&mut self, node: usize) -> Result<()> {
        let old = self.nodes[node].id;
        let at = format!("{}:7380", self.nodes[node].address);
        let mut new = 0;
        self.insist(|cluster| {
            new = cluster.joined(&cluster.administer(&["join", &at])?)?;
            Ok(())
        })?;
        self.nodes[node].id = new;
        self.insist(|cluster| {
            let (new, gone) = (new.to_string(), old.to_string());
            for shard in cluster.shards()? {
                if shard.voters.contains(&old) {
                    let number = shard.number.to_string();
                    let words = ["change-replicas", &number, "--add", &new, "--remove", &gone];
                    cluster.administer(&[&words[..], &["--catch-up", "20s"]].concat())?;
                }
            }
            Ok(())
        })?;
        self.nodes[node].is_lost = false;
        Ok(())
    }

    /// The id of who joined.
    fn joined(&self, said: &str) -> Result<u64> {
        let (_, rest) = said.split_once(" is node ").with_context(|| said.to_owned())?;
        let id = rest.split(' ').next().unwrap_or_default();
        id.parse().with_context(|| said.to_owned())
    }

    /// Tries again until it is done. A cluster that does not take it with nothing wrong any more is at fault.
    fn insist(&mut self, mut act: impl FnMut(&Cluster) -> Result<()>) -> Result<()> {
        let deadline = Instant::now() + ADMINISTER_MAX;
        loop {
            match act(self) {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    return Err(error.context(self.last_words()));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(300)),
            }
        }
    }
}

fn report<T>(done: Result<T>) {
    if let Err(error) = done {
        eprintln!("{error:#}");
    }
}
