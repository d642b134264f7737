//! Shards that were filled elsewhere take the place of those that are here.

use super::{Engine, Obstacle};
use crate::keyspace::Shard;

impl Engine {
    /// Takes filled shards, in order, for those that nobody was let near to. Who waits and watches goes on doing so.
    pub fn take_shards(&mut self, filled: Vec<Shard>) {
        for (place, shard) in filled.into_iter().enumerate() {
            self.take_shard(place, shard);
        }
        self.world.obstacles.set(Obstacle::Loading, false);
    }

    /// The same for one of them. Its role stays what it was: `set_role` says when it may be looked at.
    pub fn take_shard(&mut self, place: usize, mut shard: Shard) {
        self.select_place(place);
        let here = &mut *self.shard;
        std::mem::swap(&mut shard.interest, &mut here.interest);
        std::mem::swap(&mut shard.uncommitted, &mut here.uncommitted);
        shard.effects.switch(here.effects.on());
        shard.expiry_cycle.enabled = here.expiry_cycle.enabled;
        shard.expiry_cycle.suspended = here.expiry_cycle.suspended;
        shard.stats = here.stats;
        shard.clock_us = shard.clock_us.max(here.clock_us);
        shard.role = here.role;
        shard.is_open = here.is_open;
        shard.is_detained = here.is_detained;
        shard.is_fresh = here.is_fresh;
        *here = shard;
        self.follow_options();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{connect, engine, received, run};
    use super::*;
    use crate::exec::Now;
    use crate::keyspace::Db;
    use crate::memory::Expiry;

    #[test]
    fn who_waits_and_watches_goes_on_and_options_hold() {
        let mut engine = engine();
        let (waiting, watching, other) = (connect(&mut engine), connect(&mut engine), connect(&mut engine));
        run(&mut engine, waiting, "BLPOP list 0");
        run(&mut engine, watching, "WATCH key");
        run(&mut engine, watching, "MULTI");
        run(&mut engine, watching, "GET key");
        run(&mut engine, other, "CONFIG SET maxmemory 1gb");
        engine.log_changes();
        engine.begin_logged_turn(5);

        let mut shard = Shard::new(3, 4);
        let mut db = Db {
            shard: &mut shard,
            index: 0,
            now: Now::default(),
            no_touch: true,
        };
        let key = db.key(b"key");
        db.put_string(key, b"loaded", Expiry::Clear);
        engine.take_shards(vec![shard]);

        assert_eq!(engine.shard.eviction.limit_bytes, 1 << 30);
        assert_eq!(run(&mut engine, other, "GET key"), "$6\r\nloaded\r\n");
        run(&mut engine, other, "RPUSH list a");
        assert_eq!(received(&mut engine, waiting), "*2\r\n$4\r\nlist\r\n$1\r\na\r\n");
        assert!(engine.has_effects(), "changes are logged on");
        assert_eq!(engine.take_wait().turn, 5);
        run(&mut engine, other, "SET key changed");
        assert_eq!(run(&mut engine, watching, "EXEC"), "*-1\r\n");
    }
}
