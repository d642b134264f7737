//! Images that earlier versions wrote are read by this one. Each folder of `tests/compat` has the files of a version;
//! what they hold is said here by hand, as clients see it.
//!
//! `UPDATE=1` writes the folder of the present format where it is missing; it is never written again.

use std::fs;
use std::path::{Path, PathBuf};

use ruvio_core::keyspace::Shard;

use super::history::{History, SEED, SHARD, Scratch};
use crate::image::Image;

/// Two windows, so that the second tells of rows of the first: joins, deletions, a rename, an exchange of databases.
const WINDOWS: [&[&str]; 2] = [
    &[
        "SET string value",
        "SET number 12345 PXAT 1800000000000",
        "SET long abcdef",
        "SET gone x",
        "SET expiring v PXAT 1800000000001",
        "HSET hash a 1 b 2 c 3",
        "HPEXPIREAT hash 1800000000002 FIELDS 1 b",
        "RPUSH list one two three",
        "SADD numbers 3 1 2",
        "SADD words x y",
        "ZADD scores 1.5 half -inf least 2 two",
        "PFADD visits a b c",
        "SETBIT bits 9 1",
        "RPUSH dropped 1 2 3",
        "SADD before m n",
        "IDEM BEGIN job print OWNER me",
        "IDEM COMPLETE job me 1 result",
        "LIMIT rate RATE 10 PER 3600000 COST 4",
        "LIMIT window WINDOW 5 PER 3600000 COST 2",
        "SELECT 1",
        "SET elsewhere 1",
        "SELECT 2",
        "RPUSH emptied x",
        "SELECT 0",
    ],
    &[
        "APPEND long -more",
        "SETRANGE long 1 BC",
        "DEL gone dropped",
        "PERSIST expiring",
        "HSET hash d 4 a 10",
        "HDEL hash c",
        "LINSERT list BEFORE two between",
        "LPUSH list zero",
        "LPOP list",
        "SREM numbers 1",
        "ZADD scores 7 half",
        "ZREM scores two",
        "RENAME before after",
        "SADD after o",
        "SELECT 2",
        "FLUSHDB",
        "SWAPDB 1 3",
        "SELECT 0",
    ],
];

/// What a client is answered by what was loaded.
const ANSWERS: &[(&str, &str)] = &[
    ("DBSIZE", ":15"),
    ("GET string", "$5 value"),
    ("GET number", "$5 12345"),
    ("PEXPIRETIME number", ":1800000000000"),
    ("GET long", "$11 aBCdef-more"),
    ("EXISTS gone dropped before", ":0"),
    ("PEXPIRETIME expiring", ":-1"),
    ("HLEN hash", ":3"),
    ("HMGET hash a b c d", "*4 $2 10 $1 2 $-1 $1 4"),
    ("HPEXPIRETIME hash FIELDS 2 a b", "*2 :-1 :1800000000002"),
    ("LRANGE list 0 -1", "*4 $3 one $7 between $3 two $5 three"),
    ("SMISMEMBER numbers 1 2 3", "*3 :0 :1 :1"),
    ("SCARD numbers", ":2"),
    ("OBJECT ENCODING numbers", "$6 intset"),
    ("SMISMEMBER words x y z", "*3 :1 :1 :0"),
    (
        "ZRANGE scores 0 -1 WITHSCORES",
        "*4 $5 least $4 -inf $4 half $1 7",
    ),
    ("PFCOUNT visits", ":3"),
    ("BITPOS bits 1", ":9"),
    ("SMISMEMBER after m n o", "*3 :1 :1 :1"),
    (
        "IDEM BEGIN job print OWNER you",
        "*3 $4 DONE $6 result :1700000000000",
    ),
    ("IDEM BEGIN another print OWNER you", "*3 $3 NEW :2 $3 you"),
    (
        "LIMIT rate RATE 10 PER 3600000 COST 7",
        "*5 :0 :10 :6 :360000 :1440000",
    ),
    (
        "LIMIT window WINDOW 5 PER 3600000 COST 1",
        "*5 :1 :5 :2 :0 :3600000",
    ),
    ("SELECT 1", "+OK"),
    ("DBSIZE", ":0"),
    ("SELECT 2", "+OK"),
    ("DBSIZE", ":0"),
    ("SELECT 3", "+OK"),
    ("GET elsewhere", "$1 1"),
];

fn folder(version: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat");
    tests.join(version).join("image/rows")
}

/// Without what the next that opens it makes anew.
fn write(rows: &Path) {
    let scratch = Scratch::new();
    let mut history = History::new();
    {
        let image = Image::open(&scratch.0, &[SHARD]).expect("a new image");
        for window in WINDOWS {
            for line in window {
                history.run(line);
                history.end_entry();
            }
            history.advance(&image, history.last());
        }
    }
    fs::create_dir_all(rows).expect("a folder");
    for file in fs::read_dir(scratch.0.join("rows")).expect("rows") {
        let file = file.expect("a file");
        let name = file.file_name().to_string_lossy().into_owned();
        let is_kept = ["CURRENT", "MANIFEST"].iter().any(|kept| name.starts_with(kept));
        if is_kept || name.ends_with(".sst") {
            fs::copy(file.path(), rows.join(name)).expect("it is writable");
        }
    }
}

#[test]
fn the_image_of_version_1_is_read() {
    let rows = folder("v1");
    if !rows.exists() && std::env::var_os("UPDATE").is_some() {
        write(&rows);
    }
    let scratch = Scratch::new();
    let copy = scratch.0.join("rows");
    fs::create_dir_all(&copy).expect("a folder");
    for file in fs::read_dir(&rows).expect("it is kept") {
        let file = file.expect("a file");
        fs::copy(file.path(), copy.join(file.file_name())).expect("it is writable");
    }
    let image = Image::open(&scratch.0, &[SHARD]).expect("it opens");
    let mut shard = Shard::new(SEED, 2);
    let loaded = image.load(SHARD, &mut shard).expect("a load").expect("an image");
    assert_eq!(loaded.meta.at.index as usize, WINDOWS.concat().len());
    let mut history = History::of(shard);
    for (line, expected) in ANSWERS {
        let answer = history.run(line);
        assert_eq!(
            answer.split_whitespace().collect::<Vec<_>>().join(" "),
            *expected,
            "{line}"
        );
    }
}
