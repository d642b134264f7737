//! Active expiry: keys whose time has come go even if nobody asks for them.
//!
//! A slice walks some buckets of each database from where the last one ended and looks at the keys with an
//! expiry only. Where more than a tenth of them were due it goes on in the same database, else it leaves it
//! until the next round, a tenth of a second later: so at most about a tenth of the keys with an expiry are
//! overdue, as with Valkey's cycle, and a keyspace in which nothing is due costs next to nothing.
//! `active-expire-effort` asks for more: larger steps, more of them, and fewer keys that may be overdue.

use super::{Db, Shard};
use crate::exec::Now;

/// Buckets looked at in one go.
const WALK_BUCKETS: usize = 32;
/// A step looks at this many keys with an expiry (a quarter more for each further effort), but at no more than so many stretches of buckets: where few
/// keys have one it gets around a large database in some seconds all the same.
const STEP_KEYS: usize = 20;
const STEP_WALKS: usize = 128;
/// Steps of one slice, and as many for each further effort: some hundred keys each, at most.
const SLICE_STEPS: usize = 8;
/// Steps of a slice over fields of hashes.
const FIELD_STEPS: usize = 64;
/// Between two rounds through all databases.
const ROUND_MS: u64 = 100;
/// It is worth to go on if more than so many in a hundred were due; one less for each further effort.
const WORTHWHILE_PERCENT: usize = 10;

#[derive(Debug)]
pub struct ExpiryCycle {
    /// `DEBUG SET-ACTIVE-EXPIRE`.
    pub enabled: bool,
    /// Nothing may change: what is past its time is not seen, and stays.
    pub suspended: bool,
    /// `active-expire-effort` beyond the least: 0 to 9.
    pub further_effort: usize,
    /// The database that comes next.
    next: usize,
    cursors: Vec<u64>,
    /// When the next round begins, and when fields of hashes are next looked at. Unix milliseconds.
    due_ms: u64,
    fields_due_ms: u64,
    /// Names of keys that are due, kept for its memory.
    names: Vec<u8>,
    ends: Vec<usize>,
}

