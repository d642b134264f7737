//! Tests of the reply encoder, in both protocols.

use super::{Protocol, Reply};
use proptest::prelude::*;

fn both(write: impl Fn(&mut Reply)) -> (Vec<u8>, Vec<u8>) {
    let of = |proto| {
        let mut reply = Reply::new(proto);
        write(&mut reply);
        reply.take()
    };
    (of(Protocol::Resp2), of(Protocol::Resp3))
}

#[track_caller]
fn same(write: impl Fn(&mut Reply), expected: &str) {
    differ(write, expected, expected);
}

#[track_caller]
fn differ(write: impl Fn(&mut Reply), resp2: &str, resp3: &str) {
    let (two, three) = both(write);
    assert_eq!(
        (two.as_slice(), three.as_slice()),
        (resp2.as_bytes(), resp3.as_bytes())
    );
}

#[test]
fn scalars() {
    same(|r| r.ok(), "+OK\r\n");
    same(|r| r.pong(), "+PONG\r\n");
    same(|r| r.simple("hash"), "+hash\r\n");
    same(|r| r.integer(7), ":7\r\n");
    same(|r| r.integer(-1), ":-1\r\n");
    same(|r| r.integer(99), ":99\r\n");
    same(|r| r.count(100), ":100\r\n");
    same(|r| r.integer(i64::MIN), ":-9223372036854775808\r\n");
    same(|r| r.bulk(b"a\r\nb"), "$4\r\na\r\nb\r\n");
    same(|r| r.bulk(b""), "$0\r\n\r\n");
    same(|r| r.bulk_str("0123456789"), "$10\r\n0123456789\r\n");
    same(|r| r.bulk_integer(-12), "$3\r\n-12\r\n");
    differ(|r| r.null(), "$-1\r\n", "_\r\n");
    differ(|r| r.null_array(), "*-1\r\n", "_\r\n");
    differ(|r| r.boolean(true), ":1\r\n", "#t\r\n");
    differ(|r| r.boolean(false), ":0\r\n", "#f\r\n");
    differ(|r| r.double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n");
    differ(|r| r.double(f64::NEG_INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n");
    differ(
        |r| r.big_number("12345678901234567890"),
        "$20\r\n12345678901234567890\r\n",
        "(12345678901234567890\r\n",
    );
    differ(|r| r.verbatim(b"txt", b"hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n");
}

#[test]
fn heads_of_aggregates() {
    same(|r| r.array(12), "*12\r\n");
    same(|r| r.empty_array(), "*0\r\n");
    differ(|r| r.map(6), "*12\r\n", "%6\r\n");
    differ(|r| r.set(2), "*2\r\n", "~2\r\n");
    differ(|r| r.push(3), "*3\r\n", ">3\r\n");
    differ(|r| assert_eq!(r.attribute(1), r.is_resp3()), "", "|1\r\n");
}

#[test]
fn an_error_is_one_line_whatever_it_quotes() {
    same(|r| r.error("ERR syntax error"), "-ERR syntax error\r\n");
    same(|r| r.error(b"\r\nERR 'a\r\nb'\n".as_slice()), "-ERR 'a  b'\r\n");
    same(|r| r.error("\r\n"), "-\r\n");
    assert_eq!(both(|r| r.error(b"ERR \xff")).0, b"-ERR \xff\r\n");
}

#[test]
fn abandoned_aggregates_leave_nothing() {
    same(
        |r| {
            r.ok();
            let at = r.begin();
            r.integer(1);
            r.abandon(at);
            r.pong();
        },
        "+OK\r\n+PONG\r\n",
    );
}

proptest! {
    /// A length told at the end gives the same bytes as one told at the start.
    #[test]
    fn deferred_lengths(lens in prop::collection::vec(0usize..40, 1..6), kind in 0u8..4, resp3: bool) {
        let proto = if resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
        let (mut told, mut deferred) = (Reply::new(proto), Reply::new(proto));
        let mut open = Vec::new();
        for len in &lens {
            match kind {
                0 => told.array(*len),
                1 => told.map(*len),
                2 => told.set(*len),
                _ => told.push(*len),
            }
            open.push((deferred.begin(), *len));
            for element in 0..*len {
                told.bulk(&vec![b'x'; element]);
                deferred.bulk(&vec![b'x'; element]);
            }
        }
        // Nested: the innermost ends first.
        for (at, len) in open.into_iter().rev() {
            match kind {
                0 => deferred.end_array(at, len),
                1 => deferred.end_map(at, len),
                2 => deferred.end_set(at, len),
                _ => deferred.end_push(at, len),
            }
        }
        prop_assert_eq!(told.as_slice(), deferred.as_slice());
    }
}
