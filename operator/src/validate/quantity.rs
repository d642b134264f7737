//! Amounts as Kubernetes writes them: `512Mi`, `1.5Gi`, `2e9`.

use crate::names::Bytes;

/// In whole bytes, rounded up; none if it is no amount, negative, or more than can be counted.
pub fn bytes(text: &str) -> Option<Bytes> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.contains('.') {
        return None;
    }
    // As a fraction, so that nothing is lost on the way.
    let mut top: u128 = format!("{whole}{part}").parse().ok()?;
    let mut bottom: u128 = 10u128.checked_pow(part.len().try_into().ok()?)?;
    match scale(unit)? {
        Scale::Binary(power) => top = top.checked_mul(1u128.checked_shl(power * 10)?)?,
        Scale::Decimal(power @ 0..) => top = top.checked_mul(10u128.checked_pow(power.try_into().ok()?)?)?,
        Scale::Decimal(power) => bottom = bottom.checked_mul(10u128.checked_pow(power.unsigned_abs())?)?,
    }
    u64::try_from(top.div_ceil(bottom)).ok().map(Bytes)
}

enum Scale {
    /// A power of 1024.
    Binary(u32),
    /// A power of 10.
    Decimal(i32),
}

fn scale(unit: &str) -> Option<Scale> {
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: [(&str, i32); 10] = [
        ("", 0),
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    if let Some(power) = BINARY.iter().zip(1..).find(|(name, _)| **name == unit) {
        return Some(Scale::Binary(power.1));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == unit) {
        return Some(Scale::Decimal(*power));
    }
    let exponent = unit.strip_prefix(['e', 'E'])?;
    exponent.parse().ok().map(Scale::Decimal)
}

/// As Kubernetes would write it itself, in whole bytes or in the largest unit of 1024 that fits.
pub fn text(Bytes(mut bytes): Bytes) -> String {
    let mut units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while bytes > 0 && bytes % 1024 == 0 {
        let Some(larger) = units.next() else { break };
        (bytes, unit) = (bytes / 1024, larger);
    }
    format!("{bytes}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_what_kubernetes_takes_them_for() {
        for (text, amount) in [
            ("0", 0),
            ("1024", 1024),
            ("1Ki", 1024),
            ("512Mi", 512 << 20),
            ("1.5Gi", 3 << 29),
            (".5Ki", 512),
            ("2.", 2),
            ("1k", 1000),
            ("1G", 1_000_000_000),
            ("1e3", 1000),
            ("1E3", 1000),
            ("1E", 1_000_000_000_000_000_000),
            ("1500m", 2),
            ("1n", 1),
            ("8Ei", 1 << 63),
        ] {
            assert_eq!(bytes(text), Some(Bytes(amount)), "{text}");
        }
        for text in [
            "",
            ".",
            "Gi",
            "-1",
            "+1",
            "1gb",
            "1.2.3",
            "1 Gi",
            "16Ei",
            "1e99",
            "1e",
            "99999999999999999999999999999999999999999",
        ] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_as_the_same() {
        for (amount, shown) in [
            (0, "0"),
            (1000, "1000"),
            (1 << 30, "1Gi"),
            (3 << 29, "1536Mi"),
            (1 << 60, "1Ei"),
        ] {
            assert_eq!(text(Bytes(amount)), shown);
            assert_eq!(bytes(shown), Some(Bytes(amount)));
        }
    }
}
