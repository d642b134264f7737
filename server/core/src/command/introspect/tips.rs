//! Hints of `COMMAND INFO` for clients and proxies: how answers of several nodes are joined, and which
//! answers differ from one time to the next.

const VARIES: &str = "nondeterministic_output";
const ANY_ORDER: &str = "nondeterministic_output_order";
const ALL_NODES: &str = "request_policy:all_nodes";
const ALL_SHARDS: &str = "request_policy:all_shards";
const MULTI_SHARD: &str = "request_policy:multi_shard";
const SPECIAL_REQUEST: &str = "request_policy:special";
const ALL_SUCCEEDED: &str = "response_policy:all_succeeded";
const SUM: &str = "response_policy:agg_sum";
const MIN: &str = "response_policy:agg_min";
const SPECIAL: &str = "response_policy:special";

pub(super) fn tips(full_name: &str) -> &'static [&'static str] {
    match full_name {
        "acl|deluser" | "acl|save" | "acl|setuser" | "client|setinfo" | "client|setname"
        | "commandlog|reset" | "config|resetstat" | "config|rewrite" | "config|set" | "slowlog|reset" => {
            &[ALL_NODES, ALL_SUCCEEDED]
        }
        "flushall" | "flushdb" | "memory|purge" | "ping" => &[ALL_SHARDS, ALL_SUCCEEDED],
        "mset" | "msetex" => &[MULTI_SHARD, ALL_SUCCEEDED],
        "mget" => &[MULTI_SHARD],
        "del" | "exists" | "touch" | "unlink" => &[MULTI_SHARD, SUM],
        "dbsize" => &[ALL_SHARDS, SUM],
        "wait" | "waitaof" => &[ALL_SHARDS, MIN],
        "keys" => &[ALL_SHARDS, ANY_ORDER],
        "randomkey" => &[ALL_SHARDS, SPECIAL, VARIES],
        "scan" => &[VARIES, SPECIAL_REQUEST, SPECIAL],
        "info" | "memory|doctor" | "memory|malloc-stats" | "memory|stats" => &[VARIES, ALL_SHARDS, SPECIAL],
        "latency|doctor" | "latency|graph" | "latency|histogram" | "latency|history" | "latency|latest" => {
            &[VARIES, ALL_NODES, SPECIAL]
        }
        "latency|reset" => &[ALL_NODES, SUM],
        "commandlog|get" | "slowlog|get" => &[ALL_NODES, VARIES],
        "commandlog|len" | "slowlog|len" => &[ALL_NODES, SUM, VARIES],
        "client|info" | "client|list" | "dump" | "hrandfield" | "hscan" | "lastsave" | "object|encoding"
        | "object|freq" | "object|idletime" | "object|refcount" | "pttl" | "spop" | "srandmember"
        | "sscan" | "time" | "ttl" | "zrandmember" | "zscan" => &[VARIES],
        "command" | "command|docs" | "command|info" | "command|list" | "hgetall" | "hkeys" | "hvals"
        | "sdiff" | "sinter" | "smembers" | "sunion" => &[ANY_ORDER],
        "cluster|bumpepoch"
        | "cluster|count-failure-reports"
        | "cluster|getkeysinslot"
        | "cluster|info"
        | "cluster|links"
        | "cluster|myshardid"
        | "cluster|nodes"
        | "cluster|replicas"
        | "cluster|shards"
        | "cluster|slaves"
        | "cluster|slots" => &[VARIES],
        _ => &[],
    }
}
