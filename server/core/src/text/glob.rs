//! Patterns of `KEYS`, `SCAN MATCH`, `PSUBSCRIBE`, ACL rules and `CONFIG GET`: `*`, `?`, `[a-z]`, `[^x]`, `\x`.
//!
//! Invariants: no recursion, and at most pattern length times text length steps, whatever the pattern. Only
//! the last star seen is ever widened: a match that an earlier, wider star allows, this one finds as well.
//!
//! Corners that clients can see are kept: a class that is not closed ends with the pattern, `[a-]` is a range
//! that ends at `]`, ranges compare bytes as signed, a star alone does not match the empty text.

/// Whether all of `text` matches `pattern`.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    run(pattern, text, false)
}

/// As [`matches`], with ASCII letters of either case equal.
pub fn matches_ignoring_case(pattern: &[u8], text: &[u8]) -> bool {
    run(pattern, text, true)
}

fn run(pattern: &[u8], text: &[u8], fold: bool) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut rest, mut at) = (pattern, 0);
    // The pattern behind the last star, and where in the text it is tried.
    let mut star = None;
    while at < text.len() {
        if let [b'*', behind @ ..] = rest {
            rest = behind;
            star = Some((behind, at));
            if behind.is_empty() {
                return true;
            }
        } else if let Some(behind) = one(rest, text[at], fold) {
            rest = behind;
            at += 1;
        } else if let Some((behind, tried)) = star {
            rest = behind;
            at = tried + 1;
            star = Some((behind, at));
        } else {
            return false;
        }
    }
    rest.iter().all(|byte| *byte == b'*')
}

/// The pattern behind its first element, which is not a star, if that element matches `byte`.
fn one(pattern: &[u8], byte: u8, fold: bool) -> Option<&[u8]> {
    let (literal, behind) = match pattern {
        [] => return None,
        [b'?', behind @ ..] => return Some(behind),
        [b'[', class @ ..] => {
            let (found, behind) = in_class(class, byte, fold);
            return found.then_some(behind);
        }
        [b'\\', literal, behind @ ..] | [literal, behind @ ..] => (*literal, behind),
    };
    same(literal, byte, fold).then_some(behind)
}

