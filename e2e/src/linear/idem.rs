//! `IDEM` from outside: who was told to own a key, under which fence, and with which result it was done.
//!
//! The keys of a history are of one shard, since a fence is a number of the shard. Each claim has a token of its own, given again
//! only where the outcome of the first try is unknown.

use std::collections::HashMap;

use super::history::{Op, line};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Begin {
        key: u32,
        token: String,
        lease_us: u64,
        answer: Option<Answer>,
    },
    Complete {
        key: u32,
        token: String,
        fence: u64,
        result: String,
        is_ok: bool,
    },
    Abort {
        key: u32,
        token: String,
        fence: u64,
        is_ok: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    New(u64),
    Busy(u64),
    Finished(String),
}

/// Leases are counted in milliseconds by a clock that is read once a turn.
const GRANULE_US: u64 = 5_000;

/// One `NEW`.
struct Claim<'a> {
    op: &'a Op<Action>,
    key: u32,
    token: &'a str,
    lease_us: u64,
    fence: u64,
}

/// `is_timed`: leases end by a clock that goes as that of the history.
pub fn check(history: &[Op<Action>], is_timed: bool) -> Result<(), String> {
    let claims: Vec<Claim> = history.iter().filter_map(claim).collect();
    fences_have_one_owner(&claims)?;
    fences_grow(history, &claims)?;
    if is_timed {
        leases_exclude(history, &claims)?;
    }
    completed_once(history, &claims)
}

fn claim(op: &Op<Action>) -> Option<Claim<'_>> {
    match &op.action {
        Action::Begin {
            key,
            token,
            lease_us,
            answer: Some(Answer::New(fence)),
        } if op.is_done() => Some(Claim {
            op,
            key: *key,
            token,
            lease_us: *lease_us,
            fence: *fence,
        }),
        _ => None,
    }
}

fn two(what: &str, one: &Op<Action>, other: &Op<Action>) -> String {
    format!("{what}:\n  {}\n  {}", line(one), line(other))
}

fn fences_have_one_owner(claims: &[Claim]) -> Result<(), String> {
    let mut owners: HashMap<u64, &Claim> = HashMap::new();
    for claim in claims {
        let first = owners.entry(claim.fence).or_insert(claim);
        if (first.key, first.token) != (claim.key, claim.token) {
            return Err(two("two owners of one fence", first.op, claim.op));
        }
    }
    Ok(())
}

/// Whoever began after another had its answer has the higher fence, unless it repeats what it asked before: then
/// nobody else has owned its key since.
fn fences_grow(history: &[Op<Action>], claims: &[Claim]) -> Result<(), String> {
    let mut asked: HashMap<(u32, &str), u64> = HashMap::new();
    for op in history.iter().filter(|op| op.may_have_been()) {
        if let Action::Begin { key, token, .. } = &op.action {
            let first = asked.entry((*key, token)).or_insert(op.invoked_us);
            *first = op.invoked_us.min(*first);
        }
    }
    let mut returned: Vec<&Claim> = claims.iter().collect();
    returned.sort_by_key(|claim| claim.op.returned_us);
    let mut invoked = returned.clone();
    invoked.sort_by_key(|claim| claim.op.invoked_us);
    let mut over = returned.into_iter().peekable();
    let mut highest: Option<&Claim> = None;
    let mut highest_of: HashMap<u32, &Claim> = HashMap::new();
    for claim in invoked {
        while let Some(before) = over.next_if(|before| before.op.precedes(claim.op)) {
            if highest.is_none_or(|highest| before.fence > highest.fence) {
                highest = Some(before);
            }
            let of_key = highest_of.entry(before.key).or_insert(before);
            if before.fence > of_key.fence {
                *of_key = before;
            }
        }
        let is_first = asked.get(&(claim.key, claim.token)) == Some(&claim.op.invoked_us);
        if let Some(before) = highest
            && is_first
            && claim.fence <= before.fence
        {
            return Err(two("a fence did not grow", before.op, claim.op));
        }
        if let Some(before) = highest_of.get(&claim.key)
            && claim.fence < before.fence
        {
            return Err(two("an older fence was given again", before.op, claim.op));
        }
    }
    Ok(())
}

