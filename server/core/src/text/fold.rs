//! Comparing a client's word with one of ours, whatever its case.

/// Whether `word` is the option `upper`, which is written in capitals in our source.
#[inline]
pub fn is(word: &[u8], upper: &str) -> bool {
    debug_assert!(!upper.bytes().any(|byte| byte.is_ascii_lowercase()));
    word.eq_ignore_ascii_case(upper.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn case_does_not_matter_and_length_does() {
        assert!(is(b"KeepTTL", "KEEPTTL"));
        assert!(is(b"", ""));
        assert!(!is(b"EX", "EXAT"));
        assert!(!is(b"EXAT", "EX"));
    }

    #[test]
    fn only_letters_fold() {
        assert!(!is(b"{X", "[X"));
        assert!(!is(b"\x10X", "0X"));
    }
}
