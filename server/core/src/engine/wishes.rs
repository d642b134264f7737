//! Commands that wait for something of the whole node: for the log to be durable up to them (`SAVE`, `WAITAOF`),
//! or for the keyspace to be made anew (`DEBUG RELOAD`). The server takes their wishes and says when they came true.
//!
//! Invariant: a wish is taken after the changes of its turn, and those before it, were handed to the log.

use super::session::ClientId;
use super::{Engine, World};
use crate::command::COMMANDS;
use crate::exec::{Await, Now};

/// That all which was executed before it be durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wish {
    /// Nobody waits for the answer of a background save.
    client: ClientId,
    number: u64,
}

#[derive(Default)]
pub struct Wishes {
    new: Vec<Wish>,
    last: u64,
    /// All that was handed to the log is durable, as far as it was last asked.
    pub is_synced: bool,
}

impl Wishes {
    /// A wait begins: its number.
    pub(super) fn note_wait(&mut self, client: ClientId, awaits: Await) -> u64 {
        self.last += 1;
        if awaits == Await::Sync {
            let number = self.last;
            self.new.push(Wish { client, number });
        }
        self.last
    }

    /// A save that nobody waits for.
    pub fn save_in_background(&mut self) {
        self.note_wait(ClientId::NONE, Await::Sync);
    }
}

impl World {
    pub fn has_wishes(&self) -> bool {
        !self.wishes.new.is_empty()
    }

    pub fn take_wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.wishes.new)
    }
}

impl Engine {
    /// The log is durable up to the wish.
    pub fn fulfil(&mut self, wish: Wish, now: Now) {
        if wish.client == ClientId::NONE {
            self.note_saved(now);
            return;
        }
        let session = self.world.sessions.get(wish.client);
        let waiting = session.and_then(|session| session.blocked.as_ref());
        let Some(waiting) = waiting.filter(|waiting| waiting.number == wish.number) else {
            return;
        };
        if COMMANDS.get(waiting.command).full_name == "save" {
            self.note_saved(now);
        }
        self.answer_wait(wish.client, now);
    }

    /// The keyspace was made anew. Who asked for it before `number` was the last wait is answered.
    pub fn end_reload(&mut self, number: u64, now: Now) {
        let mut waiting = Vec::new();
        self.world.sessions.for_each_mut(|session| {
            let blocked = session.blocked.as_ref();
            if blocked.is_some_and(|b| b.awaits == Await::Reload && b.number <= number) {
                waiting.push(session.id);
            }
        });
        for client in waiting {
            self.answer_wait(client, now);
        }
    }

    /// The number of the wait that began last.
    pub fn last_wait(&self) -> u64 {
        self.world.wishes.last
    }

    fn answer_wait(&mut self, client: ClientId, now: Now) {
        let session = self.world.sessions.get_mut(client);
        if let Some(blocked) = session.and_then(|session| session.blocked.as_mut()) {
            blocked.has_come = true;
            self.try_again(client, now, true);
            self.settle(now);
        }
    }

    fn note_saved(&mut self, now: Now) {
        self.world.saves.last_seconds = now.ms() / 1000;
        self.world.saves.count += 1;
        self.world.host.make_image();
        for shard in self.shards_mut() {
            shard.stats.saved = shard.stats.changes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW_MS, connect, engine, received, run, run_at};
    use super::*;
    use crate::options::text::parse_flags;

    const NOW: Now = Now::from_ms(NOW_MS);

    fn keeping() -> Engine {
        let mut engine = engine();
        let flags = ["--durability".to_owned(), "everysec".to_owned()];
        let directives = parse_flags(&flags).expect("flags");
        engine.world.options.load(&directives).expect("known options");
        engine.log_changes();
        engine
    }

    #[test]
    fn a_wish_is_answered_when_it_comes_true_or_its_time_is_up() {
        let mut engine = keeping();
        let (one, other) = (connect(&mut engine), connect(&mut engine));
        assert_eq!(run(&mut engine, one, "WAITAOF 1 0 0"), "");
        assert_eq!(run(&mut engine, other, "WAITAOF 1 0 50"), "");
        let wishes = engine.world.take_wishes();
        assert_eq!(wishes.len(), 2);
        engine.fulfil(wishes[0], NOW);
        assert_eq!(received(&mut engine, one), "*2\r\n:1\r\n:0\r\n");
        assert_eq!(received(&mut engine, other), "");
        engine.tick(Now::from_ms(NOW_MS + 60));
        assert_eq!(received(&mut engine, other), "*2\r\n:0\r\n:0\r\n");
        // Too late, and about a wait that is over: the next one is not answered by it.
        assert_eq!(run(&mut engine, other, "WAITAOF 1 0 0"), "");
        engine.fulfil(wishes[1], NOW);
        assert_eq!(received(&mut engine, other), "");
    }

    #[test]
    fn what_is_durable_already_is_not_waited_for() {
        let mut engine = keeping();
        let client = connect(&mut engine);
        engine.world.wishes.is_synced = true;
        assert_eq!(run(&mut engine, client, "WAITAOF 1 0 0"), "*2\r\n:1\r\n:0\r\n");
        // The change of this very turn is in no log yet.
        run(&mut engine, client, "SET k v");
        assert_eq!(run(&mut engine, client, "WAITAOF 0 0 0"), "*2\r\n:0\r\n:0\r\n");
        assert_eq!(run(&mut engine, client, "WAITAOF 1 0 0"), "");
    }

    #[test]
    fn what_no_replica_confirms_is_told_when_the_time_is_up() {
        let mut engine = keeping();
        let client = connect(&mut engine);
        assert_eq!(run(&mut engine, client, "WAITAOF 1 2 50"), "");
        let wishes = engine.world.take_wishes();
        engine.fulfil(wishes[0], NOW);
        assert_eq!(received(&mut engine, client), "", "replicas are waited for still");
        engine.tick(Now::from_ms(NOW_MS + 60));
        assert_eq!(received(&mut engine, client), "*2\r\n:1\r\n:0\r\n");
        assert!(!engine.world.has_wishes());
    }

    #[test]
    fn saves_are_counted_once_the_log_is_durable() {
        let mut engine = keeping();
        let client = connect(&mut engine);
        run(&mut engine, client, "SET k v");
        assert_eq!(run(&mut engine, client, "SAVE"), "");
        assert_eq!(run_at(&mut engine, client, "LASTSAVE", NOW_MS), ":0\r\n");
        let saved_ms = NOW_MS + 5000;
        for wish in engine.world.take_wishes() {
            engine.fulfil(wish, Now::from_ms(saved_ms));
        }
        assert_eq!(received(&mut engine, client), "+OK\r\n");
        assert_eq!(
            run(&mut engine, client, "LASTSAVE"),
            format!(":{}\r\n", saved_ms / 1000)
        );
        assert_eq!(engine.shard.stats.saved, 1);
        assert_eq!(
            run(&mut engine, client, "BGSAVE"),
            "+Background saving started\r\n"
        );
        assert_eq!(engine.world.saves.count, 1);
        for wish in engine.world.take_wishes() {
            engine.fulfil(wish, Now::from_ms(saved_ms));
        }
        assert_eq!(engine.world.saves.count, 2);
    }
}
