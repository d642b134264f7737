//! The packed form: generation (8 bytes), number of members (2), then the members in order, each as
//! `size of the score (1), score, member` with the member as in `packed`.
//!
//! A score is the leading bytes of its big-endian form without trailing zero bytes: one or two bytes for the
//! small whole numbers that most scores are.

use std::ops::Range;

use crate::keyspace::collection::GENERATION_BYTES;
use crate::value::packed;

const HEAD_BYTES: usize = GENERATION_BYTES + 2;
/// More members than this are never packed, whatever the options say.
pub(super) const MEMBERS_MAX: usize = u16::MAX as usize;

/// One member and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    pub score: f64,
    pub member: &'a [u8],
    pub start: usize,
    pub end: usize,
}

/// Where a member stands (if it does) and where it is to stand with a new score.
pub(super) struct Place {
    pub old: Option<(usize, usize)>,
    pub new: usize,
}

pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        let start = self.at;
        let size = usize::from(*self.bytes.get(start)?).min(8);
        let mut score = [0u8; 8];
        score[..size].copy_from_slice(self.bytes.get(start + 1..start + 1 + size)?);
        let member = packed::elements(self.bytes, start + 1 + size).next()?;
        self.at = member.end;
        Some(Element {
            score: f64::from_be_bytes(score),
            member: member.bytes,
            start,
            end: member.end,
        })
    }
}

pub(super) fn elements(bytes: &[u8]) -> Elements<'_> {
    Elements {
        bytes,
        at: HEAD_BYTES,
    }
}

pub(super) fn len(bytes: &[u8]) -> usize {
    match bytes.get(GENERATION_BYTES..HEAD_BYTES) {
        Some(&[low, high]) => usize::from(u16::from_le_bytes([low, high])),
        _ => 0,
    }
}

/// Writes an empty sorted set.
pub(super) fn begin(generation: u64, buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.extend_from_slice(&generation.to_le_bytes());
    buffer.extend_from_slice(&[0, 0]);
}

/// Appends a member that comes after all that are there.
pub(super) fn push(buffer: &mut Vec<u8>, score: f64, member: &[u8]) {
    write(buffer, score, member);
    let len = len(buffer) + 1;
    set_len(buffer, len);
}

fn write(buffer: &mut Vec<u8>, score: f64, member: &[u8]) {
    let score = super::without_sign_of_zero(score).to_be_bytes();
    let size = 8 - score.iter().rev().take_while(|byte| **byte == 0).count();
    buffer.push(size as u8);
    buffer.extend_from_slice(&score[..size]);
    packed::push(buffer, member);
}

fn set_len(buffer: &mut [u8], len: usize) {
    if let Some(head) = buffer.get_mut(GENERATION_BYTES..HEAD_BYTES) {
        head.copy_from_slice(&(len as u16).to_le_bytes());
    }
}

pub(super) fn find<'a>(bytes: &'a [u8], member: &[u8]) -> Option<Element<'a>> {
    elements(bytes).find(|element| element.member == member)
}

/// One walk that finds both the member and its place under `score`.
pub(super) fn place(bytes: &[u8], score: f64, member: &[u8]) -> Place {
    let mut place = Place {
        old: None,
        new: bytes.len(),
    };
    let mut is_placed = false;
    for element in elements(bytes) {
        if element.member == member {
            place.old = Some((element.start, element.end));
            if is_placed {
                break;
            }
        } else if !is_placed && (element.score > score || element.score == score && element.member > member) {
            place.new = element.start;
            is_placed = true;
            if place.old.is_some() {
                break;
            }
        }
    }
    place
}

/// Writes `bytes` with the member put where it belongs to `out`.
pub(super) fn put(bytes: &[u8], score: f64, member: &[u8], out: &mut Vec<u8>) {
    let Place { old, new } = place(bytes, score, member);
    let (gone_from, gone_to) = old.unwrap_or((bytes.len(), bytes.len()));
    out.clear();
    if new <= gone_from {
        out.extend_from_slice(&bytes[..new]);
        write(out, score, member);
        out.extend_from_slice(&bytes[new..gone_from]);
        out.extend_from_slice(&bytes[gone_to..]);
    } else {
        out.extend_from_slice(&bytes[..gone_from]);
        out.extend_from_slice(&bytes[gone_to..new]);
        write(out, score, member);
        out.extend_from_slice(&bytes[new..]);
    }
    set_len(out, len(bytes) + usize::from(old.is_none()));
}

/// Writes `bytes` without `count` members from `rank` on to `out`.
pub(super) fn cut(bytes: &[u8], rank: usize, count: usize, out: &mut Vec<u8>) {
    let mut walk = elements(bytes);
    let from = match rank {
        0 => HEAD_BYTES.min(bytes.len()),
        _ => walk.nth(rank - 1).map_or(bytes.len(), |element| element.end),
    };
    let to = match count {
        0 => from,
        _ => walk.nth(count - 1).map_or(bytes.len(), |element| element.end),
    };
    without(bytes, from..to, count, out);
}

/// Writes `bytes` without the `count` members that stand in `range` to `out`.
pub(super) fn without(bytes: &[u8], range: Range<usize>, count: usize, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&bytes[..range.start]);
    out.extend_from_slice(&bytes[range.end..]);
    set_len(out, len(bytes).saturating_sub(count));
}
