//! From when and until when a certificate holds, and its number: what nobody else tells of one's own certificate.
//!
//! Reads only as far as these fields, and nothing of what it reads is trusted: a certificate that makes no sense is
//! one without them.

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Validity {
    /// The number that its authority gave it, in hexadecimal digits.
    pub serial: String,
    /// Unix seconds, both inclusive.
    pub from: i64,
    pub until: i64,
}

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The version, which very old certificates do not have.
const VERSION: u8 = 0xa0;

/// Of an X.509 certificate in DER.
pub(super) fn of(certificate: &[u8]) -> Option<Validity> {
    let (certificate, _) = take(certificate, SEQUENCE)?;
    let (mut fields, _) = take(certificate, SEQUENCE)?;
    if let Some((_, rest)) = take(fields, VERSION) {
        fields = rest;
    }
    let (serial, mut fields) = take(fields, INTEGER)?;
    // Algorithm, issuer.
    for tag in [SEQUENCE, SEQUENCE] {
        (_, fields) = take(fields, tag)?;
    }
    let (validity, _) = take(fields, SEQUENCE)?;
    let (from, rest) = time(validity)?;
    let (until, _) = time(rest)?;
    Some(Validity {
        serial: hexadecimal(serial),
        from,
        until,
    })
}

/// Without zeros in front, two digits a byte.
fn hexadecimal(number: &[u8]) -> String {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let digits = |byte: &u8| format!("{byte:02X}");
    match &number[zeros..] {
        [] => "0".to_owned(),
        bytes => bytes.iter().map(digits).collect(),
    }
}

/// The content of a field with that tag, and what follows it.
fn take(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    if *found != tag {
        return None;
    }
    let (len, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (len, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (
                len.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
                rest,
            )
        }
        _ => return None,
    };
    rest.split_at_checked(len)
}

fn time(bytes: &[u8]) -> Option<(i64, &[u8])> {
    if let Some((text, rest)) = take(bytes, UTC_TIME) {
        let (year, rest_of_text) = number(text, 2)?;
        // RFC 5280: two digits are of 1950 to 2049.
        let century = if year < 50 { 2000 } else { 1900 };
        return Some((seconds(century + year, rest_of_text)?, rest));
    }
    let (text, rest) = take(bytes, GENERALIZED_TIME)?;
    let (year, rest_of_text) = number(text, 4)?;
    Some((seconds(year, rest_of_text)?, rest))
}

fn number(text: &[u8], digits: usize) -> Option<(i64, &[u8])> {
    let (number, rest) = text.split_at_checked(digits)?;
    let number = std::str::from_utf8(number).ok()?.parse().ok()?;
    Some((number, rest))
}

/// `MMDDhhmmssZ`.
fn seconds(year: i64, text: &[u8]) -> Option<i64> {
    let (month, text) = number(text, 2)?;
    let (day, text) = number(text, 2)?;
    let (hour, text) = number(text, 2)?;
    let (minute, text) = number(text, 2)?;
    let (second, text) = number(text, 2)?;
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day);
    (fits && text == b"Z").then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Since 1970-01-01, by the Gregorian calendar. Years begin in March here, so that a leap day is their last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// As people write it.
pub(super) fn show(seconds: i64) -> String {
    let (mut year, of_day) = (0, seconds.rem_euclid(86_400));
    let day = seconds.div_euclid(86_400);
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let month = (1..=12)
        .rev()
        .find(|month| days(year, *month, 1) <= day)
        .unwrap_or(1);
    let day = day - days(year, month, 1) + 1;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (year, month, day, since) in [
            (1970, 1, 1, 0),
            (1972, 2, 29, 789),
            (2000, 3, 1, 11_017),
            (2026, 12, 1, 20_788),
            (2100, 3, 1, 47_541),
        ] {
            assert_eq!(days(year, month, day), since, "{year}-{month}-{day}");
            assert_eq!(
                show(since * 86_400 + 3661),
                format!("{year}-{month:02}-{day:02} 01:01:01 UTC")
            );
        }
    }

    #[test]
    fn both_ways_to_write_a_time_are_read() {
        let utc = [b"\x17\x0d".as_slice(), b"491231235959Z", b"rest"].concat();
        assert_eq!(time(&utc), Some((2_524_607_999, b"rest".as_slice())));
        let old = [b"\x17\x0d".as_slice(), b"700101000001Z"].concat();
        assert_eq!(time(&old), Some((1, b"".as_slice())));
        let long = [b"\x18\x0f".as_slice(), b"20500101000000Z"].concat();
        assert_eq!(time(&long), Some((2_524_608_000, b"".as_slice())));
        for bad in [
            &b"491331235959Z"[..],
            b"4912312359590",
            b"49123123595",
            b"4x1231235959Z",
        ] {
            let bad = [&[0x17, bad.len() as u8], bad].concat();
            assert_eq!(time(&bad), None);
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        for bytes in [
            &b""[..],
            b"\x30",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x80\x00",
            b"\x30\x02\x30\x05",
            b"\x30\x04\x30\x02\xa0\x7f",
        ] {
            assert_eq!(of(bytes), None);
        }
    }
}