/// As long as the lease of one certainly runs, nobody else is told that it owns the key.
fn leases_exclude(history: &[Op<Action>], claims: &[Claim]) -> Result<(), String> {
    let mut by_key: HashMap<u32, Vec<&Claim>> = HashMap::new();
    for claim in claims {
        by_key.entry(claim.key).or_default().push(claim);
    }
    for (key, mut claims) in by_key {
        claims.sort_by_key(|claim| claim.op.returned_us);
        for (at, holder) in claims.iter().enumerate() {
            // It began no earlier than it was asked for.
            let until = holder.op.invoked_us + holder.lease_us.saturating_sub(GRANULE_US);
            let gave_up = history.iter().any(|op| match &op.action {
                Action::Abort { key: of, token, .. } => {
                    of == &key && token == holder.token && op.may_have_been()
                }
                _ => false,
            });
            let too_early = |next: &&&Claim| {
                next.token != holder.token && next.fence > holder.fence && next.op.returned_us < until
            };
            if let Some(next) = claims[at + 1..].iter().find(too_early)
                && !gave_up
            {
                return Err(two(
                    "a second owner while the lease of the first runs",
                    holder.op,
                    next.op,
                ));
            }
        }
    }
    Ok(())
}

/// One result a key, told to everybody from then on, and given by the owner of the last fence.
fn completed_once(history: &[Op<Action>], claims: &[Claim]) -> Result<(), String> {
    let mut results: HashMap<u32, (&str, &Op<Action>)> = HashMap::new();
    for op in history.iter().filter(|op| op.is_done()) {
        let (key, result) = match &op.action {
            Action::Complete {
                key,
                token,
                fence,
                result,
                is_ok: true,
            } => {
                let newer =
                    |claim: &&Claim| claim.key == *key && claim.fence > *fence && claim.op.precedes(op);
                if let Some(newer) = claims.iter().find(newer) {
                    return Err(two("completed under a fence that was over", newer.op, op));
                }
                let owns = |claim: &&Claim| {
                    claim.key == *key && claim.fence == *fence && claim.token == token.as_str()
                };
                if !claims.iter().any(|claim| owns(&claim)) {
                    return Err(format!("completed by who never owned it:\n  {}", line(op)));
                }
                (*key, result.as_str())
            }
            Action::Begin {
                key,
                answer: Some(Answer::Finished(result)),
                ..
            } => {
                let gave = |other: &Op<Action>| matches!(&other.action, Action::Complete { key: of, result: given, .. } if of == key && given == result);
                if !history
                    .iter()
                    .any(|other| gave(other) && other.may_have_been() && !op.precedes(other))
                {
                    return Err(format!("a result that nobody gave:\n  {}", line(op)));
                }
                (*key, result.as_str())
            }
            _ => continue,
        };
        let (first, by) = *results.entry(key).or_insert((result, op));
        if first != result {
            return Err(two("completed twice", by, op));
        }
    }
    still_finished(history)
}

