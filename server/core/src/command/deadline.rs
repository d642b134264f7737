//! The expiry options that many commands share: `EX s | PX ms | EXAT s | PXAT ms`.

use crate::error::{Error, NOT_AN_INTEGER};
use crate::exec::Now;
use crate::text::fold;
use crate::text::number::parse_i64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Seconds,
    Milliseconds,
    AtSeconds,
    AtMilliseconds,
}

impl Unit {
    /// The unit that the option word names.
    pub fn of(word: &[u8]) -> Option<Self> {
        match word.len() {
            2 if fold::is(word, "EX") => Some(Self::Seconds),
            2 if fold::is(word, "PX") => Some(Self::Milliseconds),
            4 if fold::is(word, "EXAT") => Some(Self::AtSeconds),
            4 if fold::is(word, "PXAT") => Some(Self::AtMilliseconds),
            _ => None,
        }
    }

    /// The moment in Unix milliseconds, of an argument that must be above zero. `command` is named in the
    /// error.
    pub fn deadline(self, argument: &[u8], now: Now, command: &str) -> Result<u64, Error> {
        let amount = parse_i64(argument).ok_or(NOT_AN_INTEGER)?;
        if amount <= 0 {
            return Err(Error::invalid_expire(command));
        }
        self.moment(amount, now)
            .ok_or_else(|| Error::invalid_expire(command))
    }

    /// The moment in Unix milliseconds (never below zero); `None` beyond what 63 bits of milliseconds hold.
    pub fn moment(self, amount: i64, now: Now) -> Option<u64> {
        let base = match self {
            Self::Seconds | Self::Milliseconds => now.ms() as i64,
            Self::AtSeconds | Self::AtMilliseconds => 0,
        };
        let ms = match self {
            Self::Seconds | Self::AtSeconds => amount.checked_mul(1000)?,
            Self::Milliseconds | Self::AtMilliseconds => amount,
        };
        Some(ms.checked_add(base)?.max(0) as u64)
    }
}
