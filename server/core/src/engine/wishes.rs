//! Commands that wait for something of the whole node: for the log to be durable up to them (`WAITAOF`), for the
//! image to hold all of that (`SAVE`), or for the keyspace to be made anew (`DEBUG RELOAD`). The server takes their
//! wishes and says when they came true.
//!
//! Invariant: a wish is taken after the changes of its turn, and those before it, were handed to the log.
//! Invariant: what counts as saved is in the image; a change that came while a run was under way does not.

use super::session::ClientId;
use super::{Engine, World};
use crate::exec::{Await, Now};

/// That all which was executed before it be durable, and then be in the image as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wish {
    /// Nobody waits for the answer of a background save.
    client: ClientId,
    number: u64,
    pub for_image: bool,
}

impl Wish {
    /// Somebody waits for it.
    pub fn is_urgent(&self) -> bool {
        self.client != ClientId::NONE
    }
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
        if matches!(awaits, Await::Sync | Await::Image) {
            self.new.push(Wish {
                client,
                number: self.last,
                for_image: awaits == Await::Image,
            });
        }
        self.last
    }

    /// A save that nobody waits for.
    pub fn save_in_background(&mut self) {
        self.note_wait(ClientId::NONE, Await::Image);
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
    /// The wish came true, or for one that is for the image: it cannot, as `end_image_run` was told.
    pub fn fulfil(&mut self, wish: Wish, now: Now) {
        let session = self.world.sessions.get(wish.client);
        let waiting = session.and_then(|session| session.blocked.as_ref());
        if waiting.is_some_and(|waiting| waiting.number == wish.number) {
            self.answer_wait(wish.client, now);
        }
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

    /// All changes so far were handed to the log.
    pub fn note_logged(&mut self) {
        for shard in self.shards_mut() {
            shard.stats.kept.logged = shard.stats.changes;
        }
    }

    /// What was noted so is durable.
    pub fn note_durable(&mut self) {
        for shard in self.shards_mut() {
            shard.stats.kept.durable = shard.stats.kept.logged;
        }
    }

    /// A run of the image began. It takes in what is durable, so that much at the least.
    pub fn begin_image_run(&mut self) {
        for shard in self.shards_mut() {
            shard.stats.kept.begun = shard.stats.kept.durable;
        }
    }

    /// The run that began last has ended. `has_failed`: the last that did; `succeeded`: one did what it was to do.
    pub fn end_image_run(&mut self, has_failed: bool, succeeded: bool, now: Now) {
        let saves = &mut self.world.saves;
        saves.has_failed = has_failed;
        if !succeeded {
            return;
        }
        saves.last_seconds = now.ms() / 1000;
        saves.count += 1;
        for shard in self.shards_mut() {
            shard.stats.kept.saved = shard.stats.kept.begun;
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

    /// As the server does it: durable, a run, its end.
    fn make_image(engine: &mut Engine, has_failed: bool, now_ms: u64) {
        let now = Now::from_ms(now_ms);
        engine.note_logged();
        engine.note_durable();
        engine.begin_image_run();
        engine.end_image_run(has_failed, !has_failed, now);
        for wish in engine.world.take_wishes() {
            assert!(wish.for_image);
            engine.fulfil(wish, now);
        }
    }

    #[test]
    fn a_save_is_answered_once_the_image_has_everything() {
        let mut engine = keeping();
        let client = connect(&mut engine);
        run(&mut engine, client, "SET k v");
        assert_eq!(run(&mut engine, client, "SAVE"), "");
        assert_eq!(run_at(&mut engine, client, "LASTSAVE", NOW_MS), ":0\r\n");
        make_image(&mut engine, false, NOW_MS + 5000);
        assert_eq!(received(&mut engine, client), "+OK\r\n");
        let last_save = format!(":{}\r\n", (NOW_MS + 5000) / 1000);
        assert_eq!(run(&mut engine, client, "LASTSAVE"), last_save);
        assert_eq!(engine.shard.stats.kept.saved, 1);
        assert_eq!(
            run(&mut engine, client, "BGSAVE"),
            "+Background saving started\r\n"
        );
        assert_eq!(engine.world.saves.count, 1);
        make_image(&mut engine, false, NOW_MS + 5000);
        assert_eq!(engine.world.saves.count, 2);
    }

    #[test]
    fn an_image_without_room_is_no_save() {
        let mut engine = keeping();
        let client = connect(&mut engine);
        run(&mut engine, client, "SET k v");
        assert_eq!(run(&mut engine, client, "SAVE"), "");
        make_image(&mut engine, true, NOW_MS + 5000);
        assert!(received(&mut engine, client).starts_with("-ERR the image could not be made"));
        assert_eq!(run(&mut engine, client, "SHUTDOWN SAVE"), "");
        make_image(&mut engine, true, NOW_MS + 5000);
        assert_eq!(
            received(&mut engine, client),
            "-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
        );
        assert_eq!(run(&mut engine, client, "LASTSAVE"), ":0\r\n");
        assert_eq!(engine.shard.stats.kept.saved, 0);
    }

    #[test]
    fn what_changes_while_a_run_is_under_way_is_not_saved_by_it() {
        let mut engine = keeping();
        let client = connect(&mut engine);
        run(&mut engine, client, "SET a 1");
        engine.note_logged();
        run(&mut engine, client, "SET b 1");
        engine.note_durable();
        engine.begin_image_run();
        run(&mut engine, client, "SET c 1");
        engine.note_logged();
        engine.note_durable();
        engine.end_image_run(false, true, NOW);
        let kept = engine.shard.stats.kept;
        assert_eq!((engine.shard.stats.changes, kept.saved), (3, 1));
    }
}
