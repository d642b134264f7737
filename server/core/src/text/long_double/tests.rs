//! Tests of long double sums.

use super::{FloatError, LongDouble, add};
use proptest::prelude::*;

fn sum(current: &str, increment: &str) -> String {
    String::from_utf8(add(current.as_bytes(), increment.as_bytes()).unwrap()).unwrap()
}

fn printed(text: &str) -> Option<String> {
    let mut out = Vec::new();
    LongDouble::parse(text.as_bytes())?.push(&mut out);
    Some(String::from_utf8(out).unwrap())
}

/// Case 24.
#[test]
fn sums_that_people_compare_with_their_own() {
    for (current, increment, expected) in [
        ("0", "1e-7", "0.0000001"),
        ("3.0", "1.0", "4"),
        ("5.0e3", "2.0e2", "5200"),
        ("0.1", "0.2", "0.3"),
        ("10.50", "0.1", "10.6"),
        ("1e17", "1", "100000000000000001"),
        ("-1", "1", "0"),
        ("-0", "-0", "0"),
        ("1.1", "-1.1", "0"),
        ("18446744073709551615", "1", "18446744073709551616"),
        ("18446744073709551616", "1", "18446744073709551616"),
        ("1e20", "-1", "100000000000000000000"),
    ] {
        assert_eq!(sum(current, increment), expected);
    }
}

/// Answers of Valkey 9.1.2 to INCRBYFLOAT, where rounding shows.
#[test]
fn sums_as_the_x87_rounds_them() {
    for line in [
        "+294.5e-17 -0x4b0756da.1d2a434e8bp-20 -1200.4587041033993986",
        "0xeeff335410e0f8.1539f8ap37 7.469155022955931e-10 9245743851614403751003029504",
        "82.6323e-2194 0x58becb80d30de0bda62.2e12d1d7p-100 0.00000002066262362",
        "5415453250586688175 0x108454ccd7e4f1e63.3755bb45fcdep-5 6010537970739098530",
        "973401942898917759841 0x7913.2230b3383d2148cp-17 973401942898917759872",
        "+0x188d931724b062.9fp-29 8438904248632194.0 8438904261505050.72314453125",
        "0xd8520b68bcc32ba9dd31c7.233f09cap-93 +117 117.02640630939813384",
        "-0x6b4.136c07ep-12225 +68843966298118191970 68843966298118191968",
        "-228.5e-17 0.0066752681543203775 0.00667526815431809",
        "810145442384073642e-33 +642.7325150902557 642.73251509025570083",
        "-895741871656452427478e-6 +613.5e-17 -895741871656452.427490234375",
        "53.93e-2868 3.697898361794824e-3865 0",
        "2 -404.5e-17 1.99999999999999595",
        "83134e28 8e-8 831339999999999999968896383713280",
        "-14.75737327098129502529282e-1471 2277888543.0000446263654894 2277888543.00004462641663849",
        "+17.324218611553957228678682456e-3505 121725151167e19 1217251511670000000003286761472",
        "786495.000000000000 77401790121584243883556489219.5 77401790121584243885459111936",
        "1436041860310540211e23 +793931046418.385 143604186031054021100164478972987223048192",
        "-31719.659610332416999627 23.29127413861577123312544440373e-3070 -31719.65961033241699951",
        "3661983952982566981613 +47170729584.00000000007644 3661983953029737711104",
        "1.5e-17 0 0.00000000000000002",
        "2.5e-17 0 0.00000000000000002",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(sum(words[0], words[1]), words[2], "{line}");
    }
}

#[test]
fn texts_that_are_numbers() {
    for (text, expected) in [
        ("+1", "1"),
        ("1.", "1"),
        (".5", "0.5"),
        ("1E+5", "100000"),
        ("0x10", "16"),
        ("0x.8", "0.5"),
        ("0X1.", "1"),
        ("-0x1P+4", "-16"),
        ("0x1.8p-1", "0.75"),
        ("0e9999", "0"),
        ("1e-4940", "0"),
        ("0x1p-16445", "0"),
        ("-1e-30", "0"),
        ("-INFinity", "-inf"),
        ("+inf", "inf"),
    ] {
        assert_eq!(printed(text).as_deref(), Some(expected), "{text}");
    }
    assert_eq!(printed("1e4932").map(|text| text.len()), Some(4933));
    assert_eq!(printed("0x1p16383").map(|text| text.len()), Some(4932));
    assert_eq!(printed(&format!("{}1", "0".repeat(5118))).as_deref(), Some("1"));
}