/// Whether `byte` is in the class that `class` begins with (behind its bracket), and what is behind it.
fn in_class(class: &[u8], byte: u8, fold: bool) -> (bool, &[u8]) {
    let (negated, mut rest) = match class {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut found = false;
    loop {
        rest = match rest {
            [] => return (found != negated, rest),
            [b'\\', literal, behind @ ..] => {
                found |= *literal == byte;
                behind
            }
            [b']', behind @ ..] => return (found != negated, behind),
            [first, b'-', last, behind @ ..] => {
                found |= in_range(*first, *last, byte, fold);
                behind
            }
            [literal, behind @ ..] => {
                found |= same(*literal, byte, fold);
                behind
            }
        };
    }
}

/// Ends are put in order before their case is folded, and escapes within a class do not fold: so it is
/// everywhere.
fn in_range(first: u8, last: u8, byte: u8, fold: bool) -> bool {
    let folded = |byte: i8| {
        if fold {
            byte.cast_unsigned().to_ascii_lowercase().cast_signed()
        } else {
            byte
        }
    };
    let (first, last) = (first.cast_signed(), last.cast_signed());
    let (low, high) = (folded(first.min(last)), folded(first.max(last)));
    (low..=high).contains(&folded(byte.cast_signed()))
}

fn same(literal: u8, byte: u8, fold: bool) -> bool {
    literal == byte || fold && literal.eq_ignore_ascii_case(&byte)
}

#[cfg(test)]
mod tests {
    use super::{matches, matches_ignoring_case};
    use proptest::prelude::*;

    /// Each was asked of Valkey 9.1.2 with KEYS.
    #[test]
    fn as_valkey_matches() {
        for (pattern, texts, others) in [
            ("h?llo", "hello hallo", "hllo heello"),
            ("h*llo", "hllo heeeello", "hell"),
            ("h[ae]llo", "hello hallo", "hillo"),
            ("h[^e]llo", "hallo hbllo", "hello"),
            ("h[a-b]llo", "hallo hbllo", "hcllo"),
            ("h[b-a]llo", "hallo hbllo", "hcllo h-llo"),
            ("h\\?llo", "h?llo", "hello"),
            ("a*b*c", "abc axbxc abcbc", "ab acb"),
            ("**a**", "a xax", "x"),
            ("a\\", "a\\", "a"),
            ("[", "", "["),
            ("[^", "a", "ab"),
            ("[ab", "a b", "c ["),
            ("[a-", "a -", "b"),
            ("[a-]", "a ] ^ _", "- b"),
            ("[]a]", "", "a ] ]a]"),
            ("[^]a", "xa", "a"),
            ("[\\]]", "]", "\\"),
            ("[\\-a-]", "- a", "b"),
            ("[a\\-z]", "a z -", "b"),
        ] {
            for text in texts.split(' ').filter(|text| !text.is_empty()) {
                assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
            }
            for text in others.split(' ') {
                assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn the_empty_text_matches_the_empty_pattern_only() {
        assert!(matches(b"", b""));
        assert!(!matches(b"", b"a"));
        assert!(!matches(b"**", b""));
    }

    #[test]
    fn ranges_are_of_signed_bytes() {
        assert!(matches(b"[\xff-a]", b"A"));
        assert!(!matches(b"[\xff-a]", b"b"));
        assert!(matches(b"[\x80-\xff]", b"\x90"));
        assert!(!matches(b"[a-\xff]", b"z"));
    }

    #[test]
    fn case_is_ignored_but_in_escapes_of_classes() {
        for (pattern, text) in [("MaxM*", "maxmemory"), ("[A-M]x", "mX"), ("[MN]", "n")] {
            assert!(
                matches_ignoring_case(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        assert!(!matches_ignoring_case(b"[\\A]", b"a"));
        assert!(!matches_ignoring_case(b"[Z-a]", b"a"));
    }

    /// A recursive matcher would try some 10^30 ways.
    #[test]
    fn many_stars_are_cheap() {
        let pattern = "a*".repeat(2000) + "b";
        assert!(!matches(pattern.as_bytes(), "a".repeat(4000).as_bytes()));
        assert!(matches(pattern.as_bytes(), ("a".repeat(4000) + "b").as_bytes()));
    }

    /// What stars and question marks mean, by definition.
    fn model(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], text) => text.is_empty(),
            ([b'*', rest @ ..], text) => (0..=text.len()).any(|at| model(rest, &text[at..])),
            ([b'?', rest @ ..], [_, tail @ ..]) => model(rest, tail),
            ([literal, rest @ ..], [byte, tail @ ..]) => literal == byte && model(rest, tail),
            (_, []) => false,
        }
    }

    proptest! {
        #[test]
        fn stars_mean_anything(pattern in "[ab?*]{0,7}", text in "[ab]{1,9}") {
            prop_assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), model(pattern.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn a_text_escaped_matches_itself_only(text: Vec<u8>, other: Vec<u8>) {
            let escaped: Vec<u8> = text.iter().flat_map(|byte| [b'\\', *byte]).collect();
            prop_assert!(matches(&escaped, &text));
            prop_assert_eq!(matches(&escaped, &other), text == other);
        }

        /// Without a class, ignoring case can only add matches.
        #[test]
        fn any_pattern_is_bearable(pattern in "[-a-cA-C^\\[\\]\\\\*?]{0,12}", text: Vec<u8>) {
            let folded = matches_ignoring_case(pattern.as_bytes(), &text);
            prop_assert!(folded || !matches(pattern.as_bytes(), &text) || pattern.contains('[') );
        }
    }
}
