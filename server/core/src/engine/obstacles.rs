//! What keeps commands of everybody from running: no memory, no room in the log, a keyspace that is not there yet,
//! a shard that another node leads.
//!
//! Invariant: while there is none of it a command pays one test for all of them (`World::is_calm`).

use super::dispatch::Standing;
use super::session::{ClientId, Session};
use super::{Engine, World};
use crate::command::Entry;
use crate::command::spec::Flags;
use crate::error::{self, Error};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// More memory is used than `maxmemory`, and nothing could be evicted.
    OutOfMemory = 1,
    /// The log takes no more writes.
    LogFull = 2,
    /// The keyspace is being filled with what the node kept.
    Loading = 4,
    /// The shard at hand does not lead here (see `roles`).
    Roles = 8,
    /// Clients of the cluster port, where nobody decides the course of commands before they run (see `door`).
    Doors = 16,
}

/// Those that there are now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Obstacles(u8);

impl Obstacles {
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub fn has(self, obstacle: Obstacle) -> bool {
        self.0 & obstacle as u8 != 0
    }

    #[inline]
    pub fn set(&mut self, obstacle: Obstacle, is_there: bool) {
        match is_there {
            true => self.0 |= obstacle as u8,
            false => self.0 &= !(obstacle as u8),
        }
    }
}

impl World {
    /// Changes that no command asked for have to wait as well: what expires or is evicted is logged, too.
    pub(super) fn must_not_change(&self) -> bool {
        self.obstacles.has(Obstacle::LogFull)
    }
}

impl Engine {
    /// The log has room, or has none: then nothing is changed, neither by commands nor by the passing of time.
    pub fn note_log_room(&mut self, is_full: bool) {
        if is_full == self.world.obstacles.has(Obstacle::LogFull) {
            return;
        }
        self.world.obstacles.set(Obstacle::LogFull, is_full);
        self.shards_mut()
            .for_each(|shard| shard.expiry_cycle.suspended = is_full || !shard.role.leads());
    }

    /// Before all that costs or changes something: a write that the log has no room for.
    #[inline]
    pub(super) fn check_log_room(
        &self,
        client: ClientId,
        standing: Standing,
        entry: &Entry,
    ) -> Result<(), Error> {
        let obstacles = self.world.obstacles;
        if obstacles.has(Obstacle::LogFull) && self.writes(client, standing, entry) {
            return Err(error::MISCONF);
        }
        Ok(())
    }

    fn writes(&self, client: ClientId, standing: Standing, entry: &Entry) -> bool {
        entry.flags.has(Flags::WRITE) && !entry.flags.has(Flags::ASKS_FOR_ROOM)
            || standing.is_bound() && {
                let session = self.world.sessions.get(client);
                session.is_some_and(|session| session.exec_would(entry, Flags::WRITE))
            }
    }

