//! The commands through the engine. Expected replies are Valkey 9.1.2's.

mod behaviour;
mod equality;
mod shapes;

use crate::engine::bench::Bench;
use crate::keyspace::Classes;
use crate::resp::Protocol;

/// A bench whose sorted sets are all large.
fn all_large() -> Bench {
    let mut bench = Bench::new();
    bench.engine.shard.limits.zset_max_listpack_entries = 0;
    bench
}

fn speak_resp3(bench: &mut Bench) {
    let client = bench.client;
    bench
        .engine
        .world
        .sessions
        .get_mut(client)
        .expect("connected")
        .protocol = Protocol::Resp3;
}

fn listen(bench: &mut Bench) {
    bench.listen(Classes(Classes::SORTED_SET.0 | Classes::GENERIC.0));
}

fn encoding(bench: &Bench, key: &[u8]) -> &'static str {
    let shard = &bench.engine.shard;
    let entry = shard.databases[0]
        .get(&shard.heap, shard.heap.hash(key), key)
        .expect("the key is there");
    super::View::new(entry, &shard.heap).encoding()
}
