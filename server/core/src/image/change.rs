//! Which rows an effect touches, and what it leaves there.

use super::row::{self, DatabaseId};
use crate::effect::Effect;
use crate::memory::KeyHash;

/// What becomes of the row of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The whole row is told anew, or goes: what was told of it before does not count any more.
    Whole,
    /// Some of the value's bytes.
    Bytes,
    /// The expiry; only the last one counts.
    Expiry,
}

/// What an effect does to rows, without their content.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change<'a> {
    Key {
        key: &'a [u8],
        part: Part,
        /// The row was absent before.
        created: bool,
        /// The row is there afterwards. Where an effect touches two rows, the first goes and the second stays.
        stays: bool,
    },
    Element {
        generation: u64,
        order: u64,
        /// What tells elements of the same order apart: a field or a member.
        rest: &'a [u8],
        /// The same of a list.
        fraction: u64,
        created: bool,
        stays: bool,
    },
    /// All elements of a generation go. Nothing is told of it any more.
    Drop {
        generation: u64,
    },
    Exchange {
        with: u16,
    },
    /// The database goes whole, keys and elements.
    Empty,
    Fence {
        fence: u64,
    },
    /// A generation was given to a collection.
    Generation {
        generation: u64,
    },
    /// The database has so many keys more or fewer.
    Keys {
        by: i64,
    },
}

/// Visits what the effect does, in order.
#[inline]
pub fn changes<'a>(effect: &Effect<'a>, hash: &KeyHash, visit: &mut impl FnMut(Change<'a>)) {
    match *effect {
        Effect::Put { key, created, .. } => {
            visit(whole(key, created, true));
            if created {
                visit(Change::Keys { by: 1 });
            }
        }
        Effect::Patch { key, .. } => visit(in_part(key, Part::Bytes)),
        Effect::Expire { key, .. } => visit(in_part(key, Part::Expiry)),
        Effect::Delete { key, generation } => {
            visit(whole(key, false, false));
            visit(Change::Keys { by: -1 });
            if let Some(generation) = generation {
                visit(Change::Drop { generation });
            }
        }
        Effect::Create { key, generation, .. } => {
            visit(whole(key, true, true));
            visit(Change::Keys { by: 1 });
            visit(Change::Generation { generation });
        }
        Effect::Rename { from, to, .. } => {
            visit(whole(from, false, false));
            visit(whole(to, true, true));
        }
        Effect::Swap { with } => visit(Change::Exchange { with }),
        Effect::Flush => visit(Change::Empty),
        Effect::Fence { fence } => visit(Change::Fence { fence }),
        _ => element(effect, hash, visit),
    }
}

#[inline]
fn whole(key: &[u8], created: bool, stays: bool) -> Change<'_> {
    Change::Key {
        key,
        part: Part::Whole,
        created,
        stays,
    }
}

fn in_part(key: &[u8], part: Part) -> Change<'_> {
    Change::Key {
        key,
        part,
        created: false,
        stays: true,
    }
}

#[inline]
fn element<'a>(effect: &Effect<'a>, hash: &KeyHash, visit: &mut impl FnMut(Change<'a>)) {
    let Some(place) = place_of(effect, hash) else {
        return;
    };
    let (created, stays) = match *effect {
        Effect::HashPut { created, .. }
        | Effect::ScorePut { created, .. }
        | Effect::ListPut { created, .. } => (created, true),
        Effect::SetAdd { .. } => (true, true),
        _ => (false, false),
    };
    visit(Change::Element {
        generation: place.generation,
        order: place.order,
        rest: place.rest,
        fraction: place.fraction,
        created,
        stays,
    });
}

/// Where the row of an element stands.
struct Place<'a> {
    generation: u64,
    order: u64,
    rest: &'a [u8],
    fraction: u64,
}

#[inline]
fn place_of<'a>(effect: &Effect<'a>, hash: &KeyHash) -> Option<Place<'a>> {
    match *effect {
        Effect::HashPut {
            generation,
            field: rest,
            ..
        }
        | Effect::HashDelete {
            generation,
            field: rest,
            ..
        }
        | Effect::SetAdd {
            generation,
            member: rest,
            ..
        }
        | Effect::SetDelete {
            generation,
            member: rest,
            ..
        }
        | Effect::ScorePut {
            generation,
            member: rest,
            ..
        }
        | Effect::ScoreDelete {
            generation,
            member: rest,
            ..
        } => Some(Place {
            generation,
            order: hash.of(rest),
            rest,
            fraction: 0,
        }),
        Effect::ListPut {
            generation, position, ..
        }
        | Effect::ListDelete {
            generation, position, ..
        } => Some(Place {
            generation,
            order: position.whole,
            rest: b"",
            fraction: position.fraction,
        }),
        _ => None,
    }
}

/// Writes the key of the element's row.
pub fn write_element_key(
    out: &mut Vec<u8>,
    database: DatabaseId,
    effect: &Effect<'_>,
    hash: &KeyHash,
) -> Option<()> {
    let place = place_of(effect, hash)?;
    // Nothing stands for a fraction of zero, which comes first.
    let fraction = place.fraction.to_be_bytes();
    let rest = if place.fraction == 0 {
        place.rest
    } else {
        &fraction
    };
    row::key_of_element(out, database, place.generation, place.order, rest);
    Some(())
}

/// Writes the value of the element's row; `false` if the row goes.
pub fn write_element_value(out: &mut Vec<u8>, effect: &Effect<'_>) -> bool {
    out.clear();
    match *effect {
        Effect::HashPut { value, expire_at, .. } => row::write_field(out, value, expire_at),
        Effect::SetAdd { .. } => {}
        Effect::ScorePut { score, .. } => out.extend_from_slice(&score.to_bits().to_le_bytes()),
        Effect::ListPut { value, .. } => out.extend_from_slice(value),
        _ => return false,
    }
    true
}

/// The key whose row the effect touches; `stays` as in [`Change::Key`].
pub fn key_of<'a>(effect: &Effect<'a>, stays: bool) -> Option<&'a [u8]> {
    match *effect {
        Effect::Put { key, .. }
        | Effect::Patch { key, .. }
        | Effect::Expire { key, .. }
        | Effect::Delete { key, .. }
        | Effect::Create { key, .. } => Some(key),
        Effect::Rename { from, to, .. } => Some(if stays { to } else { from }),
        _ => None,
    }
}

/// Writes the value that an effect on the whole row leaves; `false` if the row goes.
pub fn write_key_value(out: &mut Vec<u8>, effect: &Effect<'_>, stays: bool) -> bool {
    match *effect {
        Effect::Put {
            kind,
            value: body,
            expire_at,
            ..
        } => row::KeyValue {
            kind,
            expire_at,
            body,
        }
        .write(out),
        Effect::Create { kind, generation, .. } => write_header(out, kind, generation, None),
        Effect::Rename {
            kind,
            generation,
            expire_at,
            ..
        } if stays => write_header(out, kind, generation, expire_at),
        _ => return false,
    }
    true
}

fn write_header(out: &mut Vec<u8>, kind: u8, generation: u64, expire_at: Option<u64>) {
    row::KeyValue {
        kind,
        expire_at,
        body: &generation.to_le_bytes(),
    }
    .write(out);
}