    /// A command that wants to see the keyspace while there is none.
    #[inline]
    pub(super) fn check_loaded(&self, client: ClientId, entry: &Entry) -> Result<(), Error> {
        if !self.world.obstacles.has(Obstacle::Loading) {
            return Ok(());
        }
        let session = self.world.sessions.get(client);
        let may_run =
            entry.flags.has(Flags::LOADING) && !session.is_some_and(|s: &Session| s.exec_would_look(entry));
        if may_run { Ok(()) } else { Err(error::LOADING) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW_MS, connect, engine, received, run, run_at};
    use super::*;
    use crate::exec::Now;

    const FULL: &str = "-MISCONF The disk that holds the log is full: ";

    #[test]
    fn a_full_log_refuses_writes_before_they_run_and_nothing_else() {
        let mut engine = engine();
        let (client, other) = (connect(&mut engine), connect(&mut engine));
        run(&mut engine, client, "SET k v");
        run(&mut engine, client, "MULTI");
        run(&mut engine, client, "SET k w");
        run(&mut engine, other, "MULTI");
        run(&mut engine, other, "GET k");
        engine.note_log_room(true);

        assert!(
            run(&mut engine, client, "EXEC")
                .starts_with("-EXECABORT Transaction discarded because of: MISCONF ")
        );
        assert_eq!(run(&mut engine, other, "EXEC"), "*1\r\n$1\r\nv\r\n");
        for write in ["SET k x", "DEL k", "FLUSHALL", "LIMIT l WINDOW 5 PER 1000"] {
            assert!(run(&mut engine, client, write).starts_with(FULL), "{write}");
        }
        run(&mut engine, client, "MULTI");
        assert!(run(&mut engine, client, "SET k x").starts_with(FULL));
        assert!(run(&mut engine, client, "EXEC").starts_with("-EXECABORT"));
        assert_eq!(run(&mut engine, client, "GET k"), "$1\r\nv\r\n");
        assert_eq!(run(&mut engine, client, "PING"), "+PONG\r\n");

        engine.note_log_room(false);
        assert_eq!(run(&mut engine, client, "SET k y"), "+OK\r\n");
    }

    #[test]
    fn what_may_change_and_does_not_is_answered_without_room() {
        let mut engine = engine();
        let client = connect(&mut engine);
        let window = |key: &str, more: &str| format!("LIMIT {key} WINDOW 1 PER 60000{more}");
        run(&mut engine, client, &window("spent", ""));
        run(&mut engine, client, "IDEM BEGIN done print OWNER a");
        run(&mut engine, client, "IDEM COMPLETE done a 1 result");
        run(&mut engine, client, "IDEM BEGIN held print OWNER a LEASE 60000");
        engine.log_changes();
        engine.note_log_room(true);
        for (command, answer) in [
            (window("spent", ""), "*5\r\n:0\r\n"),
            (window("fresh", " PEEK"), "*5\r\n:1\r\n"),
            (window("spent", " PEEK"), "*5\r\n:0\r\n"),
            ("CL.THROTTLE fresh 5 10 60 0".to_owned(), "*5\r\n:0\r\n"),
            (
                "LIMIT MULTI 2 fresh WINDOW 1 PER 9 spent WINDOW 1 PER 60000".to_owned(),
                "*6\r\n:0\r\n",
            ),
            (
                "IDEM BEGIN done print OWNER b".to_owned(),
                "*3\r\n$4\r\nDONE\r\n$6\r\nresult",
            ),
            ("IDEM BEGIN held print OWNER b".to_owned(), "*3\r\n$4\r\nBUSY\r\n"),
            (
                "IDEM BEGIN held print OWNER a".to_owned(),
                "*3\r\n$3\r\nNEW\r\n:2\r\n",
            ),
            ("IDEM GET done".to_owned(), "*"),
        ] {
            let got = run(&mut engine, client, &command);
            assert!(got.starts_with(answer), "{command}: {got}");
        }
        for command in [
            window("fresh", ""),
            "LIMIT MULTI 2 fresh WINDOW 1 PER 9 other WINDOW 1 PER 9".to_owned(),
            "LIMIT RESET spent".to_owned(),
            "LIMIT REFUND spent COST 1".to_owned(),
            "CL.THROTTLE fresh 5 10 60".to_owned(),
            "IDEM BEGIN fresh print".to_owned(),
            "IDEM COMPLETE held a 2 result".to_owned(),
        ] {
            let got = run(&mut engine, client, &command);
            assert!(got.starts_with(FULL), "{command}: {got}");
        }
        assert!(!engine.has_effects());
    }

    #[test]
    fn who_waits_is_refused_when_it_is_tried_again() {
        let mut engine = engine();
        let waiting = connect(&mut engine);
        run(&mut engine, waiting, "BLPOP list 0.1");
        run(&mut engine, waiting, "BLPOP list 0.1");
        engine.note_log_room(true);
        engine.try_again(waiting, Now::from_ms(NOW_MS), true);
        assert!(received(&mut engine, waiting).starts_with(FULL));
    }

    /// Deletions are logged, too: a disk that is full must not be filled further by the passing of time.
    #[test]
    fn while_the_log_is_full_what_is_past_its_time_is_hidden_and_not_deleted() {
        let mut engine = engine();
        let client = connect(&mut engine);
        run(&mut engine, client, "SET k v PX 10");
        engine.log_changes();
        engine.note_log_room(true);
        let later = NOW_MS + 1000;
        assert_eq!(run_at(&mut engine, client, "GET k", later), "$-1\r\n");
        engine.tick(Now::from_ms(later + 1000));
        assert!(!engine.has_effects());
        assert_eq!(engine.shard.stats.expired, 0);

        engine.note_log_room(false);
        engine.tick(Now::from_ms(later + 2000));
        assert!(engine.has_effects());
        assert_eq!(engine.shard.stats.expired, 1);
    }

    #[test]
    fn while_it_loads_only_what_needs_no_keys_runs() {
        const LOADING: &str = "-LOADING Ruvio is loading the dataset in memory\r\n";
        let mut engine = engine();
        let client = connect(&mut engine);
        run(&mut engine, client, "MULTI");
        run(&mut engine, client, "GET k");
        engine.world.obstacles.set(Obstacle::Loading, true);
        // As in Valkey: what was taken in before is refused as a whole.
        assert!(
            run(&mut engine, client, "EXEC")
                .starts_with("-EXECABORT Transaction discarded because of: LOADING ")
        );
        for command in ["GET k", "PING", "SET k v", "DBSIZE", "LOLWUT"] {
            assert_eq!(run(&mut engine, client, command), LOADING, "{command}");
        }
        for command in [
            "INFO",
            "CONFIG GET port",
            "CLIENT ID",
            "MULTI",
            "DISCARD",
            "SUBSCRIBE x",
        ] {
            assert!(!run(&mut engine, client, command).starts_with('-'), "{command}");
        }
        engine.world.obstacles.set(Obstacle::Loading, false);
        let client = connect(&mut engine);
        assert_eq!(run(&mut engine, client, "PING"), "+PONG\r\n");
    }
}
