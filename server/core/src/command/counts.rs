//! Counts of random picks: `HRANDFIELD`, `SRANDMEMBER`, `ZRANDMEMBER`.

use crate::error::{Error, NOT_AN_INTEGER};
use crate::text::number::parse_i64;

const COUNT_RANGE: Error =
    Error::new("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
/// What cannot be answered in one reply.
const TOO_MANY: Error = Error::new("ERR value is out of range");

/// More picks with repetition than this are refused: the reply would not fit in memory. Valkey would begin to
/// build it and die.
const REPEATED_MAX: u64 = 1 << 27;

/// How many to pick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Picks {
    /// At most so many, each once.
    Distinct(u64),
    /// Exactly so many, with repetition.
    Repeated(u64),
}

/// `paired`: each pick takes two elements of the reply, which halves the range.
pub fn picks(argument: &[u8], paired: bool) -> Result<Picks, Error> {
    let count = parse_i64(argument).ok_or(NOT_AN_INTEGER)?;
    if count == i64::MIN {
        return Err(COUNT_RANGE);
    }
    if paired && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(TOO_MANY);
    }
    match u64::try_from(count) {
        Ok(count) => Ok(Picks::Distinct(count)),
        Err(_) if count.unsigned_abs() > REPEATED_MAX => Err(TOO_MANY),
        Err(_) => Ok(Picks::Repeated(count.unsigned_abs())),
    }
}
