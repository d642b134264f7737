//! Tests of replies read back, and of finding where they end.

use super::frame::{Frames, ReplyError};
use super::{Protocol, Reply, Value};
use proptest::prelude::*;

fn parsed(bytes: &[u8]) -> Value {
    let (value, len) = Value::parse(bytes).unwrap().unwrap();
    assert_eq!(len, bytes.len());
    value
}

fn bulk(text: &str) -> Value {
    Value::Bulk(text.as_bytes().to_vec())
}

/// The examples of the RESP3 specification.
#[test]
fn types_of_the_specification() {
    for (bytes, value) in [
        ("$11\r\nhello world\r\n", bulk("hello world")),
        ("+hello world\r\n", Value::Simple(b"hello world".to_vec())),
        (
            "-ERR this is the error description\r\n",
            Value::Error(b"ERR this is the error description".to_vec()),
        ),
        (":1234\r\n", Value::Integer(1234)),
        ("$-1\r\n", Value::NullBulk),
        ("*-1\r\n", Value::NullArray),
        ("_\r\n", Value::Null),
        (",1.23\r\n", Value::Double(b"1.23".to_vec())),
        (",-inf\r\n", Value::Double(b"-inf".to_vec())),
        ("#t\r\n", Value::Boolean(true)),
        ("#f\r\n", Value::Boolean(false)),
        (
            "!21\r\nSYNTAX invalid syntax\r\n",
            Value::BulkError(b"SYNTAX invalid syntax".to_vec()),
        ),
        (
            "=15\r\ntxt:Some string\r\n",
            Value::Verbatim {
                format: *b"txt",
                text: b"Some string".to_vec(),
            },
        ),
        (
            "(-3492890328409238509\r\n",
            Value::BigNumber(b"-3492890328409238509".to_vec()),
        ),
        (
            "*3\r\n:1\r\n:2\r\n:3\r\n",
            Value::Array([1, 2, 3].map(Value::Integer).to_vec()),
        ),
        ("~1\r\n$1\r\na\r\n", Value::Set(vec![bulk("a")])),
        (">1\r\n$1\r\na\r\n", Value::Push(vec![bulk("a")])),
        (
            "%1\r\n$1\r\na\r\n:1\r\n",
            Value::Map(vec![(bulk("a"), Value::Integer(1))]),
        ),
        (
            "|1\r\n$3\r\nttl\r\n:3600\r\n*1\r\n:1\r\n",
            Value::Attributed {
                attributes: vec![(bulk("ttl"), Value::Integer(3600))],
                value: Box::new(Value::Array(vec![Value::Integer(1)])),
            },
        ),
    ] {
        assert_eq!(parsed(bytes.as_bytes()), value, "{bytes}");
    }
}

#[test]
fn what_is_no_reply() {
    for (bytes, error) in [
        ("PONG\r\n", ReplyError::UnknownType(b'P')),
        ("$x\r\n", ReplyError::Length),
        ("$-2\r\n", ReplyError::Length),
        ("%-1\r\n", ReplyError::Length),
        ("$1\r\nabc", ReplyError::Ending),
        ("+a\rb\r\n", ReplyError::Ending),
        (":1.5\r\n", ReplyError::Malformed),
        ("#x\r\n", ReplyError::Malformed),
        (",abc\r\n", ReplyError::Malformed),
        ("(1e5\r\n", ReplyError::Malformed),
        ("=2\r\nab\r\n", ReplyError::Malformed),
    ] {
        assert_eq!(Value::parse(bytes.as_bytes()), Err(error), "{bytes}");
    }
    assert_eq!(
        Value::parse("*1\r\n".repeat(100_000).as_bytes()),
        Err(ReplyError::Depth)
    );
    assert_eq!(
        Frames::default().next(&[b'+'; 1_100_000]),
        Err(ReplyError::LongLine)
    );
}

#[test]
fn replies_are_read_back_in_both_versions() {
    let mut reply = Reply::new(Protocol::Resp3);
    reply.map(1);
    reply.bulk_str("score");
    reply.double(1.5);
    let expected = Value::Map(vec![(bulk("score"), Value::Double(b"1.5".to_vec()))]);
    assert_eq!(parsed(reply.as_slice()), expected);
    reply.clear();
    reply.set_proto(Protocol::Resp2);
    reply.set(2);
    reply.null();
    reply.null_array();
    assert_eq!(
        parsed(reply.as_slice()),
        Value::Array(vec![Value::NullBulk, Value::NullArray])
    );
}

fn values() -> impl Strategy<Value = Value> {
    let text = || prop::collection::vec(any::<u8>(), 0..20);
    let line = || "[^\r\n]{0,10}".prop_map(String::into_bytes);
    let leaf = prop_oneof![
        line().prop_map(Value::Simple),
        line().prop_map(Value::Error),
        any::<i64>().prop_map(Value::Integer),
        text().prop_map(Value::Bulk),
        text().prop_map(Value::BulkError),
        Just(Value::NullBulk),
        Just(Value::NullArray),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        "-?[1-9][0-9]{0,30}".prop_map(|digits| Value::BigNumber(digits.into_bytes())),
        "-?[0-9]{1,5}\\.[0-9]{1,5}".prop_map(|digits| Value::Double(digits.into_bytes())),
        (any::<[u8; 3]>(), text()).prop_map(|(format, text)| Value::Verbatim { format, text }),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let pairs = || prop::collection::vec((inner.clone(), inner.clone()), 0..4);
        let elements = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            elements().prop_map(Value::Array),
            elements().prop_map(Value::Set),
            elements().prop_map(Value::Push),
            pairs().prop_map(Value::Map),
            (pairs(), inner.clone()).prop_map(|(attributes, value)| Value::Attributed {
                attributes,
                value: Box::new(value)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(value in values()) {
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        prop_assert_eq!(parsed(&bytes), value);
        for cut in 0..bytes.len() {
            prop_assert_eq!(Value::parse(&bytes[..cut]), Ok(None));
        }
    }

    /// Byte by byte, the ends are found where they are.
    #[test]
    fn frames_end_where_replies_end(values in prop::collection::vec(values(), 1..5)) {
        let (mut stream, mut lens, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for value in &values {
            let from = stream.len();
            value.write(&mut stream);
            lens.push(stream.len() - from);
        }
        let mut frames = Frames::default();
        let mut start = 0;
        for end in 1..=stream.len() {
            if let Some(len) = frames.next(&stream[start..end]).unwrap() {
                prop_assert_eq!(start + len, end);
                found.push(len);
                start = end;
            }
        }
        prop_assert_eq!(found, lens);
    }

    #[test]
    fn any_bytes_are_bearable(tag in prop::sample::select(b"+-:$*_,#!=(%~>|x".to_vec()), rest in "[-0-9a\r\n$*%|:]{0,24}") {
        let bytes = [&[tag], rest.as_bytes()].concat();
        let value = Value::parse(&bytes);
        let frame = Frames::default().next(&bytes);
        if let Ok(Some((_, len))) = value {
            prop_assert_eq!(frame, Ok(Some(len)));
        }
    }
}

#[test]
fn replies_are_counted_by_the_commands_that_they_answer() {
    use super::frame::count_replies;
    assert_eq!(count_replies(b""), 0);
    assert_eq!(
        count_replies(b"+OK\r\n$1\r\na\r\n*2\r\n:1\r\n*1\r\n$-1\r\n_\r\n"),
        4
    );
    assert_eq!(count_replies(b">2\r\n+message\r\n+hello\r\n-ERR no\r\n"), 1);
    assert_eq!(count_replies(b"%1\r\n+key\r\n*1\r\n:1\r\n"), 1);
}
