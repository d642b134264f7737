//! Whether the replicas of a shard hold the same: each says what it holds as of its last entry.

use anyhow::bail;
use ruvio_proto::admin::v1::{DigestRequest, DigestResponse};

use super::address::Address;
use super::call::Caller;
use super::cluster::Cluster;

pub async fn compare(caller: &Caller, nodes: &[Address], shard: Option<u16>) -> anyhow::Result<String> {
    let cluster = Cluster::ask(caller, nodes).await?;
    let total = cluster.members().map(|(_, status)| status.shards_total).max();
    let shards = match shard {
        Some(shard) => u32::from(shard)..u32::from(shard) + 1,
        None => 0..total.unwrap_or(0),
    };
    let (mut said, mut differs) = (String::new(), false);
    for shard in shards {
        let mut answers = Vec::new();
        for (address, status) in cluster.members() {
            let request = DigestRequest {
                shard,
                index: 0,
                timeout_ms: u64::try_from(caller.timeout.as_millis())?,
            };
            let ask = |mut client: super::call::Client, request| async move { client.digest(request).await };
            let answer = caller.call(address, request, caller.timeout, ask).await?;
            answers.push((status.node, answer));
        }
        differs |= is_divergence(&answers);
        said.push_str(&render(shard, &answers));
    }
    if differs {
        bail!("replicas at the same entry hold different things:\n{said}");
    }
    Ok(said)
}

fn index(answer: &DigestResponse) -> u64 {
    answer.log_id.as_ref().map_or(0, |id| id.index)
}

/// Replicas at different entries say nothing of each other.
fn is_divergence(answers: &[(u64, DigestResponse)]) -> bool {
    answers.iter().any(|(_, one)| {
        let mut others = answers.iter().map(|(_, other)| other);
        others.any(|other| index(one) == index(other) && one.digest != other.digest)
    })
}

fn render(shard: u32, answers: &[(u64, DigestResponse)]) -> String {
    let line = |(node, answer): &(u64, DigestResponse)| {
        let digits: String = answer.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "shard {shard}  node {node}  entry {}  keys {}  {digits}\n",
            index(answer),
            answer.keys
        )
    };
    answers.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use ruvio_proto::common::v1::LogId;

    use super::*;

    fn answer(index: u64, digest: u8) -> DigestResponse {
        DigestResponse {
            log_id: Some(LogId {
                term: 0,
                node: 0,
                index,
            }),
            digest: vec![digest; 20].into(),
            keys: 3,
        }
    }

    #[test]
    fn only_replicas_at_the_same_entry_can_differ() {
        assert!(!is_divergence(&[
            (1, answer(7, 1)),
            (2, answer(7, 1)),
            (3, answer(6, 2))
        ]));
        assert!(is_divergence(&[
            (1, answer(7, 1)),
            (2, answer(6, 1)),
            (3, answer(7, 2))
        ]));
    }

    #[test]
    fn each_replica_has_a_line() {
        let said = render(4, &[(1, answer(7, 0xab))]);
        assert_eq!(
            said,
            format!("shard 4  node 1  entry 7  keys 3  {}\n", "ab".repeat(20))
        );
    }
}
