//! Random commands against plain models.

use proptest::prelude::*;

use crate::engine::bench::Bench;

/// The length by the textbook's table, kept whole.
fn longest(a: &[u8], b: &[u8]) -> usize {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            table[i + 1][j + 1] = if x == y {
                table[i][j] + 1
            } else {
                table[i][j + 1].max(table[i + 1][j])
            };
        }
    }
    table[a.len()][b.len()]
}

fn is_subsequence(part: &[u8], of: &[u8]) -> bool {
    let mut rest = of.iter();
    part.iter().all(|byte| rest.any(|other| other == byte))
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn bytes_of_bulk(reply: &[u8]) -> &[u8] {
    let head = reply.iter().position(|byte| *byte == b'\n').expect("a head") + 1;
    &reply[head..reply.len() - 2]
}

#[derive(Clone, Debug)]
enum Edit {
    Append(Vec<u8>),
    SetRange(usize, Vec<u8>),
    Set(Vec<u8>),
    GetRange(i64, i64),
}

fn edit() -> impl Strategy<Value = Edit> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..90);
    prop_oneof![
        4 => bytes().prop_map(Edit::Append),
        4 => (0usize..3000, bytes()).prop_map(|(at, bytes)| Edit::SetRange(at, bytes)),
        1 => bytes().prop_map(Edit::Set),
        4 => (-400i64..3000, -400i64..3000).prop_map(|(from, to)| Edit::GetRange(from, to)),
    ]
}

/// What `GETRANGE` means, index by index.
fn range(value: &[u8], from: i64, to: i64) -> Vec<u8> {
    let len = value.len() as i64;
    let place = |at: i64| if at < 0 { (len + at).max(0) } else { at };
    if from < 0 && to < 0 && from > to {
        return Vec::new();
    }
    let indexes = (0..len).filter(|at| (place(from)..=place(to)).contains(at));
    indexes.map(|at| value[at as usize]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn edits_agree_with_a_vector(edits in prop::collection::vec(edit(), 1..25)) {
        let mut bench = Bench::with_follower(3);
        let mut model: Vec<u8> = Vec::new();
        for edit in edits {
            match edit {
                Edit::Append(bytes) => {
                    bench.run_words(&[b"APPEND", b"k", &bytes]);
                    model.extend(bytes);
                }
                Edit::SetRange(at, bytes) => {
                    bench.run_words(&[b"SETRANGE", b"k", at.to_string().as_bytes(), &bytes]);
                    if !bytes.is_empty() {
                        model.resize(model.len().max(at + bytes.len()), 0);
                        model[at..at + bytes.len()].copy_from_slice(&bytes);
                    }
                }
                Edit::Set(bytes) => {
                    bench.run_words(&[b"SET", b"k", &bytes]);
                    model = bytes;
                }
                Edit::GetRange(from, to) => {
                    let (first, last) = (from.to_string(), to.to_string());
                    let words = [b"GETRANGE", b"k".as_slice(), first.as_bytes(), last.as_bytes()];
                    prop_assert_eq!(bench.run_words(&words), bulk(&range(&model, from, to)));
                }
            }
        }
        let len = format!(":{}\r\n", model.len());
        prop_assert_eq!(bench.run("STRLEN k"), len);
        bench.assert_follower_equal();
    }

    #[test]
    fn sums_agree_with_wide_integers(
        start in prop_oneof![any::<i64>(), -120i64..120],
        steps in prop::collection::vec(prop_oneof![any::<i64>(), -12i64..12], 1..12),
    ) {
        let mut bench = Bench::new();
        bench.run(&format!("SET n {start}"));
        let mut model = i128::from(start);
        for step in steps {
            let sum = model + i128::from(step);
            let wanted = if i64::try_from(sum).is_ok() {
                model = sum;
                format!(":{sum}\r\n")
            } else {
                "-ERR increment or decrement would overflow\r\n".to_string()
            };
            prop_assert_eq!(bench.run(&format!("INCRBY n {step}")), wanted);
            let stored = bulk(model.to_string().as_bytes());
            prop_assert_eq!(bench.run_line("GET n"), stored);
        }
    }

    #[test]
    fn the_longest_common_subsequence(a in "[ab]{0,30}", b in "[abc]{0,30}") {
        let mut bench = Bench::new();
        bench.run_words(&[b"MSET", b"a", a.as_bytes(), b"b", b.as_bytes()]);
        let reply = bench.run_line("LCS a b");
        let found = bytes_of_bulk(&reply);
        prop_assert_eq!(found.len(), longest(a.as_bytes(), b.as_bytes()));
        prop_assert!(is_subsequence(found, a.as_bytes()) && is_subsequence(found, b.as_bytes()));
        prop_assert_eq!(bench.run("LCS a b LEN"), format!(":{}\r\n", found.len()));
    }
}
