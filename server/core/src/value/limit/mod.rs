//! The records of `LIMIT`: a token bucket or a fixed window, and what a call does to them.
//!
//! Pure arithmetic on integers, exact: time is in ticks of which a whole number makes a microsecond, products
//! are taken in 128 bits, and [`NUMBER_MAX`] keeps every one of them in range. A record's bytes are of one
//! length for its form, so that a charge rewrites them in place. Does not know keys, commands or replies.

mod bucket;
#[cfg(test)]
mod tests;
mod window;

pub use bucket::{Bucket, Rate};
pub use window::{Quota, Window};

use crate::exec::Now;
use crate::memory::EXPIRE_AT_MS_MAX;

/// No number that a client gives is above this: 2^53, which every client's number type holds.
pub const NUMBER_MAX: u64 = 1 << 53;

const VERSION: u8 = 1;
const BUCKET: u8 = 1;
const WINDOW: u8 = 2;

/// A length of time, exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    ticks: u128,
    ticks_per_us: u64,
}

impl Span {
    pub const ZERO: Self = Self {
        ticks: 0,
        ticks_per_us: 1,
    };

    /// Rounded up: whoever waits that long is not early.
    pub fn ms(self) -> i64 {
        clamp(self.ticks.div_ceil(u128::from(self.ticks_per_us) * 1000))
    }

    /// Rounded down, as redis-cell does.
    pub fn whole_seconds(self) -> i64 {
        clamp(self.ticks / (u128::from(self.ticks_per_us) * 1_000_000))
    }
}

fn clamp(value: u128) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// When a call that was denied would pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// It has passed.
    Passed,
    After(Span),
    /// It asks for more than there can ever be.
    Never,
}

/// What a call is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    pub limit: u64,
    pub remaining: u64,
    pub retry: Retry,
    /// Until it is full again.
    pub reset: Span,
}

impl Verdict {
    pub fn is_allowed(&self) -> bool {
        self.retry == Retry::Passed
    }
}

/// What one call wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub cost: u64,
    /// Only tells what would be.
    pub peek: bool,
}

/// The rule a call names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    Rate(Rate),
    Window(Quota),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    Bucket(Bucket),
    Window(Window),
}

/// The record at the key is of the other form than the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherForm;

impl Rule {
    /// The verdict, and the new record if the call changes anything.
    pub fn charge(
        self,
        stored: Option<Record>,
        call: Call,
        now: Now,
    ) -> Result<(Verdict, Option<Record>), OtherForm> {
        Ok(match (self, stored) {
            (Self::Rate(rate), None) => bucket::charge(rate, None, call, now),
            (Self::Rate(rate), Some(Record::Bucket(bucket))) => bucket::charge(rate, Some(bucket), call, now),
            (Self::Window(quota), None) => window::charge(quota, None, call, now),
            (Self::Window(quota), Some(Record::Window(window))) => {
                window::charge(quota, Some(window), call, now)
            }
            _ => return Err(OtherForm),
        })
    }
}

/// A record as bytes.
pub struct Encoded {
    bytes: [u8; BUCKET_BYTES],
    len: usize,
}

const BUCKET_BYTES: usize = 42;
const WINDOW_BYTES: usize = 34;

impl Encoded {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Record {
    /// Version and form, a byte each; then three numbers of eight bytes and one of sixteen (a bucket) or four
    /// of eight (a window), little-endian.
    pub fn encode(&self) -> Encoded {
        let mut bytes = [0; BUCKET_BYTES];
        bytes[0] = VERSION;
        let mut put = |at: usize, number: u64| bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        let len = match self {
            Self::Bucket(bucket) => {
                let Rate { count, per_ms, burst } = bucket.rate;
                put(2, count);
                put(10, per_ms);
                put(18, burst);
                bytes[26..42].copy_from_slice(&bucket.full_at.to_le_bytes());
                bytes[1] = BUCKET;
                BUCKET_BYTES
            }
            Self::Window(window) => {
                put(2, window.quota.count);
                put(10, window.quota.per_ms);
                put(18, window.start_us);
                put(26, window.used);
                bytes[1] = WINDOW;
                WINDOW_BYTES
            }
        };
        Encoded { bytes, len }
    }

    /// `None`: not a record of this version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            bytes
                .get(at..)
                .and_then(<[u8]>::first_chunk)
                .map(|b| u64::from_le_bytes(*b))
        };
        let in_range = |number: u64| (1..=NUMBER_MAX).contains(&number).then_some(number);
        let (count, per_ms) = (in_range(number(2)?)?, in_range(number(10)?)?);
        match (bytes.len(), bytes) {
            (BUCKET_BYTES, [VERSION, BUCKET, ..]) => {
                let full_at = u128::from_le_bytes(*bytes.get(26..)?.first_chunk()?);
                Some(Self::Bucket(Bucket {
                    rate: Rate {
                        count,
                        per_ms,
                        burst: in_range(number(18)?)?,
                    },
                    full_at: (full_at <= bucket::FULL_AT_MAX).then_some(full_at)?,
                }))
            }
            (WINDOW_BYTES, [VERSION, WINDOW, ..]) => Some(Self::Window(Window {
                quota: Quota { count, per_ms },
                start_us: number(18)?,
                used: number(26).filter(|used| *used <= NUMBER_MAX)?,
            })),
            _ => None,
        }
    }

    /// When the record says no more than its absence would.
    pub fn expire_at_ms(&self) -> u64 {
        let at_ms = match self {
            Self::Bucket(bucket) => bucket.full_at_ms(),
            Self::Window(window) => window.end_us().div_ceil(1000),
        };
        u64::try_from(at_ms).map_or(EXPIRE_AT_MS_MAX, |at_ms| at_ms.min(EXPIRE_AT_MS_MAX))
    }

    /// Gives `cost` back: the verdict, and the record that is left unless it is full.
    pub fn refund(&self, cost: u64, now: Now) -> (Verdict, Option<Self>) {
        match self {
            Self::Bucket(bucket) => bucket.refund(cost, now),
            Self::Window(window) => window.refund(cost, now),
        }
    }
}
