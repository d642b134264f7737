//! The workloads: what the keyspace holds before, and what is asked of it.
//!
//! Keys are `key:0000` and eight digits, 16 bytes, as redis-benchmark makes them with `-r`, so both loads
//! meet the same keyspace. A workload never asks for what is not there: a miss is cheaper than a hit.

use crate::load::template::{Arg, Request, Source, value, words};

/// The keyspace of the plain rows, as redis-benchmark's `-r 100000`.
pub const KEYS: u64 = 100_000;

/// A batch of requests with serial numbers `0..count`.
#[derive(Clone, Debug)]
pub struct Fill {
    pub requests: Vec<Request>,
    pub count: u64,
}

#[derive(Clone, Debug)]
pub struct Workload {
    pub name: String,
    pub fill: Vec<Fill>,
    pub requests: Vec<Request>,
    /// Second leg of an exchange (see [`crate::load::Plan`]).
    pub follow_up: Option<Request>,
    /// Asked one at a time beside the load, for its latency.
    pub probe: Option<Request>,
    /// What it writes changes what the next round would do, so each round starts from an empty server.
    pub grows: bool,
}

impl Workload {
    fn new(name: &str, fill: Vec<Fill>, requests: Vec<Request>) -> Self {
        Self {
            name: name.to_owned(),
            fill,
            requests,
            follow_up: None,
            probe: None,
            grows: false,
        }
    }

    /// The same with its first request as the probe.
    pub fn probed(mut self) -> Self {
        self.probe = self.requests.first().cloned();
        self
    }

    fn growing(mut self) -> Self {
        self.grows = true;
        self
    }
}

pub fn request(words_before: &str, arguments: impl IntoIterator<Item = Arg>) -> Request {
    let mut request = words(words_before);
    request.extend(arguments);
    request
}

/// A 16-byte key.
pub fn key(source: Source) -> Arg {
    Arg::Number("key:0000", source)
}

/// `count` strings with values of `bytes`.
pub fn fill_strings(count: u64, bytes: usize) -> Fill {
    Fill {
        requests: vec![request("SET", [key(Source::Serial), value(bytes)])],
        count,
    }
}

pub fn get(keys: u64, bytes: usize) -> Workload {
    let name = format!("GET {}", size_name(bytes));
    Workload::new(
        &name,
        vec![fill_strings(keys, bytes)],
        vec![request("GET", [key(Source::Random(keys))])],
    )
}

pub fn set(keys: u64, bytes: usize) -> Workload {
    let name = format!("SET {}", size_name(bytes));
    let requests = vec![request("SET", [key(Source::Random(keys)), value(bytes)])];
    Workload::new(&name, vec![fill_strings(keys, bytes)], requests)
}

fn size_name(bytes: usize) -> String {
    if bytes >= 1024 {
        format!("{} KiB", bytes / 1024)
    } else {
        format!("{bytes} B")
    }
}

/// The families of part D with 16-byte values, each with the pipeline depth that it runs at.
pub fn families() -> Vec<(Workload, usize)> {
    let incr = Workload::new(
        "INCR",
        vec![Fill {
            requests: vec![request("SET", [key(Source::Serial), Arg::Text(b"1000".to_vec())])],
            count: KEYS,
        }],
        vec![request("INCR", [key(Source::Random(KEYS))])],
    );
    let pair = vec![
        request("LPUSH", [key(Source::Random(1000)), value(16)]),
        request("RPOP", [key(Source::Same)]),
    ];
    let queue = Workload::new("LPUSH/RPOP", vec![fill_lists(1000, 10)], pair);
    let sadd = request(
        "SADD",
        [
            key(Source::Random(1000)),
            Arg::Number("member:0", Source::Random(1000)),
        ],
    );
    let hset = request(
        "HSET",
        [
            key(Source::Random(10_000)),
            Arg::Number("field:00", Source::Random(10)),
            value(16),
        ],
    );
    let score = Arg::Number("", Source::Random(10_000_000));
    let zadd = request(
        "ZADD",
        [
            key(Source::Random(100)),
            score,
            Arg::Number("member:0", Source::Random(1000)),
        ],
    );
    let mset = request(
        "MSET",
        (0..10).flat_map(|_| [key(Source::Random(KEYS)), value(16)]),
    );
    let lrange = request(
        "LRANGE",
        [
            key(Source::Random(100)),
            Arg::Text(b"0".to_vec()),
            Arg::Text(b"99".to_vec()),
        ],
    );
    vec![
        (incr, 16),
        (queue, 16),
        (Workload::new("SADD", vec![], vec![sadd]).growing(), 16),
        (Workload::new("HSET", vec![fill_hashes(10_000)], vec![hset]), 16),
        (Workload::new("ZADD", vec![], vec![zadd]).growing(), 16),
        (
            Workload::new("MSET 10", vec![fill_strings(KEYS, 16)], vec![mset]),
            16,
        ),
        (
            Workload::new("LRANGE 100", vec![fill_lists(100, 100)], vec![lrange]),
            16,
        ),
        (get(10_000, 1024), 16),
        (set(10_000, 1024), 16),
        (get(1000, 64 * 1024), 4),
        (set(1000, 64 * 1024), 4),
    ]
}

