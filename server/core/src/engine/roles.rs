//! Shards that do not lead here: what runs on them, and how a shard's role changes.
//!
//! Invariant: `Obstacle::Roles` is set exactly while the shard at hand does not lead, so commands on shards that
//! lead pay nothing for those that do not.

use super::course::Course;
use super::session::ClientId;
use super::{Ahead, Door, Engine, Obstacle, Passport};
use crate::command::spec::{Categories, Flags, Group, Route};
use crate::command::{Args, COMMANDS, Entry, OwnedArgs};
use crate::effect::Effect;
use crate::effect::apply::{ApplyError, apply};
use crate::error::Error;
use crate::exec::Now;
use crate::keyspace::Role;
use crate::text::crc16::slot_of;

/// Valkey's words where a primary becomes a replica.
const UNBLOCKED: Error = Error::new(
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
);

impl Engine {
    /// The shard at a place of this owner leads from now on, or follows, or is not to be looked at.
    pub fn set_role(&mut self, place: usize, role: Role) {
        let (full, logs) = (self.world.must_not_change(), self.world.logs_changes);
        let Some(shard) = self.shard_of_place(place) else {
            return;
        };
        shard.role = role;
        shard.is_open = role.leads() && !shard.is_detained;
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

    /// Makes a change of its leader's to the shard at hand, where it follows. Who waits for the key, or watches it,
    /// hears of it with `note_applied`.
    pub fn apply_effect(&mut self, db: u16, effect: &Effect<'_>) -> Result<(), ApplyError> {
        apply(&mut self.shard, db, effect)?;
        let interest = &mut self.shard.interest;
        if interest.is_empty() {
            return Ok(());
        }
        match *effect {
            Effect::Put { key, .. }
            | Effect::Patch { key, .. }
            | Effect::Expire { key, .. }
            | Effect::Delete { key, .. }
            | Effect::Create { key, .. }
            | Effect::HashPut { key, .. }
            | Effect::HashDelete { key, .. }
            | Effect::SetAdd { key, .. }
            | Effect::SetDelete { key, .. }
            | Effect::ScorePut { key, .. }
            | Effect::ScoreDelete { key, .. }
            | Effect::ListPut { key, .. }
            | Effect::ListDelete { key, .. } => interest.touch(db, key),
            Effect::Rename { from, to, .. } => {
                interest.touch(db, from);
                interest.touch(db, to);
            }
            Effect::Swap { with } => interest.touch_all(&[db, with], |_, _| true),
            Effect::Flush => interest.touch_all(&[db], |_, _| true),
            Effect::Fence { .. } => {}
        }
        Ok(())
    }

    /// What belonged together of its leader's effects was applied to the shard at that place.
    pub fn note_applied(&mut self, place: usize, now: Now) {
        self.select_place(place);
        let now = self.shard.advance(now);
        self.settle(now);
    }

    /// Another shard may be at hand, or another role its own.
    #[inline]
    pub(super) fn note_role(&mut self) {
        let leads = self.shard.role.leads();
        self.world.obstacles.set(Obstacle::Roles, !leads);
    }

    /// A command that wants to see keys of a shard that does not lead here.
    #[inline]
    pub(super) fn check_role(&self, client: ClientId, entry: &Entry, args: Args<'_>) -> Result<(), Error> {
        match self.world.obstacles.has(Obstacle::Roles) {
            true => self.check_not_led(client, entry, args),
            false => Ok(()),
        }
    }

    #[inline(never)]
    fn check_not_led(&self, client: ClientId, entry: &Entry, args: Args<'_>) -> Result<(), Error> {
        let Some(session) = self.world.sessions.get(client) else {
            return Ok(());
        };
        let runs_queued = session.exec_would_touch(entry);
        if !runs_queued && !concerns_keys(entry) || runs_queued && session.watch_broken() {
            return Ok(());
        }
        let slot = match entry.first_key(args) {
            _ if runs_queued => session.queued_slot(),
            Some(at) => Some(slot_of(args.get(at))),
            None => None,
        };
        let (topology, at_hand) = (self.world.topology, self.world.shard_at_hand);
        if topology.is_spread() && slot.is_some_and(|slot| topology.shard_of(slot) != at_hand) {
            // A transaction takes it in, for another owner to look at.
            return Ok(());
        }
        let may_leave = self.world.is_clustered() && session.entrance.door != Door::Cluster;
        if may_leave && session.in_multi() && !runs_queued {
            // The same, wherever the shard is led then.
            return Ok(());
        }
        let writes = entry.flags.has(Flags::WRITE) || session.exec_would(entry, Flags::WRITE);
        let is_recent = self.shard.role == Role::Follows && self.shard.is_fresh;
        if session.entrance.reads_followers && is_recent && !writes {
            return Ok(());
        }
        Err(self.world.not_led(client, slot))
    }

    /// What the cluster port asks of a command, where that was not looked at before.
    #[inline]
    pub(super) fn check_door(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
    ) -> Result<(), Error> {
        if !self.world.obstacles.has(Obstacle::Doors) || self.world.cluster_of(client).is_none() {
            return Ok(());
        }
        let ahead = Ahead {
            entry: COMMANDS.find(args.get(0)),
            ..Ahead::default()
        };
        // An `EXEC` forgets the slot only when it runs.
        match self.course_of(client, args, &ahead) {
            Course::Refuse(error) if entry.arity_fits(args.len()) => Err(error),
            _ => Ok(()),
        }
    }

    /// The shard at a place leads here no longer: those who wait in it are told, and transactions that watch its
    /// keys will not run. Said once the role has changed. Who sees the whole keyspace is not told: its command is
    /// given back, to wait where the shard is led next.
    pub fn leave_shard(&mut self, place: usize, now: Now) -> Vec<Displaced> {
        self.select_place(place);
        let (mut waiting, mut watching) = (Vec::new(), Vec::new());
        for session in self.world.sessions.with_shadows() {
            let blocked = session.blocked.as_ref();
            let awaited = blocked.and_then(|blocked| blocked.keys.view().try_get(0));
            if let Some(key) = awaited.filter(|key| self.world.has_at_hand(key)) {
                waiting.push((session.id, slot_of(key)));
            }
            if session
                .watched_key()
                .is_some_and(|key| self.world.has_at_hand(key))
            {
                watching.push(session.id);
            }
        }
        let mut displaced = Vec::new();
        for (client, slot) in waiting {
            if self.is_routed(client) {
                displaced.extend(self.displace(client));
                continue;
            }
            let error = match self.world.not_led(client, Some(slot)) {
                moved if moved.prefix() == "MOVED" => moved,
                _ => UNBLOCKED,
            };
            self.end_wait_with_error(client, error);
        }
        self.shard.interest.dirty.extend(watching);
        self.settle(now);
        displaced
    }

    fn displace(&mut self, session: ClientId) -> Option<Displaced> {
        let passport = self.passport(session);
        let blocked = self.stop_waiting(session)?;
        Some(Displaced {
            session,
            passport,
            args: blocked.args,
            silent: blocked.silent,
        })
    }
}

/// A command that waited for a key whose shard is led elsewhere now.
pub struct Displaced {
    /// Who waited here: the client, or what stands for it.
    pub session: ClientId,
    pub passport: Passport,
    pub args: OwnedArgs,
    /// `CLIENT REPLY` has its answer dropped.
    pub silent: bool,
}

/// The command is about keys: those that it names, or all.
pub(super) fn concerns_keys(entry: &Entry) -> bool {
    !entry.spec.keys.is_empty() && entry.spec.group != Group::PubSub
        || matches!(entry.spec.route, Route::Everywhere(_)) && entry.spec.acl.has(Categories::KEYSPACE)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW_MS, connect, engine, received, run, run_at};
    use super::*;

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
            run(&mut engine, late, "EXEC").starts_with(REFUSED),
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

    /// An owner that runs a transaction of another's client answers its `EXEC` alone: that has to say it.
    #[test]
    fn a_transaction_sent_here_by_another_owner_is_refused_by_what_refused_its_commands() {
        let mut engine = engine();
        let client = connect(&mut engine);
        let shadow = engine.shadow_of(client, Now::from_ms(NOW_MS));
        engine.set_role(0, Role::Follows);
        run(&mut engine, shadow, "MULTI");
        assert!(run(&mut engine, shadow, "SET k v").starts_with(REFUSED));
        assert!(run(&mut engine, shadow, "EXEC").starts_with(REFUSED));
        engine.set_role(0, Role::Leads);
        run(&mut engine, shadow, "MULTI");
        run(&mut engine, shadow, "SET k v");
        assert_eq!(run(&mut engine, shadow, "EXEC"), "*1\r\n+OK\r\n");
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
