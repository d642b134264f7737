//! How the commands of this family reach a list: to read it where it stands, and to change it, packed or
//! boxed, with the effects of each change.

use crate::effect::{Effect, Effects, ListPosition};
use crate::error::{Error, WRONG_TYPE};
use crate::keyspace::{Collection, Db, Key, Type, kind};
use crate::memory::{Entry, Expiry, NewValue, Value};
use crate::value::list::{Fill, List, Packed, Sink, View};

/// What a shard keeps for its lists between commands, so that changing a small one allocates nothing.
#[derive(Default)]
pub struct ListScratch {
    list: List,
    packed: Vec<u8>,
    /// An element on its way from one list to another.
    pub(super) moved: Vec<u8>,
}

/// The list in an entry of type list.
pub fn view<'a>(entry: Entry<'a, Collection>) -> View<'a> {
    match entry.value() {
        Value::Boxed(Collection::List(list)) => View::Boxed(list),
        Value::Boxed(_) => View::Packed(Packed::new(&[])),
        Value::Bytes(bytes) => View::Packed(Packed::new(bytes)),
    }
}

/// The list at a key for reading.
#[inline]
pub(super) fn read<'d>(db: &'d mut Db<'_>, key: Key<'_>) -> Result<Option<View<'d>>, Error> {
    Ok(db.find_type(key, Type::List)?.map(|slot| view(slot.into_entry())))
}

/// Whether the key holds a list that could be popped from, without marking it as used.
pub(super) fn is_list(db: &mut Db<'_>, key: Key<'_>) -> Result<bool, Error> {
    Ok(db.find_write_type(key, Type::List)?.is_some())
}

/// The rows of one list: turns its changes into effects.
pub(super) struct Rows<'e> {
    effects: &'e mut Effects,
    db: u16,
    key: &'e [u8],
    generation: u64,
    pub(super) fill: Fill,
    changed: bool,
    /// All elements go: the key is deleted as a whole, the list is left as it is.
    pub(super) all_gone: bool,
}

impl Sink for Rows<'_> {
    #[inline]
    fn on(&self) -> bool {
        self.effects.on()
    }

    #[inline]
    fn put(&mut self, position: ListPosition, value: &[u8], created: bool) {
        self.changed = true;
        if self.effects.on() {
            let (key, generation) = (self.key, self.generation);
            self.effects.push(
                self.db,
                &Effect::ListPut {
                    key,
                    generation,
                    position,
                    value,
                    created,
                },
            );
        }
    }

    #[inline]
    fn delete(&mut self, position: ListPosition) {
        self.changed = true;
        if self.effects.on() {
            let (key, generation) = (self.key, self.generation);
            self.effects.push(
                self.db,
                &Effect::ListDelete {
                    key,
                    generation,
                    position,
                },
            );
        }
    }
}

impl Rows<'_> {
    /// Removes up to `count` elements from an end.
    pub(super) fn drop_end(&mut self, list: &mut List, count: usize, back: bool) {
        if count >= list.len() {
            self.all_gone = true;
        } else if count == 1 {
            list.pop(back, self);
        } else if count > 0 {
            self.changed = true;
            list.drop_end(count, back, self);
        }
    }
}

/// What a change came to.
pub(super) struct Edited<R> {
    pub(super) result: R,
    /// The list lost its last element and the key was deleted. The caller tells the events.
    pub(super) deleted: bool,
}

