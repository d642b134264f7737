//! When two replies count as equal. What has no order by contract is sorted, what is random is
//! compared by shape, what runs with the clock may be a little apart; all else is exact.

use crate::resp::Value;

/// Seconds or milliseconds: two servers get a command within a few hundred milliseconds.
const NEAR: i64 = 2000;

#[derive(Clone, Debug)]
pub enum Compare {
    Exact,
    /// The items of an array in any order.
    AnyOrder,
    /// Fields and values in turn, the pairs in any order.
    Pairs,
    /// A cursor and items (or pairs) in any order.
    Scan {
        pairs: bool,
    },
    /// Same types, same lengths.
    Shape,
    /// Numbers that run with the clock.
    Near,
    /// An EXEC: each reply as its command.
    Each(Vec<Compare>),
}

pub fn equal(compare: &Compare, ours: &Value, theirs: &Value) -> bool {
    match (compare, ours, theirs) {
        (Compare::Exact, ..) => ours == theirs,
        (Compare::AnyOrder, ..) => sorted(ours.clone(), 1) == sorted(theirs.clone(), 1),
        (Compare::Pairs, ..) => sorted(ours.clone(), 2) == sorted(theirs.clone(), 2),
        (Compare::Scan { pairs }, Value::Array(a), Value::Array(b)) if a.len() == 2 && b.len() == 2 => {
            let width = if *pairs { 2 } else { 1 };
            a[0] == b[0] && sorted(a[1].clone(), width) == sorted(b[1].clone(), width)
        }
        (Compare::Shape, ..) => shape(ours) == shape(theirs),
        (Compare::Near, Value::Integer(a), Value::Integer(b)) => near(*a, *b),
        (Compare::Near, Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(&Compare::Near, a, b))
        }
        (Compare::Each(each), Value::Array(a), Value::Array(b)) => {
            a.len() == b.len()
                && a.len() == each.len()
                && each
                    .iter()
                    .zip(a.iter().zip(b))
                    .all(|(how, (a, b))| equal(how, a, b))
        }
        // An error, a null or an EXECABORT where the kind of reply is another.
        _ => ours == theirs,
    }
}

/// Negative numbers are codes (no key, no TTL), not times.
fn near(a: i64, b: i64) -> bool {
    a == b || (a >= 0 && b >= 0 && a.abs_diff(b) <= NEAR.unsigned_abs())
}

/// The value with its groups of `width` items in a canonical order. Arrays of one pair each (as
/// RESP3 writes scores) sort as they are.
fn sorted(value: Value, width: usize) -> Value {
    let sort = |items: Vec<Value>| {
        let mut groups: Vec<_> = items.chunks(width).map(<[Value]>::to_vec).collect();
        groups.sort();
        groups.concat()
    };
    match value {
        Value::Array(items) => Value::Array(sort(items)),
        Value::Set(items) => Value::Set(sort(items)),
        Value::Map(items) => {
            let mut pairs: Vec<_> = items.chunks(2).map(<[Value]>::to_vec).collect();
            pairs.sort();
            Value::Map(pairs.concat())
        }
        other => other,
    }
}

/// The value with everything random blanked: texts of bulks and numbers go, errors stay.
fn shape(value: &Value) -> Value {
    match value {
        Value::Bulk(_) => Value::Bulk(Vec::new()),
        Value::Integer(_) => Value::Integer(0),
        Value::Double(_) => Value::Double(String::new()),
        Value::Array(items) => Value::Array(items.iter().map(shape).collect()),
        Value::Map(items) => Value::Map(items.iter().map(shape).collect()),
        Value::Set(items) => Value::Set(items.iter().map(shape).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(numbers: &[i64]) -> Value {
        Value::Array(numbers.iter().map(|n| Value::Integer(*n)).collect())
    }

    #[test]
    fn order_counts_only_where_it_is_promised() {
        let (a, b) = (array(&[1, 2, 3, 4]), array(&[3, 4, 1, 2]));
        assert!(!equal(&Compare::Exact, &a, &b));
        assert!(equal(&Compare::AnyOrder, &a, &b));
        assert!(equal(&Compare::Pairs, &a, &b));
        assert!(
            !equal(&Compare::Pairs, &a, &array(&[2, 1, 3, 4])),
            "a pair keeps its own order"
        );
        assert!(!equal(&Compare::AnyOrder, &a, &array(&[1, 2, 3, 3])));
    }

    #[test]
    fn random_replies_still_have_a_length_and_errors_a_text() {
        assert!(equal(&Compare::Shape, &array(&[1]), &array(&[9])));
        assert!(!equal(&Compare::Shape, &array(&[1]), &array(&[1, 2])));
        let error = |text: &str| Value::Error(text.as_bytes().to_vec());
        assert!(!equal(&Compare::Shape, &error("ERR a"), &error("ERR b")));
    }

    #[test]
    fn clocks_may_differ_but_codes_may_not() {
        assert!(equal(&Compare::Near, &array(&[100]), &array(&[99])));
        assert!(!equal(&Compare::Near, &array(&[-1]), &array(&[-2])));
        assert!(!equal(&Compare::Near, &array(&[-1]), &array(&[0])));
        let each = Compare::Each(vec![Compare::Exact, Compare::Near]);
        assert!(equal(&each, &array(&[1, 100]), &array(&[1, 101])));
        assert!(!equal(&each, &array(&[1, 100]), &array(&[2, 100])));
    }
}
