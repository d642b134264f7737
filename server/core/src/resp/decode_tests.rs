//! Tests of the request decoder: what is decoded, what is refused, and that cuts do not matter.

use super::{Decoded, Decoder, Limits, ProtocolError, Reply, Span};
use proptest::prelude::*;

/// What became of a stream: its commands, and how it ended.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    commands: Vec<Vec<Vec<u8>>>,
    end: Option<Decoded>,
}

/// Feeds `stream` in pieces that end at `cuts`, moving the partial command in the arena each time.
fn feed(stream: &[u8], cuts: &[usize], limits: &Limits) -> Outcome {
    let mut outcome = Outcome::default();
    let mut decoder = Decoder::new();
    let mut arena = Vec::new();
    let (mut start, mut fed) = (0, 0);
    for cut in cuts.iter().copied().chain([stream.len()]) {
        let moved = [vec![b'#'; cut % 7], arena.split_off(start)].concat();
        arena = moved;
        start = cut % 7;
        arena.extend_from_slice(&stream[fed..cut.max(fed)]);
        fed = cut.max(fed);
        let end = arena.len();
        arena.extend_from_slice(b"slack");
        loop {
            let mut spans = vec![Span { start: 0, len: 0 }];
            let decoded = decoder.decode(&mut arena, start, end, &mut spans, limits);
            match decoded {
                Decoded::Command { argc, next } => {
                    assert_eq!(argc as usize + 1, spans.len());
                    assert!(decoder.is_idle());
                    outcome
                        .commands
                        .push(spans[1..].iter().map(|span| span.of(&arena).to_vec()).collect());
                    start = next;
                    continue;
                }
                Decoded::Skip { next } => {
                    start = next;
                    continue;
                }
                Decoded::Incomplete { need } => assert!(need > 0),
                Decoded::Fail(_) | Decoded::Close => outcome.end = Some(decoded),
            }
            assert_eq!(spans.len(), 1);
            break;
        }
        if outcome.end.is_some() {
            break;
        }
        arena.truncate(end);
    }
    outcome
}

fn whole(stream: &[u8]) -> Outcome {
    feed(stream, &[], &Limits::default())
}

#[track_caller]
fn fails(stream: &[u8], error: ProtocolError) {
    let outcome = whole(stream);
    assert_eq!(
        outcome.end,
        Some(Decoded::Fail(error)),
        "{}",
        stream.escape_ascii()
    );
    every_cut(stream, &Limits::default());
}

#[track_caller]
fn gives(stream: &[u8], commands: &[&[&[u8]]]) {
    let outcome = whole(stream);
    assert_eq!(outcome.commands, commands, "{}", stream.escape_ascii());
    assert_eq!(outcome.end, None);
    every_cut(stream, &Limits::default());
}

/// The outcome is the same for each way of cutting in two, and byte by byte.
#[track_caller]
fn every_cut(stream: &[u8], limits: &Limits) {
    let outcome = feed(stream, &[], limits);
    for cut in 0..stream.len() {
        assert_eq!(
            feed(stream, &[cut], limits),
            outcome,
            "{} cut at {cut}",
            stream.escape_ascii()
        );
    }
    let all: Vec<usize> = (0..stream.len()).collect();
    assert_eq!(feed(stream, &all, limits), outcome);
}

#[test]
fn commands_with_arguments_of_all_sizes() {
    gives(b"*1\r\n$4\r\nPING\r\n", &[&[b"PING"]]);
    gives(
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n*1\r\n$1\r\nx\r\n",
        &[&[b"SET", b"k", b""], &[b"x"]],
    );
    for len in [9, 10, 99, 100, 101, 999, 1000] {
        let value = vec![b'v'; len];
        let stream = [
            format!("*2\r\n$4\r\nECHO\r\n${len}\r\n").as_bytes(),
            &value,
            b"\r\n",
        ]
        .concat();
        gives(&stream, &[&[b"ECHO", &value]]);
    }
    let many = [b"*120\r\n".as_slice(), &b"$2\r\nab\r\n".repeat(120)].concat();
    gives(&many, &[&[b"ab".as_slice(); 120]]);
}

