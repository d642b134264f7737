//! The native commands through the engine: every rule of their specification, one test each.

mod effects;
mod idem;
mod idem_wait;
mod increx;
mod limit;

use crate::engine::bench::{Bench, short};
use crate::engine::session::ClientId;
use crate::engine::testing;
use crate::keyspace::Classes;

const ALL_EVENTS: Classes =
    Classes(Classes::NATIVE.0 | Classes::GENERIC.0 | Classes::STRING.0 | Classes::EXPIRED.0);

/// An engine with effects on, and events.
fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.engine.shard.effects.switch(true);
    bench.listen(ALL_EVENTS);
    bench
}

fn ask(bench: &mut Bench, line: &str) -> String {
    short(bench.run(line).as_bytes())
}

/// The reply, which comes from a command that changes nothing: no effect, no event, no change counted.
#[track_caller]
fn ask_idly(bench: &mut Bench, line: &str) -> String {
    bench.engine.shard.effects.clear();
    bench.events();
    let changes = bench.engine.shard.stats.changes;
    let reply = ask(bench, line);
    assert!(bench.engine.shard.effects.is_empty(), "{line} has an effect");
    assert_eq!(bench.events(), [""; 0], "{line} tells of nothing");
    assert_eq!(
        bench.engine.shard.stats.changes, changes,
        "{line} touches nothing"
    );
    reply
}

/// The same as another client; nothing while it waits.
fn ask_as(bench: &mut Bench, client: ClientId, line: &str) -> String {
    let now_ms = bench.now_ms;
    short(testing::run_at(&mut bench.engine, client, line, now_ms).as_bytes())
}

/// What a client that waited has got since.
fn got(bench: &mut Bench, client: ClientId) -> String {
    short(testing::received(&mut bench.engine, client).as_bytes())
}
