//! Unions, intersections and differences of sorted sets and sets, answered, counted or stored.

use std::cmp::Ordering;

use hashbrown::HashMap;

use super::source::{Source, sources};
use super::{reply, store};
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX, WRONG_TYPE};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Key, Type};
use crate::text::fold;
use crate::text::number::{parse_f64, parse_i64};
use crate::value::sorted_set::Pairs;

const WEIGHT: Error = Error::new("ERR weight value is not a float");
const LIMIT: Error = Error::new("ERR LIMIT can't be negative");

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// What becomes of the result.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Answer,
    Store,
    Count,
}

#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

struct Options {
    weights: Option<Vec<f64>>,
    aggregate: Aggregate,
    with_scores: bool,
    /// 0 is no limit.
    limit: usize,
}

type Member<'a> = (&'a [u8], f64);

pub(super) fn zunion(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    combine(x, args, "zunion", Operation::Union, Purpose::Answer)
}

pub(super) fn zinter(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    combine(x, args, "zinter", Operation::Intersection, Purpose::Answer)
}

pub(super) fn zdiff(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    combine(x, args, "zdiff", Operation::Difference, Purpose::Answer)
}

pub(super) fn zunionstore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    combine(x, args, "zunionstore", Operation::Union, Purpose::Store)
}

pub(super) fn zinterstore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    combine(x, args, "zinterstore", Operation::Intersection, Purpose::Store)
}

pub(super) fn zdiffstore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    combine(x, args, "zdiffstore", Operation::Difference, Purpose::Store)
}

pub(super) fn zintercard(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    combine(x, args, "zintercard", Operation::Intersection, Purpose::Count)
}

