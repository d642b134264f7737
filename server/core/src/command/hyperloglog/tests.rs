//! The commands through the engine. Expected replies and values are Valkey 9.1.2's.

use super::self_test::{estimates_hold, registers_keep};
use crate::engine::bench::Bench;

#[test]
fn transcript() {
    Bench::with_follower(1).transcript(include_str!("transcript.txt"));
}

/// FNV-1a, 64 bits.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn bytes(bench: &Bench, key: &str) -> Vec<u8> {
    let shard = &bench.engine.shard;
    let entry = shard.databases[0].get(&shard.heap, shard.heap.hash(key.as_bytes()), key.as_bytes());
    entry.expect("the key is there").bytes().to_vec()
}

fn value(bench: &Bench, key: &str) -> (usize, u64) {
    let bytes = bytes(bench, key);
    (bytes.len(), fingerprint(&bytes))
}

/// The same with the count where Valkey keeps it once it has counted.
fn counted_value(bench: &Bench, key: &str, count: &str) -> (usize, u64) {
    let mut bytes = bytes(bench, key);
    bytes[8..16].copy_from_slice(&count.parse::<u64>().unwrap().to_le_bytes());
    (bytes.len(), fingerprint(&bytes))
}

#[test]
fn values_are_byte_for_byte_those_of_valkey_but_for_the_count() {
    let mut bench = Bench::new();
    let mut before = String::new();
    let mut cases = 0;
    for line in include_str!("values.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let words: Vec<&str> = line.split(' ').collect();
        let [
            salt,
            added,
            bytes_max,
            len,
            print,
            count,
            merged_len,
            merged_print,
        ] = words[..]
        else {
            panic!("eight words: {line}");
        };
        bench.engine.shard.limits.hll_sparse_max_bytes = bytes_max.parse().unwrap();
        let added: usize = added.parse().unwrap();
        let elements: Vec<String> = (0..added).map(|nth| format!("{salt}:{nth}")).collect();
        for some in elements.chunks(100) {
            bench.run(&format!("PFADD {salt} {}", some.join(" ")));
        }
        assert_eq!(
            bench.run(&format!("PFCOUNT {salt}")),
            format!(":{count}\r\n"),
            "{line}"
        );
        let wanted = |len: &str, print: &str| (len.parse().unwrap(), u64::from_str_radix(print, 16).unwrap());
        assert_eq!(counted_value(&bench, salt, count), wanted(len, print), "{line}");
        bench.run("GETDEL merged");
        bench.run(&format!("PFMERGE merged {salt} {before}"));
        assert_eq!(
            value(&bench, "merged"),
            wanted(merged_len, merged_print),
            "{line}"
        );
        before = salt.to_string();
        cases += 1;
    }
    assert_eq!(cases, 48);
}

/// Bytes of a client that begin as a HyperLogLog does: an error or an answer, and a value that is refused is
/// left as it was.
#[test]
fn corrupt_values_are_borne() {
    let mut bench = Bench::with_follower(1);
    for seed in 0..400u64 {
        let mut bytes = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80".to_vec();
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for _ in 0..seed % 40 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.push(state as u8);
        }
        bench.run_words(&[b"SET", b"k", &bytes]);
        let added = bench.run("PFADD k a b c d e f");
        if added.starts_with('-') {
            assert_eq!(added, "-INVALIDOBJ Corrupted HLL object detected\r\n");
            assert_eq!(value(&bench, "k"), (bytes.len(), fingerprint(&bytes)));
        }
        for line in [
            "PFCOUNT k",
            "PFCOUNT k other",
            "PFMERGE m k",
            "PFDEBUG DECODE k",
            "PFDEBUG TODENSE k",
        ] {
            let reply = bench.run(line);
            assert!(!reply.is_empty() && !reply.starts_with("-ERR"), "{line}: {reply}");
        }
    }
    bench.assert_follower_equal();
}

#[test]
fn the_self_test_passes() {
    let mut state = 9u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    assert_eq!(registers_keep(&mut random), Ok(()));
    assert_eq!(estimates_hold(77, 3000, 10_000), Ok(()));
}