/// Case 77.
#[test]
fn nothing_to_do_is_skipped() {
    gives(b"\r\n*1\r\n$4\r\nPING\r\n", &[&[b"PING"]]);
    gives(b"\n \t \r\nPING\n", &[&[b"PING"]]);
    gives(b"*0\r\n*-10\r\n*-9223372036854775808\r\nPING\r\n", &[&[b"PING"]]);
}

/// Cases 78 and 79, and line ends as Valkey 9.1.2 checks them.
#[test]
fn what_is_no_request() {
    use ProtocolError::*;
    fails(b"*2\r\n:3\r\n", ExpectedDollar(b':'));
    fails(b"*1\r\n\r\n", ExpectedDollar(b'\r'));
    fails(b"*1\r\n:3\rX", ExpectedDollar(b':'));
    for line in [
        "",
        "+1",
        "01",
        " 1",
        "1 ",
        "abc",
        "-0",
        "2147483648",
        "-9223372036854775809",
        "1\0",
    ] {
        fails(format!("*{line}\r\n").as_bytes(), InvalidMultibulkLength);
    }
    for line in [
        "",
        "-1",
        "abc",
        " 4",
        "+4",
        "04",
        "536870913",
        "0000004",
        "99999999999999999999",
        "4\0",
    ] {
        fails(format!("*1\r\n${line}\r\nPING\r\n").as_bytes(), InvalidBulkLength);
    }
    for stream in [
        "*1\rX",
        "*abc\rX",
        "*1\r\n$4\rX",
        "*1\r\n$x\rX",
        "*1\r\n$4\r\nPINGXX",
        "*1\r\n$4\r\nPING\rX",
    ] {
        fails(stream.as_bytes(), InvalidCrlf);
    }
    gives(b"*1\r\n:3", &[]);
    gives(b"*1\r\n$4\r\nPINGX", &[]);
    gives(b"*2147483647\r\n$536870912\r\n", &[]);
}

#[test]
fn lines_longer_than_64_kib() {
    let long =
        |head: &str, len: usize, tail: &str| [head.as_bytes(), &vec![b'1'; len], tail.as_bytes()].concat();
    let end = |stream: Vec<u8>| {
        let outcome = whole(&stream);
        let cuts = [stream.len() / 2, 65_536, 65_537, 65_538].map(|cut: usize| cut.min(stream.len()));
        assert_eq!(feed(&stream, &cuts, &Limits::default()), outcome);
        outcome
    };
    assert_eq!(end(long("", 65_536, "\n")).commands.len(), 1);
    assert_eq!(end(long("", 65_536, "")).end, None);
    let too_big = |error| Some(Decoded::Fail(error));
    assert_eq!(
        end(long("", 65_537, "")).end,
        too_big(ProtocolError::TooBigInline)
    );
    assert_eq!(
        end(long("", 65_537, "\n")).end,
        too_big(ProtocolError::TooBigInline)
    );
    assert_eq!(end(long("*", 65_535, "")).end, None);
    assert_eq!(
        end(long("*", 65_536, "")).end,
        too_big(ProtocolError::TooBigMultibulkCount)
    );
    assert_eq!(
        end(long("*", 65_536, "\r\n")).end,
        too_big(ProtocolError::TooBigMultibulkCount)
    );
    assert_eq!(
        end(long("*1\r\n$", 65_536, "")).end,
        too_big(ProtocolError::TooBigBulkCount)
    );
    assert_eq!(
        end(long("*1\r\n", 65_537, "")).end,
        too_big(ProtocolError::TooBigBulkCount)
    );
}

/// Case 81.
#[test]
fn clients_that_have_yet_to_authenticate_get_little() {
    let limits = Limits {
        authenticated: false,
        ..Limits::default()
    };
    let end = |stream: &[u8]| {
        every_cut(stream, &limits);
        feed(stream, &[], &limits).end
    };
    assert_eq!(end(b"*10\r\n$16384\r\n"), None);
    assert_eq!(
        end(b"*11\r\n"),
        Some(Decoded::Fail(ProtocolError::UnauthenticatedMultibulk))
    );
    assert_eq!(
        end(b"*1\r\n$16385\r\n"),
        Some(Decoded::Fail(ProtocolError::UnauthenticatedBulk))
    );
    assert_eq!(feed(b"*1\r\n$4\r\nPING\r\n", &[], &limits).commands.len(), 1);
}