#[test]
fn texts_that_are_no_numbers() {
    for text in [
        "",
        ".",
        "-",
        "+",
        " 1",
        "1 ",
        "nan",
        "-nan",
        "nan(1)",
        "0x",
        "0x.",
        "0xg",
        "0x1p",
        "0x1p+",
        "1e",
        "1e+",
        "1e1.5",
        "1\0",
        "1_0",
        "1d",
        "1L",
        "1p3",
        "++1",
        "infinit",
        "i",
        "2e4932",
        "1e5000",
        "1e-4951",
        "1e-5000",
        "0x1p16384",
        "0x1p-16446",
        "1e99999999999999999999",
        "1..2",
    ] {
        assert_eq!(printed(text), None, "{text}");
    }
    assert_eq!(printed(&"1".repeat(5119)), None);
    assert_eq!(printed(&format!("{}1", "0".repeat(5119))), None);
}

#[test]
fn sums_that_are_refused() {
    assert_eq!(add(b"abc", b"inf"), Err(FloatError::Current));
    assert_eq!(add(b"1", b"abc"), Err(FloatError::Increment));
    for (current, increment) in [("1", "inf"), ("inf", "1"), ("inf", "-inf"), ("1e4932", "1e4932")] {
        assert_eq!(
            add(current.as_bytes(), increment.as_bytes()),
            Err(FloatError::NotFinite)
        );
    }
}

/// A double as a hexadecimal text: exactly itself.
fn exact(value: f64) -> String {
    let bits = value.to_bits();
    let sign = if value < 0.0 { "-" } else { "" };
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52) as i32 & 2047 {
        0 => format!("{sign}0x0.{fraction:013x}p-1022"),
        biased => format!("{sign}0x1.{fraction:013x}p{}", biased - 1023),
    }
}

proptest! {
    /// Doubles are long doubles; Rust prints them exactly.
    #[test]
    fn doubles_print_as_rust_prints_them(value in prop::num::f64::NORMAL) {
        let text = format!("{value:.17}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        let text = if text == "-0" { "0" } else { text };
        prop_assert_eq!(printed(&exact(value)).unwrap(), text);
    }

    /// Sums of integers of 63 bits are exact.
    #[test]
    fn integers_add_up(a: i64, b: i64) {
        prop_assert_eq!(sum(&a.to_string(), &b.to_string()), (i128::from(a) + i128::from(b)).to_string());
    }

    /// Doubles of the same magnitude add up in 64 bits without rounding.
    #[test]
    fn near_doubles_add_up(a in 1i64 << 52..1 << 53, b in 1i64 << 52..1 << 53, exponent in -60i32..60) {
        let scale = 2f64.powi(exponent);
        let (left, right) = (exact(a as f64 * scale), exact(b as f64 * -scale));
        prop_assert_eq!(sum(&left, &right), printed(&exact((a - b) as f64 * scale)).unwrap());
    }

    #[test]
    fn long_and_short_texts_of_a_number_agree(value in 1u32.., zeros in 0usize..60, exponent in -300i32..300) {
        let short = format!("{value}e{exponent}");
        let long = format!("{value}{}e{}", "0".repeat(zeros), exponent - zeros as i32);
        let pointed = format!("0.{}{value}e{}", "0".repeat(zeros), exponent + (zeros + value.to_string().len()) as i32);
        let number = LongDouble::parse(short.as_bytes());
        prop_assert_eq!(LongDouble::parse(long.as_bytes()), number);
        prop_assert_eq!(LongDouble::parse(pointed.as_bytes()), number);
    }

    #[test]
    fn order_does_not_matter(a in "-?[0-9]{1,25}(\\.[0-9]{1,25})?(e-?[0-9]{1,3})?", b in "-?[0-9]{1,9}(e-?[0-9]{1,2})?") {
        prop_assert_eq!(sum(&a, &b), sum(&b, &a));
    }

    #[test]
    fn any_bytes_are_bearable(current in "[-+0-9a-fA-FxXpP.einfINF]{0,40}", increment: Vec<u8>) {
        let _ = add(current.as_bytes(), &increment);
        let _ = add(current.as_bytes(), b"1");
    }
}
