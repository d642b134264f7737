//! Shards whose majority is lost for good: each survivor says what it holds, the one that has the most goes on alone, and
//! whoever asked is told what might be lost before anything is done.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use anyhow::{bail, ensure};
use ruvio_proto::admin::v1::{RecoverQuorumRequest, RecoverQuorumResponse, Survivor};
use ruvio_proto::common::v1::LogId;

use super::address::Address;
use super::arguments::Recovering;
use super::call::{Caller, Client};
use super::cluster::{Cluster, members_of};
use super::table::list;

/// A survivor is elected, and applies what it did not know to be committed.
const RECOVER: Duration = Duration::from_secs(120);

/// What a dry run of one node said.
struct Said {
    node: u64,
    address: Address,
    answer: RecoverQuorumResponse,
}

/// Which node goes on with which shards.
struct Step<'a> {
    said: &'a Said,
    shards: Vec<u32>,
}

pub async fn recover(caller: &Caller, nodes: &[Address], wish: &Recovering) -> anyhow::Result<String> {
    let cluster = Cluster::ask(caller, nodes).await?;
    if let Some((address, status)) = cluster
        .members()
        .find(|(_, status)| wish.lost.contains(&status.node))
    {
        bail!("node {} answers at {address}: it is not lost", status.node);
    }
    let mut said = Vec::new();
    for (address, status) in cluster.members() {
        let answer = ask(caller, address, wish, &wish.shards, None).await?;
        said.push(Said {
            node: status.node,
            address: address.clone(),
            answer,
        });
    }
    let shards = by_shard(&said);
    if shards.is_empty() {
        return Ok(format!(
            "no shard has lost its majority with {}: there is nothing to recover",
            named(&wish.lost)
        ));
    }
    let steps = steps(&said, &shards);
    let mut told = describe(&shards, &wish.lost);
    if !wish.yes {
        told.push_str("\nnothing was done: the same command with --yes does it");
        return Ok(told);
    }
    for step in steps {
        // What a node confirms is what it says of just these shards.
        let shards: Vec<u16> = step
            .shards
            .iter()
            .filter_map(|shard| u16::try_from(*shard).ok())
            .collect();
        let address = &step.said.address;
        let again = ask(caller, address, wish, &shards, None).await?;
        ensure!(
            is_part(&again, &step.said.answer),
            "what node {} holds has changed meanwhile: look again",
            step.said.node
        );
        ask(caller, address, wish, &shards, Some(again.confirmation.to_vec())).await?;
        let of: BTreeSet<u64> = step.shards.iter().map(|shard| u64::from(*shard)).collect();
        let _ = writeln!(
            told,
            "\nnode {} is the only voter of shards {} now",
            step.said.node,
            list(&of)
        );
    }
    let _ = write!(
        told,
        "{} removed for good. Next: start new nodes in their places, ruvioctl join each, and ruvioctl change-replicas \
         SHARD --add each until every shard has its voters again",
        match wish.lost.len() {
            1 => format!("{} is", named(&wish.lost)),
            _ => format!("{} are", named(&wish.lost)),
        }
    );
    Ok(told)
}

async fn ask(
    caller: &Caller,
    address: &Address,
    wish: &Recovering,
    shards: &[u16],
    confirmation: Option<Vec<u8>>,
) -> anyhow::Result<RecoverQuorumResponse> {
    let request = RecoverQuorumRequest {
        shards: shards.iter().copied().map(u32::from).collect(),
        lost: wish.lost.clone(),
        dry_run: confirmation.is_none(),
        confirmation: confirmation.unwrap_or_default().into(),
    };
    let call = |mut client: Client, request| async move { client.recover_quorum(request).await };
    caller.call(address, request, RECOVER, call).await
}

/// Whether all that was said again was said before in the same words.
fn is_part(again: &RecoverQuorumResponse, before: &RecoverQuorumResponse) -> bool {
    !again.survivors.is_empty() && again.survivors.iter().all(|one| before.survivors.contains(one))
}

/// The survivors of each shard, the one that has the most first.
fn by_shard(said: &[Said]) -> BTreeMap<u32, Vec<&Survivor>> {
    let mut shards: BTreeMap<u32, Vec<&Survivor>> = BTreeMap::new();
    for survivor in said.iter().flat_map(|said| &said.answer.survivors) {
        shards.entry(survivor.shard).or_default().push(survivor);
    }
    for survivors in shards.values_mut() {
        survivors.sort_by_key(|survivor| (std::cmp::Reverse(place(&survivor.last_log_id)), survivor.node));
    }
    shards
}

fn place(id: &Option<LogId>) -> (u64, u64, u64) {
    id.as_ref().map_or((0, 0, 0), |id| (id.term, id.node, id.index))
}

fn index(id: &Option<LogId>) -> u64 {
    id.as_ref().map_or(0, |id| id.index)
}