pub fn fill_lists(count: u64, elements: usize) -> Fill {
    let values = (0..elements).map(|_| value(16));
    Fill {
        requests: vec![request("RPUSH", [key(Source::Serial)].into_iter().chain(values))],
        count,
    }
}

/// Hashes of ten fields: 8-byte names, 16-byte values.
pub fn fill_hashes(count: u64) -> Fill {
    let pairs = (0..10).flat_map(|n| [Arg::Text(format!("field:{n:02}").into_bytes()), value(16)]);
    Fill {
        requests: vec![request("HSET", [key(Source::Serial)].into_iter().chain(pairs))],
        count,
    }
}

/// `members` members of 16 bytes spread over sets of 1000.
pub fn fill_sets(members: u64) -> Fill {
    Fill {
        requests: vec![request("SADD", [key(collection()), member()])],
        count: members,
    }
}

/// The same as sorted sets, the score being the member's number.
pub fn fill_sorted_sets(members: u64) -> Fill {
    let score = Arg::Number(
        "",
        Source::SerialOver {
            divide: 1,
            modulo: 1000,
        },
    );
    Fill {
        requests: vec![request("ZADD", [key(collection()), score, member()])],
        count: members,
    }
}

fn collection() -> Source {
    Source::SerialOver {
        divide: 1000,
        modulo: u64::MAX,
    }
}

fn member() -> Arg {
    Arg::Number("member:0", Source::Serial)
}

/// An idempotent operation with a new key each time: begun, then completed with the fence that it was given.
fn idempotency(begin: Request, complete: Request) -> Workload {
    let mut workload = Workload::new("IDEM BEGIN+COMPLETE", vec![], vec![begin]).growing();
    workload.follow_up = Some(complete);
    workload
}

const LEASE_MS: &str = "30000";
const TTL_MS: &str = "600000";

pub fn native_idempotency() -> Workload {
    let options = format!("LEASE {LEASE_MS} TTL {TTL_MS} OWNER");
    let begin = request("IDEM BEGIN", [key(Source::Serial), value(16)])
        .into_iter()
        .chain(words(&options))
        .chain([token()])
        .collect();
    let complete = request(
        "IDEM COMPLETE",
        [key(Source::Serial), token(), Arg::Captured, value(16)],
    )
    .into_iter()
    .chain(words(&format!("TTL {TTL_MS}")))
    .collect();
    idempotency(begin, complete)
}

/// The scripts of `bench/lua`, by their SHA-1.
pub fn scripted_idempotency(begin_sha: &str, complete_sha: &str) -> Workload {
    let begin = request(&format!("EVALSHA {begin_sha} 2"), [key(Source::Serial)])
        .into_iter()
        .chain(words("fences"))
        .chain([value(16), token()])
        .chain(words(&format!("{LEASE_MS} {TTL_MS}")))
        .collect();
    let complete = request(
        &format!("EVALSHA {complete_sha} 1"),
        [
            key(Source::Serial),
            token(),
            Arg::Captured,
            value(16),
            Arg::Text(TTL_MS.into()),
        ],
    );
    idempotency(begin, complete)
}

fn token() -> Arg {
    Arg::Number("owner:00", Source::Serial)
}

/// Calls that are allowed, over many buckets; `before` and `after` stand around the key.
pub fn limit_allowed(before: &str, after: &str) -> Workload {
    let call = request(before, [key(Source::Random(KEYS))])
        .into_iter()
        .chain(words(after))
        .collect();
    Workload {
        name: "LIMIT allowed".to_owned(),
        fill: vec![],
        requests: vec![call],
        follow_up: None,
        probe: None,
        grows: true,
    }
}

/// Calls that are all denied: every bucket is emptied first, and refills in a day.
pub fn limit_denied(before: &str, after: &str) -> Workload {
    let with = |source| {
        request(before, [key(source)])
            .into_iter()
            .chain(words(after))
            .collect::<Request>()
    };
    let fill = Fill {
        requests: vec![with(Source::Serial)],
        count: 1000,
    };
    Workload {
        name: "LIMIT denied flood".to_owned(),
        fill: vec![fill],
        requests: vec![with(Source::Random(1000))],
        follow_up: None,
        probe: None,
        grows: false,
    }
}
