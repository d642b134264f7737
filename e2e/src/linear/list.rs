//! A list to which numbers are pushed, each once, and which is read whole. It only grows, so that the longest reading
//! tells the place of every number and no search is needed: the state is the length.

use std::collections::HashMap;

use super::history::{Op, line};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// With the length after it, where one was answered.
    Push(u64, Option<u64>),
    Get(Vec<u64>),
}

/// One violation, or none. The last reading has to be of a time after all pushes, else what the end of the list lost is not
/// found.
pub fn check(history: &[Op<Action>]) -> Result<(), String> {
    let last: &[u64] = history
        .iter()
        .filter_map(|op| match &op.action {
            Action::Get(found) if op.is_done() => Some(found.as_slice()),
            _ => None,
        })
        .max_by_key(|found| found.len())
        .unwrap_or_default();
    let mut places = HashMap::new();
    for (at, number) in last.iter().enumerate() {
        if places.insert(*number, at as u64 + 1).is_some() {
            return Err(format!("{number} is there twice: {last:?}"));
        }
    }
    let mut versions = Vec::new();
    for op in history {
        if let Some(version) = version(op, last, &places)? {
            versions.push((op, version));
        }
    }
    for number in last {
        let is_of = |op: &&Op<Action>| matches!(op.action, Action::Push(pushed, _) if pushed == *number);
        if !history.iter().filter(is_of).any(Op::may_have_been) {
            return Err(format!(
                "{number} is there, and nobody pushed it or it was refused"
            ));
        }
    }
    in_time(versions)
}

/// The length at which the operation took place.
fn version(op: &Op<Action>, last: &[u64], places: &HashMap<u64, u64>) -> Result<Option<u64>, String> {
    match &op.action {
        Action::Get(found) if op.is_done() => {
            if !last.starts_with(found) {
                let what = "what was read is no beginning of the longest reading";
                return Err(format!("{what} {last:?}:\n  {}", line(op)));
            }
            Ok(Some(found.len() as u64))
        }
        Action::Push(number, length) if op.may_have_been() => {
            let place = places.get(number).copied();
            match (place, length) {
                (None, Some(length)) if *length <= last.len() as u64 => Err(format!(
                    "{number} was acknowledged and is not there:\n  {}",
                    line(op)
                )),
                (Some(place), Some(length)) if place != *length => {
                    Err(format!("{number} is at {place}:\n  {}", line(op)))
                }
                (None, Some(length)) => Ok(Some(*length)),
                (place, _) => Ok(place),
            }
        }
        _ => Ok(None),
    }
}

/// What was over before another began is not behind it.
fn in_time(mut versions: Vec<(&Op<Action>, u64)>) -> Result<(), String> {
    let mut returned = versions.clone();
    returned.sort_by_key(|(op, _)| op.returned_us);
    versions.sort_by_key(|(op, _)| op.invoked_us);
    let mut over = returned.into_iter().peekable();
    let mut newest: Option<(&Op<Action>, u64)> = None;
    for (op, version) in versions {
        while let Some(before) = over.next_if(|(before, _)| before.precedes(op)) {
            if newest.is_none_or(|(_, newest)| before.1 > newest) {
                newest = Some(before);
            }
        }
        let Some((before, least)) = newest else { continue };
        // A push makes a length of its own; a reading takes place at one.
        let is_push = matches!(op.action, Action::Push(..));
        if version < least || (is_push && version == least) {
            return Err(format!(
                "later and yet before:\n  {}\n  {}",
                line(before),
                line(op)
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::history::written::{done, refused, unknown};
    use super::Action::{Get, Push};
    use super::*;

    fn complaint(history: &[Op<Action>]) -> String {
        check(history).err().unwrap_or_default()
    }

    #[test]
    fn a_list_that_grows_is_right() {
        assert_eq!(complaint(&[]), "");
        let history = [
            done(0, 9, Push(1, Some(2))),
            done(0, 9, Push(2, Some(1))),
            done(4, 5, Get(vec![2])),
            unknown(10, Push(3, None)),
            unknown(10, Push(4, None)),
            refused(10, 11, Push(5, None)),
            done(12, 13, Get(vec![2, 1])),
            done(20, 21, Get(vec![2, 1, 4])),
        ];
        assert_eq!(complaint(&history), "");
    }

    #[test]
    fn loss_doubles_and_what_nobody_pushed_are_found() {
        let pushed = done(0, 1, Push(1, Some(1)));
        let with = |op| complaint(&[pushed.clone(), op]);
        assert!(with(done(2, 3, Get(vec![]))).contains("later and yet before"));
        assert!(with(done(2, 3, Get(vec![1, 1]))).contains("twice"));
        assert!(with(done(2, 3, Get(vec![1, 7]))).contains("nobody pushed"));
        let lost = [
            pushed.clone(),
            done(2, 3, Push(2, Some(1))),
            done(4, 5, Get(vec![2])),
        ];
        assert!(complaint(&lost).contains("1 was acknowledged and is not there"));
        let refused = [refused(0, 1, Push(1, None)), done(2, 3, Get(vec![1]))];
        assert!(complaint(&refused).contains("refused"));
    }

    #[test]
    fn the_end_that_was_lost_is_found_by_the_last_reading() {
        let lost = [
            done(0, 1, Push(1, Some(1))),
            done(2, 3, Push(2, Some(2))),
            done(4, 5, Get(vec![1])),
        ];
        assert!(complaint(&lost).contains("later and yet before"));
    }

    #[test]
    fn two_pasts_are_found() {
        let pushes = [
            unknown(0, Push(1, None)),
            unknown(0, Push(2, None)),
            unknown(0, Push(3, None)),
        ];
        let reads = [
            done(1, 2, Get(vec![1, 2])),
            done(1, 2, Get(vec![1, 3])),
            done(1, 2, Get(vec![1, 2, 3])),
        ];
        assert!(complaint(&[&pushes[..], &reads[..]].concat()).contains("no beginning"));
    }

    #[test]
    fn stale_and_early_readings_are_found() {
        let pushes = [done(0, 1, Push(1, Some(1))), done(2, 3, Push(2, Some(2)))];
        let with = |reads: &[Op<Action>]| complaint(&[&pushes[..], reads].concat());
        assert_eq!(with(&[done(2, 5, Get(vec![1])), done(6, 7, Get(vec![1, 2]))]), "");
        assert!(with(&[done(4, 5, Get(vec![1])), done(6, 7, Get(vec![1, 2]))]).contains("later"));
        // It was read before it was pushed.
        assert!(
            with(&[
                done(0, 1, Get(vec![1, 2, 3])),
                unknown(5, Push(3, None)),
                done(8, 9, Get(vec![1, 2, 3])),
            ])
            .contains("later")
        );
        let at_the_wrong_place = [
            done(0, 9, Push(1, Some(1))),
            done(0, 9, Push(2, Some(2))),
            done(10, 11, Get(vec![2, 1])),
        ];
        assert!(complaint(&at_the_wrong_place).contains("is at"));
        let out_of_order = [
            done(0, 1, Push(1, Some(2))),
            done(2, 3, Push(2, Some(1))),
            done(4, 5, Get(vec![2, 1])),
        ];
        assert!(complaint(&out_of_order).contains("later and yet before"));
    }
}
