//! Texts that clients send as numbers and patterns: no panic, and what is accepted is what is
//! printed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ruvio_core::text::{double, glob, long_double, number};

fuzz_target!(|data: &[u8]| {
    let at = data.iter().position(|b| *b == b'\n').unwrap_or(data.len());
    let (first, second) = (&data[..at], data.get(at + 1..).unwrap_or_default());

    if let Some(value) = number::parse_i64(first) {
        assert_eq!(value.to_string().as_bytes(), first, "one way to write an integer");
    }
    if let Some(value) = number::parse_u64(first) {
        assert_eq!(value.to_string().as_bytes(), first);
    }
    if let Some(value) = number::parse_f64(first) {
        let mut printed = Vec::new();
        double::push_double(value, &mut printed);
        let again = number::parse_f64(&printed).expect("what we print is a number");
        assert!(
            again == value || (again.is_nan() && value.is_nan()),
            "{value} printed as {printed:?}"
        );
    }
    if let Ok(sum) = long_double::add(first, second) {
        assert!(long_double::add(&sum, b"0").is_ok(), "a sum is a number again");
    }
    // A pattern of many stars must not take time in powers of the text's length.
    if first.len() <= 64 && second.len() <= 256 {
        let _ = (
            glob::matches(first, second),
            glob::matches_ignoring_case(first, second),
        );
    }
});