#[test]
fn proto_max_bulk_len_is_a_limit_of_the_caller() {
    let limits = Limits {
        max_bulk_len: 1000,
        ..Limits::default()
    };
    let body = vec![b'x'; 1002];
    let of = |len: usize| {
        feed(
            &[format!("*1\r\n${len}\r\n").as_bytes(), &body].concat(),
            &[],
            &limits,
        )
        .end
    };
    assert_eq!(of(1001), Some(Decoded::Fail(ProtocolError::InvalidBulkLength)));
    assert_eq!(of(1000), Some(Decoded::Fail(ProtocolError::InvalidCrlf)));
    let endless = Limits {
        max_bulk_len: u64::MAX,
        ..Limits::default()
    };
    assert_eq!(
        feed(b"*1\r\n$4294967296\r\n", &[], &endless).end,
        Some(Decoded::Close)
    );
    assert_eq!(
        feed(b"*1\r\n$9223372036854775807\r\n", &[], &endless).end,
        Some(Decoded::Close)
    );
}

/// Case 86, and quotes as Valkey 9.1.2 takes them.
#[test]
fn inline_requests() {
    gives(b"\t SET  k\tv \r\n", &[&[b"SET", b"k", b"v"]]);
    gives(br#"echo "a\x41\n\r\t\b\a\q\"b""#, &[]);
    gives(
        b"echo \"a\\x41\\n\\r\\t\\b\\a\\q\\\"b\"\n",
        &[&[b"echo", b"aA\n\r\t\x08\x07q\"b"]],
    );
    gives(b"echo 'a\\n\\'b' 'it''s'\r\n", &[&[b"echo", b"a\\n'b", b"its"]]);
    gives(
        b"echo \"foo\"bar a'b c'd \"\" \\x41\r\n",
        &[&[b"echo", b"foobar", b"ab cd", b"", b"\\x41"]],
    );
    gives(
        b"echo \"\\xzz\\x4\" \"\\x414\"\r\n",
        &[&[b"echo", b"xzzx4", b"A4"]],
    );
    gives(b"echo a\x0bb \x0b c\x0c\r\n", &[&[b"echo", b"a\x0bb", b"c\x0c"]]);
    gives(b"a\rb\r\r\n", &[&[b"a", b"b"]]);
    for stream in [
        "echo \"foo\r\n",
        "echo 'foo\n",
        "a\"\n",
        "echo \"a\\\r\n",
        "echo 'a\\\r\n",
        "echo \"\\x4\n",
    ] {
        fails(stream.as_bytes(), ProtocolError::UnbalancedQuotes);
    }
}

/// Case 86.
#[test]
fn http_closes_silently() {
    for stream in [
        "POST / HTTP/1.1\r\n",
        "Host: foo\r\n",
        "\"post\"\n",
        "*1\r\n$4\r\nPOST\r\n",
        "*2\r\n$5\r\nhost:\r\n$1\r\nx\r\n",
    ] {
        assert_eq!(whole(stream.as_bytes()).end, Some(Decoded::Close), "{stream}");
        every_cut(stream.as_bytes(), &Limits::default());
    }
    gives(
        b"POSTX\r\nPINGX\r\nHost\r\n",
        &[&[b"POSTX"], &[b"PINGX"], &[b"Host"]],
    );
}

#[test]
fn errors_are_told_in_valkeys_words() {
    let mut reply = Reply::default();
    reply.error([b"ERR ".as_slice(), &ProtocolError::ExpectedDollar(b'\r').text()].concat());
    assert_eq!(
        reply.as_slice(),
        b"-ERR Protocol error: expected '$', got ' '\r\n"
    );
    assert_eq!(
        ProtocolError::InvalidCrlf.text().as_ref(),
        b"Protocol error: invalid CRLF in request"
    );
}

#[test]
fn the_hint_tells_what_a_long_argument_still_wants() {
    let mut arena = *b"*2\r\n$3\r\nSET\r\n$1000\r\nxyz";
    let (mut decoder, mut spans) = (Decoder::new(), Vec::new());
    let end = arena.len();
    let decoded = decoder.decode(&mut arena, 0, end, &mut spans, &Limits::default());
    assert_eq!(decoded, Decoded::Incomplete { need: 999 });
    assert!(!decoder.is_idle());
}

/// A read buffer that is used again holds old bytes behind the new ones.
#[test]
fn bytes_behind_the_end_are_not_there() {
    let arena = *b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n";
    for end in 0..20 {
        let (mut decoder, mut spans) = (Decoder::new(), Vec::new());
        let decoded = decoder.decode(&mut arena.clone(), 0, end, &mut spans, &Limits::default());
        assert!(
            matches!(decoded, Decoded::Incomplete { need: 1..=20 }) && spans.is_empty(),
            "{end}"
        );
    }
    let (mut decoder, mut spans) = (Decoder::new(), Vec::new());
    let decoded = decoder.decode(&mut arena.clone(), 0, 20, &mut spans, &Limits::default());
    assert_eq!(decoded, Decoded::Command { argc: 2, next: 20 });
}

/// A count alone takes no memory, and a big command's memory is given back.
#[test]
fn memory_follows_data() {
    let (mut decoder, mut spans) = (Decoder::new(), Vec::new());
    let mut announced = *b"*2147483647\r\n$1\r\nx\r\n$536870912\r\n";
    let end = announced.len();
    decoder.decode(&mut announced, 0, end, &mut spans, &Limits::default());
    assert!(decoder.heap_len() <= 512 && spans.capacity() < 128);
    decoder.reset();

    let mut arena = [b"*100000\r\n".as_slice(), &b"$1\r\nx\r\n".repeat(100_000)].concat();
    let end = arena.len();
    let decoded = decoder.decode(&mut arena, 0, end, &mut spans, &Limits::default());
    assert_eq!(
        decoded,
        Decoded::Command {
            argc: 100_000,
            next: end
        }
    );
    assert!(decoder.heap_len() <= 1024);
}

fn request(arguments: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        stream.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        stream.extend_from_slice(argument);
        stream.extend_from_slice(b"\r\n");
    }
    stream
}