fn steps<'a>(said: &'a [Said], shards: &BTreeMap<u32, Vec<&Survivor>>) -> Vec<Step<'a>> {
    let first = |node: u64| {
        let most = move |(shard, survivors): (&u32, &Vec<&Survivor>)| {
            survivors
                .first()
                .is_some_and(|first| first.node == node)
                .then_some(*shard)
        };
        shards.iter().filter_map(most).collect::<Vec<u32>>()
    };
    let step = |said: &'a Said| Step {
        said,
        shards: first(said.node),
    };
    said.iter()
        .map(step)
        .filter(|step| !step.shards.is_empty())
        .collect()
}

fn named(nodes: &[u64]) -> String {
    let all: BTreeSet<u64> = nodes.iter().copied().collect();
    match all.len() {
        1 => format!("node {}", list(&all)),
        _ => format!("nodes {}", list(&all)),
    }
}

/// What is there, who goes on, and what might be lost.
fn describe(shards: &BTreeMap<u32, Vec<&Survivor>>, lost: &[u64]) -> String {
    let mut said = String::new();
    for (shard, survivors) in shards {
        for (nth, survivor) in survivors.iter().enumerate() {
            let (last, committed) = (index(&survivor.last_log_id), index(&survivor.committed));
            let voters = survivor
                .membership
                .as_ref()
                .map(|stored| members_of(stored).0)
                .unwrap_or_default();
            let term = survivor.vote.as_ref().map_or(0, |vote| vote.term);
            let goes_on = if nth == 0 {
                ": goes on"
            } else {
                ": has no more, and is dropped"
            };
            let _ = writeln!(
                said,
                "shard {shard}  node {}  last entry {last}  committed {committed}  keys {}  term {term}  voters {}{goes_on}",
                survivor.node,
                survivor.keys,
                list(&voters)
            );
            if nth == 0 && last > committed {
                let _ = writeln!(
                    said,
                    "  of entries {} to {last} nobody here knows whether they were acknowledged: they are kept and count",
                    committed + 1
                );
            }
        }
    }
    let _ = writeln!(
        said,
        "what {} acknowledged together behind the last entry that is named here is lost: these nodes cannot know of it",
        named(lost)
    );
    said
}

#[cfg(test)]
mod tests {
    use ruvio_proto::common::v1::Vote;

    use super::super::samples::{at, replica};
    use super::*;

    fn survivor(shard: u32, node: u64, term: u64, last: u64) -> Survivor {
        let id = |index| Some(LogId { term, node: 1, index });
        Survivor {
            shard,
            node,
            vote: Some(Vote {
                term: 7,
                node: 1,
                committed: true,
            }),
            last_log_id: id(last),
            committed: id(40),
            membership: replica(shard, 7, 1, &[1, 2, 3, 4, 5]).membership,
            keys: 12,
        }
    }

    fn said() -> Vec<Said> {
        let said = |node, survivors| Said {
            node,
            address: at("a"),
            answer: RecoverQuorumResponse {
                survivors,
                ..RecoverQuorumResponse::default()
            },
        };
        vec![
            said(4, vec![survivor(0, 4, 6, 50), survivor(1, 4, 6, 42)]),
            said(5, vec![survivor(0, 5, 7, 41), survivor(1, 5, 6, 40)]),
        ]
    }

    #[test]
    fn who_has_the_later_term_has_more_and_then_who_has_the_longer_log() {
        let said = said();
        let shards = by_shard(&said);
        let steps: Vec<_> = steps(&said, &shards)
            .iter()
            .map(|step| (step.said.node, step.shards.clone()))
            .collect();
        assert_eq!(steps, [(4, vec![1]), (5, vec![0])]);
    }

    #[test]
    fn it_says_what_is_kept_and_what_may_be_lost() {
        let said = said();
        let wanted = "\
shard 0  node 5  last entry 41  committed 40  keys 12  term 7  voters 1 2 3 4 5: goes on
  of entries 41 to 41 nobody here knows whether they were acknowledged: they are kept and count
shard 0  node 4  last entry 50  committed 40  keys 12  term 7  voters 1 2 3 4 5: has no more, and is dropped
shard 1  node 4  last entry 42  committed 40  keys 12  term 7  voters 1 2 3 4 5: goes on
  of entries 41 to 42 nobody here knows whether they were acknowledged: they are kept and count
shard 1  node 5  last entry 40  committed 40  keys 12  term 7  voters 1 2 3 4 5: has no more, and is dropped
what nodes 1 2 3 acknowledged together behind the last entry that is named here is lost: these nodes cannot know of it
";
        assert_eq!(describe(&by_shard(&said), &[1, 2, 3]), wanted);
    }

    #[test]
    fn what_has_changed_since_is_no_part_of_it() {
        let before = RecoverQuorumResponse {
            survivors: vec![survivor(0, 4, 6, 50), survivor(1, 4, 6, 42)],
            ..RecoverQuorumResponse::default()
        };
        let again = |survivors| RecoverQuorumResponse {
            survivors,
            ..RecoverQuorumResponse::default()
        };
        assert!(is_part(&again(vec![survivor(1, 4, 6, 42)]), &before));
        assert!(!is_part(&again(vec![survivor(1, 4, 6, 43)]), &before));
        assert!(!is_part(&again(vec![]), &before));
    }
}