/// Who begins after it was completed is told the result.
fn still_finished(history: &[Op<Action>]) -> Result<(), String> {
    let mut since: HashMap<u32, &Op<Action>> = HashMap::new();
    for op in history.iter().filter(|op| op.is_done()) {
        let key = match &op.action {
            Action::Complete { key, is_ok: true, .. }
            | Action::Begin {
                key,
                answer: Some(Answer::Finished(_)),
                ..
            } => *key,
            _ => continue,
        };
        let first = since.entry(key).or_insert(op);
        if op.returned_us < first.returned_us {
            *first = op;
        }
    }
    for op in history.iter().filter(|op| op.is_done()) {
        if let Action::Begin {
            key,
            answer: Some(Answer::New(_) | Answer::Busy(_)),
            ..
        } = &op.action
            && let Some(before) = since.get(key)
            && before.precedes(op)
        {
            return Err(two("it was done and begins anew", before, op));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::history::written::{done, unknown};
    use super::*;

    fn begin(token: &str, answer: Answer) -> Action {
        Action::Begin {
            key: 1,
            token: token.into(),
            lease_us: 100_000,
            answer: Some(answer),
        }
    }

    fn new(token: &str, fence: u64) -> Action {
        begin(token, Answer::New(fence))
    }

    fn finished(result: &str) -> Action {
        begin("z", Answer::Finished(result.into()))
    }

    fn complete(token: &str, fence: u64, result: &str, is_ok: bool) -> Action {
        Action::Complete {
            key: 1,
            token: token.into(),
            fence,
            result: result.into(),
            is_ok,
        }
    }

    fn complaint(history: &[Op<Action>]) -> String {
        check(history, true).err().unwrap_or_default()
    }

    #[test]
    fn one_owner_after_the_other_is_right() {
        let history = [
            done(0, 9, new("a", 1)),
            done(10, 19, begin("b", Answer::Busy(1))),
            done(20, 29, new("a", 1)),
            done(200_000, 200_009, new("b", 2)),
            done(200_010, 200_019, complete("a", 1, "x", false)),
            done(200_020, 200_029, complete("b", 2, "y", true)),
            done(200_030, 200_039, complete("b", 2, "y", true)),
            done(200_040, 200_049, finished("y")),
        ];
        assert_eq!(complaint(&history), "");
        let lost = [
            done(0, 9, new("a", 1)),
            unknown(10, complete("a", 1, "x", false)),
            done(20, 29, finished("x")),
        ];
        assert_eq!(complaint(&lost), "");
    }

    #[test]
    fn two_owners_are_found() {
        assert!(complaint(&[done(0, 9, new("a", 1)), done(0, 9, new("b", 1))]).contains("two owners"));
        assert!(complaint(&[done(0, 9, new("a", 1)), done(50, 59, new("b", 2))]).contains("while the lease"));
        let aborted = Action::Abort {
            key: 1,
            token: "a".into(),
            fence: 1,
            is_ok: true,
        };
        let after = [
            done(0, 9, new("a", 1)),
            done(10, 19, aborted),
            done(50, 59, new("b", 2)),
        ];
        assert_eq!(complaint(&after), "");
    }

    #[test]
    fn a_fence_that_does_not_grow_is_found() {
        let history = [done(0, 9, new("a", 5)), done(200_000, 200_009, new("b", 4))];
        assert!(complaint(&history).contains("did not grow"));
        let again = [
            done(0, 9, new("a", 5)),
            done(200_000, 200_009, new("b", 6)),
            done(200_010, 200_019, new("a", 5)),
        ];
        assert!(complaint(&again).contains("given again"));
    }

    #[test]
    fn a_second_result_and_a_late_one_are_found() {
        let twice = [
            done(0, 9, new("a", 1)),
            done(10, 19, complete("a", 1, "x", true)),
            done(20, 29, complete("a", 1, "y", true)),
        ];
        assert!(complaint(&twice).contains("twice"));
        let late = [
            done(0, 9, new("a", 1)),
            done(200_000, 200_009, new("b", 2)),
            done(200_010, 200_019, complete("a", 1, "x", true)),
        ];
        assert!(complaint(&late).contains("fence that was over"));
        assert!(complaint(&[done(0, 1, complete("a", 1, "x", true))]).contains("never owned"));
        assert!(complaint(&[done(0, 1, finished("x"))]).contains("nobody gave"));
    }

    #[test]
    fn what_is_done_stays_done() {
        let history = [
            done(0, 9, new("a", 1)),
            done(10, 19, complete("a", 1, "x", true)),
            done(200_000, 200_009, new("b", 2)),
        ];
        assert!(complaint(&history).contains("begins anew"));
    }
}
