//! What the nodes of a cluster hold, as `ruvioctl` tells it: who votes on a shard, and whether its replicas hold the same.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use regex_lite::Regex;

use super::Cluster;

/// A shard as `ruvioctl status` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    pub number: usize,
    /// None: nobody leads it, or nobody who was asked knows.
    pub leader: Option<u64>,
    pub voters: Vec<u64>,
}

/// What a replica says that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holding {
    node: u64,
    entry: u64,
    keys: u64,
    digest: String,
}

/// How long replicas may take until all have the last entry, once nobody writes any more.
const REST: Duration = Duration::from_secs(90);

impl Cluster {
    /// Shards by their numbers, as those nodes know them that answer.
    pub fn shards(&self) -> Result<Vec<Shard>> {
        shards(&self.administer(&["--timeout", "3s", "status", "-o", "json"])?)
    }

    /// Waits until all voters of each shard have the same last entry, and compares what they hold. How many keys all shards
    /// have. Nobody may write any more.
    pub fn compare_replicas(&self) -> Result<u64> {
        let deadline = Instant::now() + REST;
        loop {
            let compared = self.compare_once();
            match &compared {
                Err(error) if Instant::now() < deadline && !format!("{error:#}").contains(DIFFERENT) => {
                    std::thread::sleep(Duration::from_millis(300));
                }
                _ => return compared.with_context(|| format!("what the nodes said:\n{}", self.last_words())),
            }
        }
    }

    fn compare_once(&self) -> Result<u64> {
        let shards = self.shards()?;
        ensure!(
            shards.len() == self.plan.shards,
            "{} shards are known",
            shards.len()
        );
        let said = self.administer(&["digest"])?;
        compare(&shards, &holdings(&said)?)
    }
}

/// `ruvioctl digest` says so of replicas at one entry, and so do we.
const DIFFERENT: &str = "hold different things";

fn shards(json: &str) -> Result<Vec<Shard>> {
    let leaders = Regex::new(r#""leader": (\d+|null),[^\[\]{}]*"learners""#)?;
    let voters = Regex::new(r#""shard": (\d+),[^\[\]{}]*"voters": \[([\d,\s]*)\]"#)?;
    let leaders = leaders.captures_iter(json).map(|found| found[1].parse().ok());
    let shard = |(found, leader): (regex_lite::Captures, Option<u64>)| {
        let ids = found[2].split(',').map(str::trim).filter(|id| !id.is_empty());
        Ok(Shard {
            number: found[1].parse()?,
            leader,
            voters: ids.map(str::parse).collect::<Result<_, _>>()?,
        })
    };
    voters.captures_iter(json).zip(leaders).map(shard).collect()
}

fn holdings(said: &str) -> Result<BTreeMap<usize, Vec<Holding>>> {
    let mut all: BTreeMap<usize, Vec<Holding>> = BTreeMap::new();
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["shard", shard, "node", node, "entry", entry, "keys", keys, digest] = words[..] else {
            bail!("ruvioctl digest said: {line}");
        };
        all.entry(shard.parse()?).or_default().push(Holding {
            node: node.parse()?,
            entry: entry.parse()?,
            keys: keys.parse()?,
            digest: digest.to_owned(),
        });
    }
    Ok(all)
}

fn compare(shards: &[Shard], all: &BTreeMap<usize, Vec<Holding>>) -> Result<u64> {
    let mut keys = 0;
    for shard in shards {
        let number = shard.number;
        let held = all.get(&number).map(Vec::as_slice).unwrap_or_default();
        let of_voter = |voter: &u64| held.iter().find(|holding| holding.node == *voter);
        let voters: Option<Vec<&Holding>> = shard.voters.iter().map(of_voter).collect();
        let voters =
            voters.with_context(|| format!("not all voters of shard {number} say what they hold"))?;
        let first = *voters
            .first()
            .with_context(|| format!("shard {number} has no voters"))?;
        let shown = || format!("shard {number}: {voters:#?}");
        let is_apart = |other: &&Holding| other.entry != first.entry;
        ensure!(!voters.iter().any(is_apart), "not at rest: {}", shown());
        let differs = |other: &&Holding| (other.keys, &other.digest) != (first.keys, &first.digest);
        ensure!(!voters.iter().any(differs), "replicas {DIFFERENT}: {}", shown());
        keys += first.keys;
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = r#"{
  "nodes": [ { "admin": "10.0.0.1:7380", "node": 1 } ],
  "shards": [
    { "committed": 9, "keys": 3, "lag": [], "leader": 2, "learners": [],
      "replicas": [ { "applied": 9, "node": 1, "role": "leader" } ],
      "shard": 0, "term": 4, "voters": [ 1,
        2, 3 ] },
    { "committed": 0, "lag": [], "leader": null, "learners": [ 4 ], "replicas": [], "shard": 1, "term": 0, "voters": [] }
  ]
}"#;

    #[test]
    fn a_status_names_leaders_and_voters() {
        let shard = |number, leader, voters: &[u64]| Shard {
            number,
            leader,
            voters: voters.to_vec(),
        };
        let found = shards(STATUS).expect("a status");
        assert_eq!(found, [shard(0, Some(2), &[1, 2, 3]), shard(1, None, &[])]);
    }

    fn compared(said: &str) -> Result<u64, String> {
        let shard = Shard {
            number: 0,
            leader: Some(1),
            voters: vec![1, 3],
        };
        let all = holdings(said).map_err(|error| error.to_string())?;
        compare(&[shard], &all).map_err(|error| error.to_string())
    }

    #[test]
    fn voters_have_to_hold_the_same_at_the_same_entry() {
        let one = "shard 0  node 1  entry 7  keys 5  aa\n";
        // Node 2 is no voter: what it holds is its own affair.
        let stranger = "shard 0  node 2  entry 0  keys 0  00\n";
        let with = |other: &str| compared(&format!("{one}{stranger}{other}"));
        assert_eq!(with("shard 0  node 3  entry 7  keys 5  aa\n"), Ok(5));
        let refused =
            |other: &str, why: &str| assert!(with(other).is_err_and(|said| said.contains(why)), "{other}");
        refused("shard 0  node 3  entry 6  keys 5  aa\n", "not at rest");
        refused("shard 0  node 3  entry 7  keys 5  ab\n", DIFFERENT);
        refused("shard 0  node 3  entry 7  keys 4  aa\n", DIFFERENT);
        refused("", "not all voters");
        assert!(compared("node 3 is not served").is_err());
    }
}
