//! The end of every command that stores a sorted set: `ZRANGESTORE`, `ZUNIONSTORE` and the like.

use crate::effect::Effect;
use crate::exec::Exec;
use crate::keyspace::{Classes, kind};
use crate::value::sorted_set::{self, Pairs};

/// Puts `pairs`, which are in order, in place of whatever is at `target`, or deletes it if there are none;
/// answers how many.
pub(super) fn replace(x: &mut Exec<'_>, target: &[u8], pairs: &Pairs, event: &'static str) {
    let key = x.db.key(target);
    if pairs.is_empty() {
        if x.db.delete(key) {
            x.db.notify(Classes::GENERIC, "del", key);
        }
    } else {
        let generation = x.db.shard.next_generation();
        // An entry past its time goes as such, not as one that was overwritten.
        if x.db.is_live(key) {
            x.db.tell_replaced(key);
        }
        sorted_set::store(&mut x.db, key, generation, pairs);
        if x.db.shard.effects.on() {
            x.db.emit(Effect::Create {
                key: key.bytes,
                kind: kind::SORTED_SET,
                generation,
            });
            for (member, score) in pairs.iter() {
                x.db.emit(Effect::ScorePut {
                    key: key.bytes,
                    generation,
                    member,
                    score,
                    created: true,
                });
            }
        }
        x.db.touch(key);
        x.db.notify(Classes::SORTED_SET, event, key);
    }
    x.reply.count(pairs.len());
}