impl ExpiryCycle {
    pub(super) fn new(databases: usize) -> Self {
        Self {
            enabled: true,
            suspended: false,
            further_effort: 0,
            next: 0,
            cursors: vec![0; databases],
            due_ms: 0,
            fields_due_ms: 0,
            names: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn step_keys(&self) -> usize {
        STEP_KEYS + STEP_KEYS / 4 * self.further_effort
    }

    fn slice_steps(&self) -> usize {
        SLICE_STEPS * (1 + self.further_effort)
    }

    fn is_worthwhile(&self, due: usize, seen: usize) -> bool {
        due * 100 > seen * WORTHWHILE_PERCENT.saturating_sub(self.further_effort)
    }

    /// Two databases were exchanged.
    pub(super) fn swap(&mut self, one: u16, other: u16) {
        self.cursors.swap(one as usize, other as usize);
    }
}

impl Shard {
    /// One slice, of keys and of fields of hashes. `true`: there is more to do at once.
    pub fn expire_slice(&mut self, now: Now) -> bool {
        if !self.expiry_cycle.enabled {
            return false;
        }
        let more_keys = self.expire_keys(now);
        self.expire_some_fields(now) || more_keys
    }

    fn expire_some_fields(&mut self, now: Now) -> bool {
        if now.ms() < self.expiry_cycle.fields_due_ms {
            return false;
        }
        let before = self.stats.expired_fields;
        let unfinished = self.expire_fields(now, FIELD_STEPS);
        // A long index in which nothing is due is walked at leisure.
        let goes_on = unfinished && self.stats.expired_fields > before;
        if !goes_on {
            self.expiry_cycle.fields_due_ms = now.ms() + ROUND_MS;
        }
        goes_on
    }

    fn expire_keys(&mut self, now: Now) -> bool {
        if now.ms() < self.expiry_cycle.due_ms {
            return false;
        }
        let (mut steps, steps_max) = (0, self.expiry_cycle.slice_steps());
        while self.expiry_cycle.next < self.databases.len() {
            let db = self.expiry_cycle.next;
            let mut goes_on = self.databases[db].expiring() > 0;
            while goes_on {
                if steps == steps_max {
                    return true;
                }
                steps += 1;
                goes_on = self.expire_step(db, now);
            }
            self.expiry_cycle.next += 1;
        }
        self.expiry_cycle.next = 0;
        self.expiry_cycle.due_ms = now.ms() + ROUND_MS;
        false
    }

    /// Removes what is due among the next buckets of a database. `true` if it is worth to go on there.
    fn expire_step(&mut self, db: usize, now: Now) -> bool {
        let (mut names, mut ends) = (
            std::mem::take(&mut self.expiry_cycle.names),
            std::mem::take(&mut self.expiry_cycle.ends),
        );
        let mut seen = 0;
        let mut cursor = self.expiry_cycle.cursors[db];
        let step_keys = self.expiry_cycle.step_keys();
        for _ in 0..STEP_WALKS {
            cursor = self.databases[db].walk_expiring(&self.heap, cursor, WALK_BUCKETS, |entry| {
                seen += 1;
                if entry.expire_at_ms().is_some_and(|at| at <= now.ms()) {
                    names.extend_from_slice(entry.key());
                    ends.push(names.len());
                }
            });
            if seen >= step_keys || cursor == 0 {
                break;
            }
        }
        self.expiry_cycle.cursors[db] = cursor;
        let due = ends.len();
        let mut at = Db {
            shard: self,
            index: db as u16,
            now,
            no_touch: true,
        };
        let mut start = 0;
        for end in ends.drain(..) {
            let key = at.key(&names[start..end]);
            at.expire(key);
            start = end;
        }
        names.clear();
        self.expiry_cycle.names = names;
        self.expiry_cycle.ends = ends;
        self.expiry_cycle.is_worthwhile(due, seen) && self.databases[db].expiring() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Expiry;

    const KEYS: usize = 3000;

    fn filled() -> Shard {
        let mut shard = Shard::new(3, 4);
        let mut db = Db {
            shard: &mut shard,
            index: 5,
            now: Now::from_ms(1000),
            no_touch: false,
        };
        for nth in 0..KEYS {
            let name = format!("key:{nth}");
            let key = db.key(name.as_bytes());
            let expiry = match nth % 3 {
                0 => Expiry::Clear,
                1 => Expiry::At(2000),
                _ => Expiry::At(1_000_000),
            };
            db.put_string(key, b"v", expiry);
        }
        shard
    }

    #[test]
    fn what_is_due_goes_and_nothing_else() {
        let mut shard = filled();
        assert!(!shard.expire_slice(Now::from_ms(1999)), "nothing is due");
        assert_eq!(shard.databases[5].len(), KEYS);
        let mut slices = 0;
        let mut now_ms = 2500;
        while shard.databases[5].len() > KEYS - KEYS / 3 {
            if !shard.expire_slice(Now::from_ms(now_ms)) {
                now_ms += ROUND_MS;
            }
            slices += 1;
            assert!(slices < 100, "{} keys are left", shard.databases[5].len());
        }
        assert!(slices > 1, "a slice is bounded");
        assert_eq!(shard.stats.expired, KEYS as u64 / 3);
        assert_eq!(shard.databases[5].expiring(), KEYS / 3);
    }

    /// Valkey's share of keys that may be overdue: ten percent at effort 1, one at effort 10.
    #[test]
    fn more_effort_leaves_less() {
        let overdue = |further_effort| {
            let mut shard = Shard::new(3, 4);
            shard.expiry_cycle.further_effort = further_effort;
            let mut db = Db {
                shard: &mut shard,
                index: 0,
                now: Now::from_ms(1000),
                no_touch: false,
            };
            // One in twenty is due: enough for the greatest effort, not for the least.
            for nth in 0..KEYS {
                let name = format!("key:{nth}");
                let key = db.key(name.as_bytes());
                let at = if nth % 20 == 0 { 2000 } else { 1_000_000 };
                db.put_string(key, b"v", Expiry::At(at));
            }
            for round in 0..3 {
                while shard.expire_slice(Now::from_ms(3000 + round * ROUND_MS)) {}
            }
            KEYS / 20 - shard.stats.expired as usize
        };
        let (least, greatest) = (overdue(0), overdue(9));
        assert!(greatest < KEYS / 100, "{greatest} keys are overdue");
        assert!(least > 2 * greatest, "{least} keys are overdue, and {greatest}");
    }

    #[test]
    fn it_rests_between_rounds_and_when_switched_off() {
        let mut shard = filled();
        shard.expiry_cycle.enabled = false;
        shard.expire_slice(Now::from_ms(5000));
        assert_eq!(shard.stats.expired, 0);
        shard.expiry_cycle.enabled = true;
        assert!(!shard.expire_slice(Now::from_ms(1500)));
        assert!(!shard.expire_slice(Now::from_ms(1500 + ROUND_MS - 1)));
        assert_eq!(
            shard.stats.expired, 0,
            "the first round is over, the next has not begun"
        );
    }
}
