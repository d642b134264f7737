//! The cluster as JSON, for programs. Fields are only ever added.

use serde_json::{Value, json};

use super::cluster::{Asked, Cluster, Shard, hex, phase, role};

pub fn render(cluster: &Cluster) -> String {
    format!("{:#}", value(cluster))
}

fn value(cluster: &Cluster) -> Value {
    json!({
        "cluster": cluster.id().map(hex),
        "nodes": cluster.asked.iter().map(node).collect::<Vec<_>>(),
        "shards": cluster.shards().iter().map(|of| shard(cluster, of)).collect::<Vec<_>>(),
    })
}

fn node(asked: &Asked) -> Value {
    let admin = asked.address.to_string();
    match &asked.answer {
        Err(trouble) => json!({ "admin": admin, "trouble": trouble }),
        Ok(status) => json!({
            "admin": admin,
            "peer": Cluster::peer_address(&asked.address, status).to_string(),
            "port": status.port,
            "routed_port": status.routed_port,
            "node": status.node,
            "phase": phase(status),
            "release": status.release,
            "config_revision": status.config_revision,
            "uptime_ms": status.uptime_ms,
        }),
    }
}

fn shard(cluster: &Cluster, shard: &Shard) -> Value {
    let index = |id: &Option<ruvio_proto::common::v1::LogId>| id.as_ref().map(|id| id.index);
    let replica = |(node, replica): (u64, &ruvio_proto::admin::v1::ReplicaStatus)| {
        json!({
            "node": node,
            "role": role(replica),
            "last": index(&replica.last_log_id),
            "committed": index(&replica.committed),
            "applied": index(&replica.applied),
            "image": index(&replica.image),
            "purged": index(&replica.purged),
            "keys": replica.keys,
            "memory_bytes": replica.memory_bytes,
            "trouble": (!replica.trouble.is_empty()).then_some(&replica.trouble),
        })
    };
    let lag = |(node, lag): (&u64, &u64)| json!({ "node": node, "entries": lag });
    json!({
        "shard": shard.number,
        "leader": (shard.leader != 0).then_some(shard.leader),
        "term": shard.term,
        "voters": shard.voters,
        "learners": shard.learners,
        "committed": shard.committed,
        "lag": shard.lags.iter().map(lag).collect::<Vec<_>>(),
        "keys": shard.keys,
        "memory_bytes": shard.memory_bytes,
        "replicas": cluster.replicas(shard.number).map(replica).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::golden;
    use super::*;

    #[test]
    fn it_says_what_the_table_says() {
        let value: Value = serde_json::from_str(&render(&golden())).expect("JSON");
        assert_eq!(value["cluster"], "0a".repeat(16));
        assert_eq!(value["nodes"][1]["peer"], "127.0.0.1:7379");
        assert_eq!(
            value["nodes"][2]["trouble"],
            "cannot reach 127.0.0.1:7483: Connection refused"
        );
        let shard = &value["shards"][0];
        assert_eq!((&shard["leader"], &shard["term"]), (&json!(1), &json!(4)));
        assert_eq!(shard["voters"], json!([1, 2, 3]));
        assert_eq!(
            shard["lag"],
            json!([{"node": 2, "entries": 0}, {"node": 3, "entries": 15}])
        );
        assert_eq!(shard["replicas"][0]["committed"], 1042);
        assert_eq!(value["shards"][2]["leader"], Value::Null);
    }
}