/// Changes the list at a key; `None` if there is none. Effects and touch are seen to here, events are not.
pub(super) fn edit<R>(
    db: &mut Db<'_>,
    key: Key<'_>,
    change: impl FnOnce(&mut List, &mut Rows<'_>) -> R,
) -> Result<Option<Edited<R>>, Error> {
    if !db.is_live(key) {
        return Ok(None);
    }
    let (index, shard) = (db.index, &mut *db.shard);
    let fill = Fill::new(shard.limits.list_max_listpack_size);
    let table = &mut shard.databases[index as usize];
    let Some(mut slot) = table.get_mut(&mut shard.heap, key.hash, key.bytes) else {
        return Ok(None);
    };
    if Type::of(slot.kind()) != Type::List {
        return Err(WRONG_TYPE);
    }
    let scratch = &mut shard.lists;
    let mut rows = Rows {
        effects: &mut shard.effects,
        db: index,
        key: key.bytes,
        generation: 0,
        fill,
        changed: false,
        all_gone: false,
    };
    let mut replaced = None;
    let (result, gone, len_before, len);
    if let Some((Collection::List(list), _)) = slot.boxed() {
        rows.generation = list.generation();
        len_before = list.len();
        result = change(list, &mut rows);
        len = list.len();
        gone = rows.all_gone || list.is_empty();
        if !gone && rows.changed && list.fits_packed(false) {
            list.store(&mut scratch.packed);
            replaced = slot.set_bytes(&scratch.packed);
        }
    } else {
        Packed::new(slot.entry().bytes()).load(&mut scratch.list);
        rows.generation = scratch.list.generation();
        len_before = scratch.list.len();
        result = change(&mut scratch.list, &mut rows);
        len = scratch.list.len();
        gone = rows.all_gone || scratch.list.is_empty();
        if gone || !rows.changed {
        } else if scratch.list.fits_packed(true) {
            scratch.list.store(&mut scratch.packed);
            slot.set_bytes(&scratch.packed);
        } else {
            slot.set_boxed(Box::new(Collection::List(std::mem::take(&mut scratch.list))));
        }
    }
    let changed = rows.changed;
    if let Some(old) = replaced {
        shard.bury(old);
    }
    let before = db.shard.stats.changes;
    if gone {
        db.delete(key);
        db.recount(before, len_before);
    } else if changed {
        db.touch(key);
        // What came or went; one that was changed or moved in its place.
        db.recount(before, len.abs_diff(len_before).max(1));
    }
    Ok(Some(Edited {
        result,
        deleted: gone,
    }))
}

/// Changes the list at a key, a new one if there is none. The change must leave something in it.
pub(super) fn edit_or_create<R>(
    db: &mut Db<'_>,
    key: Key<'_>,
    change: impl Fn(&mut List, &mut Rows<'_>) -> R,
) -> Result<R, Error> {
    if let Some(edited) = edit(db, key, &change)? {
        return Ok(edited.result);
    }
    let generation = db.shard.next_generation();
    db.emit(Effect::Create {
        key: key.bytes,
        kind: kind::LIST,
        generation,
    });
    let mut scratch = std::mem::take(&mut db.shard.lists);
    scratch.list.clear();
    scratch.list.set_generation(generation);
    let mut rows = Rows {
        effects: &mut db.shard.effects,
        db: db.index,
        key: key.bytes,
        generation,
        fill: Fill::new(db.shard.limits.list_max_listpack_size),
        changed: false,
        all_gone: false,
    };
    let result = change(&mut scratch.list, &mut rows);
    let (before, len) = (db.shard.stats.changes, scratch.list.len());
    if scratch.list.fits_packed(true) {
        scratch.list.store(&mut scratch.packed);
        db.put(key, kind::LIST, NewValue::Bytes(&scratch.packed), Expiry::Clear);
    } else {
        let list = std::mem::take(&mut scratch.list);
        db.put(
            key,
            kind::LIST,
            NewValue::Boxed(Box::new(Collection::List(list))),
            Expiry::Clear,
        );
    }
    db.shard.lists = scratch;
    db.touch(key);
    db.recount(before, len);
    Ok(result)
}

/// Changes the list at a key as a follower does: without effects and touch, and an emptied list stays, since
/// what follows may fill it. `None` if there is no list.
pub fn change<R>(db: &mut Db<'_>, key: Key<'_>, change: impl FnOnce(&mut List, Fill) -> R) -> Option<R> {
    let shard = &mut *db.shard;
    let fill = Fill::new(shard.limits.list_max_listpack_size);
    let table = &mut shard.databases[db.index as usize];
    let mut slot = table.get_mut(&mut shard.heap, key.hash, key.bytes)?;
    let scratch = &mut shard.lists;
    if let Some((Collection::List(list), _)) = slot.boxed() {
        let result = change(list, fill);
        if list.fits_packed(false) {
            list.store(&mut scratch.packed);
            if let Some(old) = slot.set_bytes(&scratch.packed) {
                shard.bury(old);
            }
        }
        return Some(result);
    }
    Packed::new(slot.entry().bytes()).load(&mut scratch.list);
    let result = change(&mut scratch.list, fill);
    if scratch.list.fits_packed(true) {
        scratch.list.store(&mut scratch.packed);
        slot.set_bytes(&scratch.packed);
    } else {
        slot.set_boxed(Box::new(Collection::List(std::mem::take(&mut scratch.list))));
    }
    Some(result)
}

/// Stores these values as a list at the key in place of whatever was there (`SORT … STORE`). There must be
/// at least one.
pub fn store<'v>(
    db: &mut Db<'_>,
    key: Key<'_>,
    values: impl Iterator<Item = &'v [u8]> + Clone,
) -> Result<usize, Error> {
    db.tell_replaced(key);
    db.remove(key);
    edit_or_create(db, key, |list, rows| {
        let fill = rows.fill;
        for value in values.clone() {
            list.before_adding(fill, value.len(), 1);
            list.push(true, value, fill, rows);
        }
        list.len()
    })
}
