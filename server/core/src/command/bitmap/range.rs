//! `BITCOUNT` and `BITPOS`: over a string or a part of it, counted in bytes or bits.

use std::ops::RangeInclusive;

use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::text::fold;
use crate::text::number::parse_i64;
use crate::value::bits;

const BAD_BIT: Error = Error::new("ERR The bit argument must be 1 or 0.");

/// The part that is asked for. Without an end it is the end of the string.
struct Part {
    start: i64,
    end: Option<i64>,
    in_bits: bool,
}

impl Part {
    /// Reads `[start [end [BYTE | BIT]]]` from word `at` to the end of the line.
    fn parse(args: Args<'_>, at: usize) -> Result<Self, Error> {
        if args.len() > at + 3 {
            return Err(SYNTAX);
        }
        let integer = |word| parse_i64(word).ok_or(NOT_AN_INTEGER);
        let start = args.try_get(at).map_or(Ok(0), integer)?;
        // The unit is checked before the end.
        let in_bits = match args.try_get(at + 2) {
            None => false,
            Some(word) if fold::is(word, "BIT") => true,
            Some(word) if fold::is(word, "BYTE") => false,
            Some(_) => return Err(SYNTAX),
        };
        let end = args.try_get(at + 1).map(integer).transpose()?;
        Ok(Self { start, end, in_bits })
    }

    /// The bits of a string of that many bytes; `None` where nothing is asked for.
    fn bits(&self, bytes: usize) -> Option<RangeInclusive<u64>> {
        let unit_bits = if self.in_bits { 1 } else { 8 };
        let len = (bytes * 8) as i64 / unit_bits;
        let from_front = |index: i64| if index < 0 { (len + index).max(0) } else { index };
        let start = from_front(self.start);
        let end = from_front(self.end.unwrap_or(len - 1)).min(len - 1);
        if start > end || bytes == 0 {
            return None;
        }
        let last = (end + 1) * unit_bits - 1;
        Some((start * unit_bits) as u64..=last as u64)
    }
}

pub(super) fn bitcount(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let part = Part::parse(args, 2)?;
    let bytes = x.db.string(key)?.unwrap_or(b"");
    // Both ends before the string are cut to its first byte, unless they are the wrong way round.
    let reversed = part
        .end
        .is_some_and(|end| part.start < 0 && end < 0 && part.start > end);
    let count = match part.bits(bytes.len()) {
        Some(range) if !reversed => bits::count_range(bytes, range),
        _ => 0,
    };
    x.reply.integer(count as i64);
    Ok(())
}

pub(super) fn bitpos(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let value = match parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)? {
        0 => false,
        1 => true,
        _ => return Err(BAD_BIT.into()),
    };
    let part = Part::parse(args, 3)?;
    let position = match x.db.string(key)? {
        // Nothing at all is endless zeros.
        None => (!value).then_some(0),
        Some(bytes) => part.bits(bytes.len()).and_then(|range| {
            // So is what follows the string, if no end was given.
            let after = (!value && part.end.is_none()).then_some(bytes.len() as u64 * 8);
            bits::find(bytes, value, range).or(after)
        }),
    };
    x.reply.integer(position.map_or(-1, |at| at as i64));
    Ok(())
}
