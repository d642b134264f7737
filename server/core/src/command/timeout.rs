//! How long a command may wait, as clients write it.

use crate::error::Error;
use crate::exec::Now;
use crate::text::number::parse_f64;

const NOT_A_TIMEOUT: Error = Error::new("ERR timeout is not a float or out of range");
const OUT_OF_RANGE: Error = Error::new("ERR timeout is out of range");
const NEGATIVE: Error = Error::new("ERR timeout is negative");

/// Milliseconds of a timeout in seconds with a fraction, rounded up; 0 waits for ever.
pub fn seconds(word: &[u8], now: Now) -> Result<u64, Error> {
    let ms = parse_f64(word).ok_or(NOT_A_TIMEOUT)? * 1000.0;
    // 2^63 as a double: the first that no signed millisecond holds.
    if ms >= 9_223_372_036_854_775_808.0 {
        return Err(OUT_OF_RANGE);
    }
    let ms = ms.ceil();
    if ms < 0.0 {
        return Err(NEGATIVE);
    }
    let ms = ms as u64;
    if ms > i64::MAX as u64 - now.ms().min(i64::MAX as u64) {
        return Err(OUT_OF_RANGE);
    }
    Ok(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen on Valkey 9.1.2 with `BLPOP l <text>`.
    #[test]
    fn timeouts_as_valkey_reads_them() {
        let now = Now::from_ms(1_700_000_000_000);
        for (text, ms) in [
            ("0", 0),
            ("-0", 0),
            ("0.5", 500),
            ("1e-9", 1),
            ("1", 1000),
            ("1e3", 1_000_000),
        ] {
            assert_eq!(seconds(text.as_bytes(), now), Ok(ms), "{text}");
        }
        for (text, error) in [
            ("abc", NOT_A_TIMEOUT),
            ("", NOT_A_TIMEOUT),
            ("nan", NOT_A_TIMEOUT),
            ("-1", NEGATIVE),
            ("-inf", NEGATIVE),
            ("inf", OUT_OF_RANGE),
            ("1e300", OUT_OF_RANGE),
            ("9223372036854775", OUT_OF_RANGE),
        ] {
            assert_eq!(seconds(text.as_bytes(), now), Err(error), "{text}");
        }
    }
}