fn cuts(len: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..=len, 0..8).prop_map(|mut cuts| {
        cuts.sort_unstable();
        cuts
    })
}

/// Streams near the grammar: its own bytes in any order.
fn near_requests() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "*",
        "$",
        "\r\n",
        "\r",
        "\n",
        "1",
        "2",
        "3",
        "0",
        "-",
        "a",
        "abc",
        " ",
        "\"",
        "'",
        "\\",
        "\\x41",
        "*1\r\n",
        "*2\r\n",
        "$1\r\na\r\n",
        "$3\r\nSET\r\n",
        "$10\r\n0123456789\r\n",
        "\0",
        "PING\r\n",
        "*3\r\n",
        "$100\r\n",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn what_is_sent_is_decoded(
        commands in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..130), 1..12), 1..5),
        seed in cuts(1000),
    ) {
        let stream: Vec<u8> = commands.iter().flat_map(|command| request(command)).collect();
        let cuts: Vec<usize> = seed.iter().map(|cut| cut * stream.len() / 1000).collect();
        let outcome = feed(&stream, &cuts, &Limits::default());
        prop_assert_eq!(outcome.commands, commands);
        prop_assert_eq!(outcome.end, None);
    }

    #[test]
    fn cuts_change_nothing((stream, cuts) in near_requests().prop_flat_map(|stream| {
        let len = stream.len();
        (Just(stream), cuts(len))
    }), authenticated: bool) {
        let limits = Limits { authenticated, ..Limits::default() };
        prop_assert_eq!(feed(&stream, &cuts, &limits), feed(&stream, &[], &limits));
    }

    #[test]
    fn any_bytes_are_bearable(stream: Vec<u8>, cut in 0usize..64) {
        feed(&stream, &[cut.min(stream.len())], &Limits::default());
    }
}
