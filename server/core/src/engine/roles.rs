//! Shards that do not lead here: what runs on them, and how a shard's role changes.
//!
//! Invariant: `Obstacle::Roles` is set exactly while the shard at hand does not lead, so commands on shards that
//! lead pay nothing for those that do not.

use super::session::{ClientId, Session};
use super::{Engine, Obstacle};
use crate::command::Entry;
use crate::command::spec::{Categories, Route};
use crate::error::{self, Error};
use crate::keyspace::Role;

impl Engine {
    /// The shard at a place of this owner leads from now on, or follows, or is not to be looked at.
    pub fn set_role(&mut self, place: usize, role: Role) {
        let (full, logs) = (self.world.must_not_change(), self.world.logs_changes);
        let Some(shard) = self.shard_of_place(place) else {
            return;
        };
        shard.role = role;
        shard.is_fresh &= role == Role::Follows;
        shard.expiry_cycle.suspended = full || !role.leads();
        // What its leader decided is logged already.
        shard.effects.switch(logs && role.leads());
        self.note_role();
    }

    /// Whether what follows its leader at that place is recent enough to be read.
    pub fn set_fresh(&mut self, place: usize, is_fresh: bool) {
        if let Some(shard) = self.shard_of_place(place) {
            shard.is_fresh = is_fresh && shard.role == Role::Follows;
        }
    }

    /// Another shard may be at hand, or another role its own.
    #[inline]
    pub(super) fn note_role(&mut self) {
        let leads = self.shard.role.leads();
        self.world.obstacles.set(Obstacle::Roles, !leads);
    }

    /// A command that wants to see keys of a shard that does not lead here.
    #[inline]
    pub(super) fn check_role(&self, client: ClientId, entry: &Entry) -> Result<(), Error> {
        if !self.world.obstacles.has(Obstacle::Roles) {
            return Ok(());
        }
        let session = self.world.sessions.get(client);
        let runs_queued = session.is_some_and(|session: &Session| session.exec_would_touch(entry));
        match runs_queued || concerns_keys(entry) {
            true => Err(error::NOT_LED),
            false => Ok(()),
        }
    }
}

/// The command is about keys: those that it names, or all.
pub(super) fn concerns_keys(entry: &Entry) -> bool {
    !entry.spec.keys.is_empty()
        || matches!(entry.spec.route, Route::Everywhere(_)) && entry.spec.acl.has(Categories::KEYSPACE)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW_MS, connect, engine, received, run, run_at};
    use super::*;
    use crate::exec::Now;

    const REFUSED: &str = "-CLUSTERDOWN No node leads the shard";

    #[test]
    fn commands_with_keys_run_only_where_the_shard_leads() {
        let mut engine = engine();
        let (client, late, waiting) = (connect(&mut engine), connect(&mut engine), connect(&mut engine));
        run(&mut engine, client, "SET k v");
        run(&mut engine, late, "MULTI");
        run(&mut engine, late, "GET k");
        run(&mut engine, waiting, "BLPOP list 0.1");
        for role in [Role::Follows, Role::Absent] {
            engine.set_role(0, role);
            for command in [
                "GET k",
                "SET k w",
                "DBSIZE",
                "KEYS *",
                "FLUSHALL",
                "WATCH k",
                "IDEM GET k",
            ] {
                let answer = run(&mut engine, client, command);
                assert!(answer.starts_with(REFUSED), "{command}: {answer}");
            }
            for command in [
                "PING",
                "CONFIG GET port",
                "INFO",
                "MULTI",
                "DISCARD",
                "PUBLISH c m",
            ] {
                let answer = run(&mut engine, client, command);
                assert!(!answer.starts_with('-'), "{command}: {answer}");
            }
        }
        assert!(
            run(&mut engine, late, "EXEC").starts_with("-EXECABORT"),
            "what was taken in before is not run"
        );
        run(&mut engine, client, "MULTI");
        assert!(run(&mut engine, client, "GET k").starts_with(REFUSED));
        assert!(run(&mut engine, client, "EXEC").starts_with("-EXECABORT"));
        engine.try_again(waiting, Now::from_ms(NOW_MS), true);
        assert!(received(&mut engine, waiting).starts_with(REFUSED));

        engine.set_role(0, Role::Leads);
        assert_eq!(run(&mut engine, client, "GET k"), "$1\r\nv\r\n");
    }

    /// The leader alone decides that a key is past its time: two deciders would make two keyspaces.
    #[test]
    fn nothing_of_a_shard_that_follows_expires_or_is_evicted_or_logged() {
        let mut engine = engine();
        let client = connect(&mut engine);
        engine.log_changes();
        run(&mut engine, client, "SET k v PX 10");
        run(&mut engine, client, "SET n v");
        run(
            &mut engine,
            client,
            "CONFIG SET maxmemory 1 maxmemory-policy allkeys-random",
        );
        engine.take_effects(0, Vec::new);
        engine.set_role(0, Role::Follows);
        engine.tick(Now::from_ms(NOW_MS + 60_000));
        engine.note_log_room(true);
        engine.note_log_room(false);
        engine.tick(Now::from_ms(NOW_MS + 120_000));
        assert_eq!(engine.shard.databases[0].len(), 2);
        assert!(!engine.has_effects());

        run(&mut engine, client, "CONFIG SET maxmemory 0");
        engine.set_role(0, Role::Leads);
        assert_eq!(run_at(&mut engine, client, "GET k", NOW_MS + 120_000), "$-1\r\n");
        assert!(engine.has_effects(), "who leads deletes it, and says so");
    }

    #[test]
    fn a_shard_that_was_rebuilt_keeps_the_role_of_its_place() {
        let mut engine = engine();
        let client = connect(&mut engine);
        engine.set_role(0, Role::Absent);
        engine.take_shard(0, crate::keyspace::Shard::new(5, 6));
        assert!(run(&mut engine, client, "GET k").starts_with(REFUSED));
        engine.set_role(0, Role::Leads);
        assert_eq!(run(&mut engine, client, "GET k"), "$-1\r\n");
    }
}
