//! Random arguments from small alphabets, so that commands meet on the same keys, fields and
//! members; with the numbers and texts at which servers go wrong.
//!
//! Two bounds keep a run short: no count asks for millions of items, no offset for megabytes.

use fastrand::Rng;

/// How often a key is one of another family's, of a hundred.
const FOREIGN_PERCENT: u32 = 8;
/// How often a number is one from the edge, of a hundred.
const EDGE_PERCENT: u32 = 12;

const FAMILIES: [&str; 5] = ["str", "hash", "list", "set", "zset"];
const VALUES: [&str; 18] = [
    "",
    "0",
    "1",
    "-1",
    "10",
    "5",
    "3.5",
    "-2.25",
    "1e3",
    "-0",
    "01",
    "+1",
    " 1",
    "abc",
    "hello world",
    "nan",
    "9223372036854775807",
    "-9223372036854775808",
];
const MEMBERS: [&str; 14] = [
    "a",
    "b",
    "c",
    "d",
    "aa",
    "ab",
    "1",
    "2",
    "3",
    "-5",
    "100000",
    "x y",
    "",
    "member-longer-than-sixty-four-bytes-so-that-it-does-not-fit-a-small-encoding",
];
const FIELDS: [&str; 8] = [
    "f1",
    "f2",
    "f3",
    "f4",
    "1",
    "",
    "field",
    "f-longer-than-sixty-four-bytes-so-that-it-does-not-fit-a-small-encoding",
];
const EDGES: [&str; 10] = [
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "-9223372036854775809",
    "-1",
    "0",
    "1.5",
    "abc",
    "",
    "18446744073709551616",
];
const FLOATS: [&str; 16] = [
    "0", "1", "2", "-1", "1.5", "0.1", "-2.25", "3.0", "1e3", "100", "inf", "-inf", "+inf", "nan", "abc",
    "1e400",
];
const PATTERNS: [&str; 9] = ["*", "a*", "*1", "f?", "[a-c]", "[^a]", "\\a", "str*", "nothing"];

/// Far enough away that no run meets them, and apart from each other.
const FAR_SECS: i64 = 4_102_444_800;

pub fn fill(slot: &str, rng: &mut Rng) -> Vec<u8> {
    let text = match slot {
        "str" | "hash" | "list" | "set" | "zset" => key(slot, rng),
        "hll" => format!("hll{}", rng.u32(1..4)),
        "key" => key(FAMILIES[rng.usize(..FAMILIES.len())], rng),
        "value" => return value(rng),
        "field" => pick(&FIELDS, rng),
        "member" => pick(&MEMBERS, rng),
        "int" => number(rng, -20..21),
        // Ranges and positions: one-digit numbers around the ends of small collections.
        "index" => number(rng, -8..9),
        // Counts of what may repeat: the edges that Valkey would try to serve are left out.
        "count" => {
            if rng.u32(..100) < EDGE_PERCENT {
                pick(
                    &[
                        "0",
                        "-9223372036854775808",
                        "9223372036854775808",
                        "abc",
                        "1.5",
                        "",
                    ],
                    rng,
                )
            } else {
                rng.i64(-6..12).to_string()
            }
        }
        "natural" => number(rng, 0..8),
        "offset" => {
            if rng.u32(..100) < EDGE_PERCENT {
                pick(
                    &["-1", "4294967296", "9223372036854775807", "abc", "536870912"],
                    rng,
                )
            } else {
                rng.u32(..200).to_string()
            }
        }
        // As an offset of bits the edge of SETRANGE would take 64 MiB.
        "bitpos" => {
            if rng.u32(..100) < EDGE_PERCENT {
                pick(&["-1", "4294967296", "9223372036854775807", "abc"], rng)
            } else {
                rng.u32(..1000).to_string()
            }
        }
        "bit" => pick(&["0", "1", "0", "1", "0", "1", "2", "abc"], rng),
        "bits" => {
            let sign = pick(&["u", "i"], rng);
            format!(
                "{sign}{}",
                pick(
                    &["1", "4", "5", "8", "13", "16", "31", "32", "63", "64", "65", "0"],
                    rng
                )
            )
        }
        "bitoffset" => {
            let unit = pick(&["", "", "#"], rng);
            format!("{unit}{}", rng.u32(..70))
        }
        "float" => pick(&FLOATS, rng),
        "decimal" => format!("{}.{:02}", rng.i32(-50..50), rng.u32(..100)),
        "score" => {
            let open = pick(&["", "", "("], rng);
            format!("{open}{}", pick(&FLOATS, rng))
        }
        "lex" => match rng.u32(..10) {
            0 => "-".to_owned(),
            1 => "+".to_owned(),
            2 => pick(&MEMBERS, rng),
            n => format!("{}{}", if n % 2 == 0 { "(" } else { "[" }, pick(&MEMBERS, rng)),
        },
        "secs" => pick(
            &[
                "100",
                "200",
                "1000",
                "50000",
                "0",
                "-1",
                "9223372036854775807",
                "abc",
            ],
            rng,
        ),
        "millis" => pick(
            &[
                "100000",
                "200000",
                "1000000",
                "90000000",
                "0",
                "-1",
                "9223372036854775807",
            ],
            rng,
        ),
        "at" => at(rng, 1),
        "atms" => at(rng, 1000),
        "pattern" => pick(&PATTERNS, rng),
        "db" => pick(&["0", "0", "0", "1", "16", "-1", "abc"], rng),
        other => panic!("no slot is named {other}"),
    };
    text.into_bytes()
}

fn key(family: &str, rng: &mut Rng) -> String {
    let family = if rng.u32(..100) < FOREIGN_PERCENT {
        FAMILIES[rng.usize(..FAMILIES.len())]
    } else {
        family
    };
    format!("{family}{}", rng.u32(1..4))
}

fn value(rng: &mut Rng) -> Vec<u8> {
    match rng.u32(..20) {
        0 => b"\x00\xff\r\n\"\\".to_vec(),
        1 => vec![b'v'; rng.usize(40..300)],
        2 => rng.i64(-1000..1000).to_string().into_bytes(),
        _ => pick(&VALUES, rng).into_bytes(),
    }
}

fn number(rng: &mut Rng, usual: std::ops::Range<i64>) -> String {
    if rng.u32(..100) < EDGE_PERCENT {
        pick(&EDGES, rng)
    } else {
        rng.i64(usual).to_string()
    }
}

/// A point in time: far ahead, long past, or no time at all.
fn at(rng: &mut Rng, per_second: i64) -> String {
    match rng.u32(..12) {
        0 => "1".to_owned(),
        1 => pick(&["0", "-1", "abc", "200000000000", "-9223372036854775808"], rng),
        _ => ((FAR_SECS + rng.i64(0..6) * 1000) * per_second).to_string(),
    }
}

fn pick(from: &[&str], rng: &mut Rng) -> String {
    from[rng.usize(..from.len())].to_owned()
}
