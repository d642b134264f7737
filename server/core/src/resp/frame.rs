//! Where a reply ends: for those who pass replies on or count them and need not know what is in them.
//!
//! Invariant: every byte is looked at once, however small the pieces; nothing is allocated. A reply is a
//! number of values to come, and each value read takes one off and adds its elements: nesting needs no stack.

use crate::text::number::parse_i64;

/// The longest line of a reply: a type byte and a number, or a text that no server makes longer.
const LINE_MAX: usize = 1024 * 1024;

/// Why bytes are not a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    #[error("a reply cannot begin with byte {0:#04x}")]
    UnknownType(u8),
    #[error("a length in a reply is not a number")]
    Length,
    #[error("a line of a reply does not end")]
    LongLine,
    #[error("a line or a string of a reply does not end in CR LF")]
    Ending,
    #[error("a reply is nested too deeply")]
    Depth,
    #[error("a value of a reply is not of the type that it claims")]
    Malformed,
}

/// What a line of a reply says of what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    /// The line is the value.
    Nothing,
    /// A string of this many bytes and CR LF.
    Bytes(usize),
    /// This many values.
    Values(usize),
}

/// One line of a reply: its type, what stands behind the type byte, what follows, and where.
pub(super) struct Line<'b> {
    pub tag: u8,
    pub text: &'b [u8],
    pub follows: Follows,
    pub next: usize,
}

/// Reads the line at `at`; `Ok(None)` if it is not all there. `scanned` bytes of it are known to hold no CR.
pub(super) fn line<'b>(
    bytes: &'b [u8],
    at: usize,
    scanned: &mut usize,
) -> Result<Option<Line<'b>>, ReplyError> {
    let Some((&tag, rest)) = bytes.get(at..).and_then(<[u8]>::split_first) else {
        return Ok(None);
    };
    if !b"+-:$*_,#!=(%~>|".contains(&tag) {
        return Err(ReplyError::UnknownType(tag));
    }
    let found = rest[*scanned..].iter().position(|byte| *byte == b'\r');
    *scanned += found.unwrap_or(rest.len() - *scanned);
    if *scanned > LINE_MAX {
        return Err(ReplyError::LongLine);
    }
    let ending = rest.get(*scanned + 1);
    if found.is_none() || ending.is_none() {
        return Ok(None);
    }
    if ending != Some(&b'\n') {
        return Err(ReplyError::Ending);
    }
    let text = &rest[..*scanned];
    let follows = match tag {
        b'$' | b'!' | b'=' => length(text, tag == b'$', 1)?.map_or(Follows::Nothing, Follows::Bytes),
        b'*' => length(text, true, 1)?.map_or(Follows::Nothing, Follows::Values),
        b'~' | b'>' => length(text, false, 1)?.map_or(Follows::Nothing, Follows::Values),
        b'%' | b'|' => length(text, false, 2)?.map_or(Follows::Nothing, Follows::Values),
        _ => Follows::Nothing,
    };
    let next = at + 1 + *scanned + 2;
    *scanned = 0;
    Ok(Some(Line {
        tag,
        text,
        follows,
        next,
    }))
}

/// A length times `factor`; `None` is RESP2's null, where that may stand.
fn length(text: &[u8], nullable: bool, factor: usize) -> Result<Option<usize>, ReplyError> {
    match parse_i64(text) {
        Some(-1) if nullable => Ok(None),
        Some(len @ 0..=0xffff_ffff) => Ok(Some(len as usize * factor)),
        _ => Err(ReplyError::Length),
    }
}

/// Finds the ends of replies in a stream.
#[derive(Clone, Debug)]
pub struct Frames {
    /// The next byte to look at, from the reply's first.
    at: usize,
    /// How many bytes of the line there are known to hold no CR.
    scanned: usize,
    /// Values to come.
    pending: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            at: 0,
            scanned: 0,
            pending: 1,
        }
    }
}

impl Frames {
    /// The length of the reply that `bytes` begins with, once it is all there. Until then call again with the
    /// same bytes and more; afterwards with what follows.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Option<usize>, ReplyError> {
        while self.pending > 0 {
            let mut scanned = self.scanned;
            let line = line(bytes, self.at, &mut scanned)?;
            let Some(line) = line else {
                self.scanned = scanned;
                return Ok(None);
            };
            let mut next = line.next;
            let mut elements = 0;
            match line.follows {
                Follows::Nothing => {}
                Follows::Values(count) => elements = count,
                Follows::Bytes(len) => {
                    next += len;
                    match bytes.get(next..next + 2) {
                        None => {
                            self.scanned = line.next - self.at - 3;
                            return Ok(None);
                        }
                        Some(b"\r\n") => next += 2,
                        Some(_) => return Err(ReplyError::Ending),
                    }
                }
            }
            // What an attribute describes comes behind it, so it counts as none itself.
            let whole = usize::from(line.tag != b'|');
            self.pending = (self.pending - whole)
                .checked_add(elements)
                .ok_or(ReplyError::Length)?;
            self.at = next;
            self.scanned = 0;
        }
        let len = self.at;
        *self = Self::default();
        Ok(Some(len))
    }
}

/// How many commands the whole replies in `bytes` answer: what is pushed answers none.
pub fn count_replies(bytes: &[u8]) -> usize {
    let (mut frames, mut at, mut count) = (Frames::default(), 0, 0);
    while let Ok(Some(len)) = frames.next(&bytes[at..]) {
        count += usize::from(bytes[at] != b'>');
        at += len;
    }
    count
}
