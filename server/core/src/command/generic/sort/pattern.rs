//! Patterns of `BY` and `GET`: the names of other keys, made from an element.

use crate::keyspace::{Db, Key, Type};
use crate::value::hash::HashView;

/// `#`, or `prefix*suffix`, or `prefix*suffix->field` of a hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern<'a> {
    Element,
    /// Without a star it names nothing.
    Nothing,
    Key {
        prefix: &'a [u8],
        suffix: &'a [u8],
        field: Option<&'a [u8]>,
    },
}

impl<'a> Pattern<'a> {
    pub(super) fn parse(pattern: &'a [u8]) -> Self {
        if pattern == b"#" {
            return Self::Element;
        }
        let Some(star) = pattern.iter().position(|byte| *byte == b'*') else {
            return Self::Nothing;
        };
        let (prefix, rest) = (&pattern[..star], &pattern[star + 1..]);
        // An arrow with nothing behind it is part of the name.
        let arrow = rest
            .windows(2)
            .position(|two| two == b"->")
            .filter(|at| at + 2 < rest.len());
        match arrow {
            Some(at) => Self::Key {
                prefix,
                suffix: &rest[..at],
                field: Some(&rest[at + 2..]),
            },
            None => Self::Key {
                prefix,
                suffix: rest,
                field: None,
            },
        }
    }

    /// Appends what the pattern means for `element` to `out`; `false` if that is nothing. `name` is working
    /// space.
    pub(super) fn read(self, db: &mut Db<'_>, element: &[u8], name: &mut Vec<u8>, out: &mut Vec<u8>) -> bool {
        let (prefix, suffix, field) = match self {
            Self::Element => {
                out.extend_from_slice(element);
                return true;
            }
            Self::Nothing => return false,
            Self::Key {
                prefix,
                suffix,
                field,
            } => (prefix, suffix, field),
        };
        name.clear();
        for part in [prefix, element, suffix] {
            name.extend_from_slice(part);
        }
        let key = db.key(name);
        match field {
            None => match db.find(key) {
                Some(slot) if Type::of(slot.kind()) == Type::String => {
                    out.extend_from_slice(slot.entry().bytes());
                    true
                }
                _ => false,
            },
            Some(field) => read_field(db, key, field, out),
        }
    }
}

fn read_field(db: &mut Db<'_>, key: Key<'_>, field: &[u8], out: &mut Vec<u8>) -> bool {
    let now_ms = db.now.ms();
    let Some(mut slot) = db.find(key).filter(|slot| Type::of(slot.kind()) == Type::Hash) else {
        return false;
    };
    match HashView::of_slot(&mut slot).get(field, now_ms) {
        Some(field) => {
            out.extend_from_slice(field.value);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn stars_and_arrows() {
        let key = |prefix, suffix, field| Pattern::Key {
            prefix,
            suffix,
            field,
        };
        for (text, pattern) in [
            (&b"#"[..], Pattern::Element),
            (b"", Pattern::Nothing),
            (b"##", Pattern::Nothing),
            (b"w->f", Pattern::Nothing),
            (b"*", key(b"", b"", None)),
            (b"w_*", key(b"w_", b"", None)),
            (b"w_*_x*", key(b"w_", b"_x*", None)),
            (b"w_*->f", key(b"w_", b"", Some(b"f"))),
            (b"w_*_x->f->g", key(b"w_", b"_x", Some(b"f->g"))),
            (b"w_*->", key(b"w_", b"->", None)),
            (b"a->b*c", key(b"a->b", b"c", None)),
        ] {
            assert_eq!(Pattern::parse(text), pattern, "{}", text.escape_ascii());
        }
    }
}