fn combine(
    x: &mut Exec<'_>,
    args: Args<'_>,
    name: &'static str,
    operation: Operation,
    purpose: Purpose,
) -> Outcome {
    let numkeys_at = if purpose == Purpose::Store { 2 } else { 1 };
    let count = parse_i64(args.get(numkeys_at)).ok_or(NOT_AN_INTEGER)?;
    if count < 1 {
        return Err(Error::from(format!("ERR at least 1 input key is needed for '{name}' command")).into());
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > args.len() - (numkeys_at + 1) {
        return Err(SYNTAX.into());
    }
    let keys: Vec<Key<'_>> = args
        .iter_from(numkeys_at + 1)
        .take(count)
        .map(|key| x.db.key(key))
        .collect();
    for key in &keys {
        // Counted as read, and removed if its time is past; what is found is read below.
        let kind = x.db.find(*key).map(|slot| Type::of(slot.kind()));
        if !matches!(kind, None | Some(Type::SortedSet | Type::Set)) {
            return Err(WRONG_TYPE.into());
        }
    }
    let options = parse(args.skip(numkeys_at + 1 + count), count, operation, purpose)?;
    let sources = sources(&x.db, &keys, options.weights.as_deref());
    if purpose == Purpose::Count {
        let mut found = 0;
        intersect(&sources, options.aggregate, &mut |_, _| {
            found += 1;
            found != options.limit
        });
        x.reply.count(found);
        return Ok(());
    }
    let members = evaluate(&sources, operation, options.aggregate);
    if purpose == Purpose::Answer {
        reply::begin(x.reply, members.len(), options.with_scores);
        for (member, score) in members {
            reply::member(x.reply, member, score, options.with_scores);
        }
        return Ok(());
    }
    let mut pairs = Pairs::default();
    members
        .into_iter()
        .for_each(|(member, score)| pairs.push(member, score));
    store::replace(x, args.get(1), &pairs, name);
    Ok(())
}

fn parse(args: Args<'_>, keys: usize, operation: Operation, purpose: Purpose) -> Result<Options, Error> {
    let mut options = Options {
        weights: None,
        aggregate: Aggregate::Sum,
        with_scores: false,
        limit: 0,
    };
    let scores_combine = operation != Operation::Difference && purpose != Purpose::Count;
    let mut at = 0;
    while at < args.len() {
        let word = args.get(at);
        let left = args.len() - at;
        if scores_combine && left > keys && fold::is(word, "WEIGHTS") {
            let words = args.iter_from(at + 1).take(keys);
            let weights: Option<Vec<f64>> = words.map(parse_f64).collect();
            options.weights = Some(weights.ok_or(WEIGHT)?);
            at += 1 + keys;
        } else if scores_combine && left > 1 && fold::is(word, "AGGREGATE") {
            let how = args.get(at + 1);
            options.aggregate = if fold::is(how, "SUM") {
                Aggregate::Sum
            } else if fold::is(how, "MIN") {
                Aggregate::Min
            } else if fold::is(how, "MAX") {
                Aggregate::Max
            } else {
                return Err(SYNTAX);
            };
            at += 2;
        } else if purpose == Purpose::Answer && fold::is(word, "WITHSCORES") {
            options.with_scores = true;
            at += 1;
        } else if purpose == Purpose::Count && left > 1 && fold::is(word, "LIMIT") {
            let limit = parse_i64(args.get(at + 1)).and_then(|limit| usize::try_from(limit).ok());
            options.limit = limit.ok_or(LIMIT)?;
            at += 2;
        } else {
            return Err(SYNTAX);
        }
    }
    Ok(options)
}

/// The result's members in order.
fn evaluate<'a>(sources: &'a [Source<'_>], operation: Operation, aggregate: Aggregate) -> Vec<Member<'a>> {
    let mut members = Vec::new();
    match operation {
        Operation::Union => members = unite(sources, aggregate),
        Operation::Intersection => intersect(sources, aggregate, &mut |member, score| {
            members.push((member, score));
            true
        }),
        Operation::Difference => {
            if let Some((first, others)) = sources.split_first() {
                first.visit(&mut |member, score| {
                    if others.iter().all(|other| other.score(member).is_none()) {
                        members.push((member, score));
                    }
                    true
                });
            }
        }
    }
    members.sort_unstable_by(|(a, a_score), (b, b_score)| {
        a_score
            .partial_cmp(b_score)
            .unwrap_or(Ordering::Equal)
            .then_with(|| a.cmp(b))
    });
    members
}

/// Sources from the smallest up. The order decides how sums of fractions round, so it is Valkey's.
fn by_size<'s, 'a>(sources: &'s [Source<'a>]) -> Vec<&'s Source<'a>> {
    let mut sorted: Vec<_> = sources.iter().collect();
    sorted.sort_by_key(|source| source.len());
    sorted
}

fn unite<'a>(sources: &'a [Source<'_>], aggregate: Aggregate) -> Vec<Member<'a>> {
    let mut scores: HashMap<&'a [u8], f64, foldhash::fast::RandomState> = HashMap::default();
    for source in by_size(sources) {
        source.visit(&mut |member, score| {
            let score = or_zero(source.weight * score);
            scores
                .entry(member)
                .and_modify(|sum| *sum = aggregate.of(*sum, score))
                .or_insert(score);
            true
        });
    }
    scores.into_iter().collect()
}

/// Shows what all sources hold, until `show` says false.
fn intersect<'a>(
    sources: &'a [Source<'_>],
    aggregate: Aggregate,
    show: &mut dyn FnMut(&'a [u8], f64) -> bool,
) {
    let sorted = by_size(sources);
    let Some((first, others)) = sorted.split_first() else {
        return;
    };
    first.visit(&mut |member, score| {
        let mut sum = or_zero(first.weight * score);
        for other in others {
            let Some(score) = other.score(member) else {
                return true;
            };
            sum = aggregate.of(sum, score * other.weight);
        }
        show(member, sum)
    });
}

/// Infinity times zero counts as zero.
fn or_zero(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

impl Aggregate {
    /// Infinities of both signs add up to zero.
    fn of(self, sum: f64, score: f64) -> f64 {
        match self {
            Self::Sum => or_zero(sum + score),
            Self::Min if score < sum => score,
            Self::Max if score > sum => score,
            Self::Min | Self::Max => sum,
        }
    }
}
