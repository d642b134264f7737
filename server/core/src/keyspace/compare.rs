//! The logical content of a shard, to compare two replicas: what a client or the image could tell apart, and nothing
//! of how it stands in memory.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::{Collection, Shard, Type};
use crate::effect::ListPosition;
use crate::memory::{Entry, Heap, Value};
use crate::value::hash::HashView;
use crate::value::set::SetView;
use crate::value::sorted_set::View;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Bytes(Vec<u8>),
    /// Value and time by field.
    Hash(BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)>),
    Set(BTreeSet<Vec<u8>>),
    /// Elements in order, with their positions.
    List(Vec<(ListPosition, Vec<u8>)>),
    /// Members in order, with the bits of their scores.
    SortedSet(Vec<(Vec<u8>, u64)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalValue {
    pub type_name: &'static str,
    pub expire_at_ms: Option<u64>,
    pub generation: Option<u64>,
    pub content: Content,
}

/// Everything in the shard by database and key, whether its time has come or not.
#[cfg(test)]
pub fn dump(shard: &Shard) -> BTreeMap<(u16, Vec<u8>), LogicalValue> {
    let mut all = BTreeMap::new();
    for (db, table) in shard.databases.iter().enumerate() {
        table.for_each(&shard.heap, |entry| {
            all.insert((db as u16, entry.key().to_vec()), logical(entry, &shard.heap));
        });
    }
    all
}

fn logical<'a>(entry: Entry<'a, Collection>, heap: &'a Heap) -> LogicalValue {
    let kind = Type::of(entry.kind());
    let generation = kind.is_collection().then(|| match entry.value() {
        Value::Bytes(bytes) => super::collection::packed_generation(bytes),
        Value::Boxed(collection) => collection.generation(),
    });
    let content = match kind {
        Type::Hash => {
            let mut fields = BTreeMap::new();
            HashView::of(entry, heap).for_each(0, |field| {
                fields.insert(field.name.to_vec(), (field.value.to_vec(), field.expire_at_ms));
            });
            Content::Hash(fields)
        }
        Type::Set => {
            let mut members = BTreeSet::new();
            SetView::of(entry, heap).for_each(|member| {
                members.insert(member.to_vec());
            });
            Content::Set(members)
        }
        Type::List => {
            let mut rows = Vec::new();
            crate::command::list::view(entry)
                .for_each_row(|position, value| rows.push((position, value.to_vec())));
            Content::List(rows)
        }
        Type::SortedSet => {
            let mut members = Vec::new();
            View::new(entry, heap).for_each(|member, score| members.push((member.to_vec(), score.to_bits())));
            Content::SortedSet(members)
        }
        _ => Content::Bytes(entry.bytes().to_vec()),
    };
    LogicalValue {
        type_name: kind.name(),
        expire_at_ms: entry.expire_at_ms(),
        generation,
        content,
    }
}

/// Equal for replicas that hold the same, and how many keys that is: the SHA-1-sized sum (exclusive or) of a SHA-256
/// of each key and its value, so that the order in which a replica has them does not matter. It walks all of the
/// shard at once.
pub fn digest(shard: &Shard) -> ([u8; 20], u64) {
    let (mut sum, mut keys) = ([0; 20], 0);
    for (db, table) in (0_u16..).zip(&shard.databases) {
        table.for_each(&shard.heap, |entry| {
            keys += 1;
            let value = logical(entry, &shard.heap);
            let mut hasher = Sha256::new();
            hasher.update(db.to_le_bytes());
            hasher.update((entry.key().len() as u64).to_le_bytes());
            hasher.update(entry.key());
            // Its lengths and quotes keep different values apart.
            hasher.update(format!("{value:?}"));
            for (all, one) in sum.iter_mut().zip(hasher.finalize()) {
                *all ^= one;
            }
        });
    }
    (sum, keys)
}

/// The first difference of two shards; panics with it, in few words where values are long.
#[cfg(test)]
#[track_caller]
pub fn assert_equal(found: &Shard, expected: &Shard) {
    let (found, expected) = (dump(found), dump(expected));
    if found == expected {
        return;
    }
    let keys: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
    for key in keys {
        let (one, other) = (found.get(key), expected.get(key));
        if one == other {
            continue;
        }
        let (one, other) = (format!("{one:?}"), format!("{other:?}"));
        let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let from = same.saturating_sub(60);
        let part = |text: &str| -> String { text.chars().skip(from).take(200).collect() };
        panic!(
            "database {} key {}: found ..{} but expected ..{}",
            key.0,
            String::from_utf8_lossy(&key.1),
            part(&one),
            part(&other)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::Db;
    use super::*;
    use crate::exec::Now;
    use crate::memory::Expiry;

    fn shard(seed: u64, pairs: &[(&str, &str)]) -> Shard {
        let mut shard = Shard::new(seed, seed + 1);
        for (key, value) in pairs {
            let mut db = Db {
                shard: &mut shard,
                index: 0,
                now: Now::default(),
                no_touch: true,
            };
            let key = db.key(key.as_bytes());
            db.put_string(key, value.as_bytes(), Expiry::Clear);
        }
        shard
    }

    #[test]
    fn replicas_that_hold_the_same_have_the_same_digest_whatever_their_seeds_and_order() {
        let one = digest(&shard(1, &[("a", "1"), ("b", "2")]));
        assert_eq!(one, digest(&shard(7, &[("b", "2"), ("a", "1")])));
        assert_eq!(one.1, 2);
        for other in [
            &[("a", "1")][..],
            &[("a", "1"), ("b", "3")],
            &[("a", "2"), ("b", "1")],
        ] {
            assert_ne!(one.0, digest(&shard(1, other)).0);
        }
    }
}
