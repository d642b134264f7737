//! What is written is read again, and damage is noticed or borne.

use super::*;
use crate::effect::{Effect, ListPosition};

fn samples() -> Vec<(u16, Effect<'static>)> {
    let position = ListPosition {
        whole: 1 << 63,
        fraction: 7,
    };
    vec![
        (
            0,
            Effect::Put {
                key: b"k",
                kind: 0,
                value: b"v",
                expire_at: Some(0),
                created: true,
            },
        ),
        (
            0,
            Effect::Patch {
                key: b"k",
                offset: 1 << 40,
                bytes: b"xyz",
            },
        ),
        (3, Effect::Expire { key: b"k", at: None }),
        (
            3,
            Effect::Delete {
                key: b"other",
                generation: Some(9),
            },
        ),
        (
            3,
            Effect::Create {
                key: b"h",
                kind: 2,
                generation: 10,
            },
        ),
        (
            3,
            Effect::HashPut {
                key: b"h",
                generation: 10,
                field: b"f",
                value: b"",
                expire_at: Some(5),
                created: false,
            },
        ),
        (
            3,
            Effect::HashDelete {
                key: b"h",
                generation: 10,
                field: b"f",
            },
        ),
        (
            3,
            Effect::SetAdd {
                key: b"s",
                generation: 11,
                member: b"m",
            },
        ),
        (
            3,
            Effect::SetDelete {
                key: b"s",
                generation: 11,
                member: b"m",
            },
        ),
        (
            3,
            Effect::ScorePut {
                key: b"z",
                generation: 12,
                member: b"m",
                score: -0.5,
                created: true,
            },
        ),
        (
            3,
            Effect::ScoreDelete {
                key: b"z",
                generation: 12,
                member: b"m",
            },
        ),
        (
            3,
            Effect::ListPut {
                key: b"l",
                generation: 13,
                position,
                value: b"e",
                created: true,
            },
        ),
        (
            3,
            Effect::ListDelete {
                key: b"l",
                generation: 13,
                position,
            },
        ),
        (
            3,
            Effect::Rename {
                from: b"l",
                to: b"l2",
                kind: 3,
                generation: 13,
                expire_at: Some(77),
            },
        ),
        (3, Effect::Swap { with: 4 }),
        (4, Effect::Flush),
        (0, Effect::Fence { fence: u64::MAX }),
    ]
}

fn encoded() -> Vec<u8> {
    let mut encoder = Encoder::default();
    for (db, effect) in samples() {
        encoder.push(db, &effect);
    }
    encoder.bytes().to_vec()
}

#[test]
fn what_was_encoded_is_decoded() {
    let bytes = encoded();
    let decoded: Result<Vec<_>, _> = Decoder::new(&bytes).collect();
    assert_eq!(decoded, Ok(samples()));
}

#[test]
fn each_effect_can_be_read_by_itself() {
    let mut bytes = b"what stands before".to_vec();
    let start = bytes.len();
    bytes.extend(encoded());
    let mut read_at = start;
    for sample in samples() {
        assert_eq!(decode_at(&bytes, read_at), Ok(sample));
        let mut rest = Decoder::new(&bytes[start..]);
        while start + rest.offset() <= read_at {
            assert!(matches!(rest.next(), Some(Ok(_))));
        }
        read_at = start + rest.offset();
    }
    assert_eq!(read_at, bytes.len());
}

#[test]
fn a_set_of_32_bytes_is_compact() {
    let mut encoder = Encoder::default();
    let (key, value) = ([b'k'; 16], [b'v'; 16]);
    encoder.push(
        0,
        &Effect::Put {
            key: &key,
            kind: 0,
            value: &value,
            expire_at: None,
            created: true,
        },
    );
    assert!(encoder.bytes().len() <= 40, "{} bytes", encoder.bytes().len());
}

#[test]
fn cut_or_flipped_bytes_are_an_error_or_other_effects_never_a_panic() {
    let bytes = encoded();
    for cut in 0..bytes.len() {
        let _ = Decoder::new(&bytes[..cut]).count();
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << bit;
            let _ = Decoder::new(&broken).count();
        }
    }
    let too_short = Decoder::new(&bytes[..bytes.len() - 1]).last();
    assert!(matches!(too_short, Some(Err(_))));
}

/// Each part can be read alone: it names its first key itself, the empty one included.
#[test]
fn what_becomes_large_is_in_parts() {
    for key in [&b"key"[..], b""] {
        let mut encoder = Encoder::default();
        let value = vec![b'v'; PART_BYTES / 4];
        let field = |field| Effect::HashPut {
            key,
            generation: 7,
            field,
            value: &value,
            expire_at: None,
            created: true,
        };
        let fields: Vec<Vec<u8>> = (0..11_u8).map(|nth| vec![nth]).collect();
        for name in &fields {
            encoder.push(3, &field(name));
        }
        let whole = encoder.len();
        let mut parts = encoder.take_ended();
        parts.push(encoder.take(Vec::new()));
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), whole);
        let mut read = fields.iter();
        for part in &parts {
            assert!((1..PART_BYTES + value.len() + 100).contains(&part.len()));
            for decoded in Decoder::new(part) {
                let name = read.next().expect("no more than was told");
                assert_eq!(decoded, Ok((3, field(name))));
            }
        }
        assert_eq!(read.next(), None);
        encoder.push(3, &field(b"more"));
        assert!(encoder.take_ended().is_empty());
    }
}
