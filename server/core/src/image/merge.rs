//! Rows that are changed in part: operands, which need not know the row, and what they make of it.
//!
//! An operand is a series of steps: `1 time` sets the expiry, `2` clears it, `3 offset length bytes` replaces
//! bytes of a string, which grows with zeros. Operands are joined by writing one after the other.

use super::Unreadable;
use super::row::{Bytes, KeyValue, push_expiry};
use crate::effect::Effect;
use crate::keyspace::{Type, kind};

const SET_EXPIRY: u8 = 1;
const CLEAR_EXPIRY: u8 = 2;
const PATCH: u8 = 3;

/// No string grows beyond this, whatever the bytes of a row say.
const LEN_MAX: u64 = 1 << 40;

/// What operands make of a row that is not there, or that they do not fit: something that no load takes.
/// A store that cannot merge must not stop, since rows that were emptied away are no fault.
pub const ORPHAN: u8 = 0x7F;

/// The value of a row after operands in their order, whatever it was.
pub fn merge_or_orphan<'o>(value: Option<&[u8]>, operands: impl Iterator<Item = &'o [u8]>) -> Vec<u8> {
    let merged = value
        .ok_or(Unreadable::Orphan)
        .and_then(|value| merge(value, operands));
    merged.unwrap_or_else(|_| vec![ORPHAN])
}

/// Adds the step of an effect that changes a row in part; `false` if it is no such effect.
pub fn push_operand(out: &mut Vec<u8>, effect: &Effect<'_>) -> bool {
    match *effect {
        Effect::Expire { at: Some(at), .. } => {
            out.push(SET_EXPIRY);
            push_expiry(out, at);
        }
        Effect::Expire { at: None, .. } => out.push(CLEAR_EXPIRY),
        Effect::Patch { offset, bytes, .. } => {
            out.push(PATCH);
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        _ => return false,
    }
    true
}

/// The value of a row after operands in their order.
pub fn merge<'o>(value: &[u8], operands: impl Iterator<Item = &'o [u8]>) -> Result<Vec<u8>, Unreadable> {
    let value = KeyValue::parse(value)?;
    if value.kind == ORPHAN {
        return Err(Unreadable::Orphan);
    }
    let (mut kind, mut expire_at) = (value.kind, value.expire_at);
    let mut body = value.body.to_vec();
    for operand in operands {
        let mut steps = Bytes(operand);
        while !steps.0.is_empty() {
            match steps.byte()? {
                SET_EXPIRY => expire_at = Some(steps.expiry()?),
                CLEAR_EXPIRY => expire_at = None,
                PATCH => {
                    patch(&mut steps, &mut body, kind)?;
                    kind = kind::STRING_RAW;
                }
                _ => return Err(Unreadable::Operand),
            }
        }
    }
    let mut out = Vec::with_capacity(body.len() + 8);
    KeyValue {
        kind,
        expire_at,
        body: &body,
    }
    .write(&mut out);
    Ok(out)
}

fn patch(steps: &mut Bytes<'_>, body: &mut Vec<u8>, kind: u8) -> Result<(), Unreadable> {
    let offset = u64::from_le_bytes(steps.array()?);
    let len = u64::from_le_bytes(steps.array()?);
    let bytes = steps.take(usize::try_from(len).map_err(|_| Unreadable::Short)?)?;
    let end = offset.checked_add(len).filter(|end| *end <= LEN_MAX);
    let end = end.ok_or(Unreadable::Operand)? as usize;
    if Type::of(kind) != Type::String {
        return Err(Unreadable::Operand);
    }
    if body.len() < end {
        body.resize(end, 0);
    }
    body[offset as usize..end].copy_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operand(effects: &[Effect<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        for effect in effects {
            assert!(push_operand(&mut out, effect));
        }
        out
    }

    fn row(kind: u8, expire_at: Option<u64>, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        KeyValue {
            kind,
            expire_at,
            body,
        }
        .write(&mut out);
        out
    }

    const KEY: &[u8] = b"k";

    fn patch(offset: u64, bytes: &[u8]) -> Effect<'_> {
        Effect::Patch {
            key: KEY,
            offset,
            bytes,
        }
    }

    #[test]
    fn steps_are_taken_in_order_however_they_are_joined() {
        let expire = |at| Effect::Expire { key: KEY, at };
        let steps = [
            patch(1, b"XY"),
            expire(Some(5)),
            patch(6, b"!"),
            expire(None),
            expire(Some(9)),
        ];
        let expected = row(kind::STRING_RAW, Some(9), b"aXYd\0\0!");
        let start = row(kind::STRING, None, b"abcd");
        for split in 0..=steps.len() {
            let (one, other) = (operand(&steps[..split]), operand(&steps[split..]));
            let apart = merge(&start, [one.as_slice(), &other].into_iter());
            assert_eq!(apart.as_deref(), Ok(expected.as_slice()));
            let joined = [one, other].concat();
            assert_eq!(
                merge(&start, [joined.as_slice()].into_iter()).as_deref(),
                Ok(expected.as_slice())
            );
        }
    }

    #[test]
    fn what_cannot_be_merged_is_refused() {
        let string = row(kind::STRING, None, b"abcd");
        let hash = row(kind::HASH, None, &7u64.to_le_bytes());
        let ours = operand(&[patch(0, b"x")]);
        assert_eq!(
            merge(&hash, [ours.as_slice()].into_iter()),
            Err(Unreadable::Operand)
        );
        let far = operand(&[patch(u64::MAX, b"x")]);
        assert_eq!(
            merge(&string, [far.as_slice()].into_iter()),
            Err(Unreadable::Operand)
        );
        for cut in 1..ours.len() {
            assert!(
                merge(&string, [&ours[..cut]].into_iter()).is_err(),
                "cut at {cut}"
            );
        }
        assert_eq!(merge(b"", [ours.as_slice()].into_iter()), Err(Unreadable::Short));
        let orphan = merge_or_orphan(None, [ours.as_slice()].into_iter());
        assert_eq!(orphan, [ORPHAN]);
        assert_eq!(
            merge_or_orphan(Some(&orphan), [ours.as_slice()].into_iter()),
            [ORPHAN]
        );
    }
}
