//! Who holds a shard is changed, on the condition that nobody else changes it at the same time.

use anyhow::{anyhow, ensure};
use ruvio_proto::admin::v1::ChangeReplicasRequest;
use ruvio_proto::common::v1::Member;

use super::address::Address;
use super::arguments::{Added, Changing};
use super::call::Caller;
use super::cluster::{Cluster, members_of};
use super::leaders::{leader_of, unknown};
use super::table::list;

pub async fn change(caller: &Caller, nodes: &[Address], wish: &Changing) -> anyhow::Result<String> {
    let cluster = Cluster::ask(caller, nodes).await?;
    let (leader, address) = leader_of(&cluster, wish.shard)?;
    let request = request(&cluster, leader, wish)?;
    let done = caller
        .call(
            address,
            request,
            wish.catch_up,
            |mut client, request| async move { client.change_replicas(request).await },
        )
        .await?;
    let (voters, learners) = done.membership.as_ref().map(members_of).unwrap_or_default();
    let mut said = format!("shard {}: voters {}", wish.shard, list(&voters));
    if !learners.is_empty() {
        said = format!("{said}, learners {}", list(&learners));
    }
    Ok(said)
}

fn request(cluster: &Cluster, leader: u64, wish: &Changing) -> anyhow::Result<ChangeReplicasRequest> {
    ensure!(
        !wish.add.is_empty() || !wish.remove.is_empty(),
        "say whom to --add or to --remove"
    );
    let shard = u32::from(wish.shard);
    let of_leader = cluster.replicas(shard).find(|(node, _)| *node == leader);
    let membership = of_leader.and_then(|(_, replica)| replica.membership.clone());
    let (voters, learners) = membership.as_ref().map(members_of).unwrap_or_default();
    let stranger = |node: &&u64| !voters.contains(node) && !learners.contains(node);
    if let Some(stranger) = wish.remove.iter().find(stranger) {
        return Err(anyhow!(
            "node {stranger} does not hold shard {shard}: nothing was changed"
        ));
    }
    let add = wish.add.iter().map(|added| member(cluster, added));
    Ok(ChangeReplicasRequest {
        shard,
        add: add.collect::<anyhow::Result<_>>()?,
        remove: wish.remove.clone(),
        if_membership: membership.and_then(|membership| membership.log_id),
        learners_only: false,
        catch_up_ms: u64::try_from(wish.catch_up.as_millis())?,
    })
}

fn member(cluster: &Cluster, added: &Added) -> anyhow::Result<Member> {
    let known = || {
        let (address, status) = cluster.members().find(|(_, status)| status.node == added.node)?;
        Some(Cluster::peer_address(address, status))
    };
    let address = added.peer.clone().or_else(known);
    let address = address.ok_or_else(|| {
        let how = "or write --add ID=HOST:PORT with its peer port";
        anyhow!("{}, {how}", unknown(added.node))
    })?;
    Ok(Member {
        node: added.node,
        address: address.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::samples::{cluster, member as node, replica};
    use super::*;

    fn wish(add: &[&str], remove: &[u64]) -> Changing {
        Changing {
            shard: 0,
            add: add.iter().map(|text| text.parse().expect("a node")).collect(),
            remove: remove.to_vec(),
            catch_up: Duration::from_secs(1),
        }
    }

    fn two() -> Cluster {
        cluster(vec![
            ("a", Ok(node(1, 1, vec![replica(0, 3, 1, &[1])]))),
            ("b:7480", Ok(node(2, 1, vec![]))),
        ])
    }

    #[test]
    fn a_change_counts_for_the_membership_that_was_seen() {
        let request = request(&two(), 1, &wish(&["2", "5=e:9"], &[1])).expect("a request");
        let added: Vec<_> = request
            .add
            .iter()
            .map(|member| (member.node, &*member.address))
            .collect();
        assert_eq!(added, [(2, "b:7379"), (5, "e:9")]);
        assert_eq!(request.if_membership.map(|id| (id.term, id.index)), Some((1, 1)));
    }

    #[test]
    fn a_change_of_nothing_or_of_strangers_is_refused() {
        let said = |wish| request(&two(), 1, &wish).expect_err("it is refused").to_string();
        assert_eq!(said(wish(&[], &[])), "say whom to --add or to --remove");
        assert_eq!(
            said(wish(&[], &[2])),
            "node 2 does not hold shard 0: nothing was changed"
        );
        assert!(said(wish(&["7"], &[])).contains("there is no node 7"));
    }
}
