//! Intersections, unions and differences, answered or stored.

use crate::command::Args;
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key, Type};
use crate::text::fold;
use crate::text::number::parse_i64;
use crate::value::set::{Members, SetView};

const NUMKEYS: Error = Error::new("ERR numkeys should be greater than 0");
const TOO_MANY_KEYS: Error = Error::new("ERR Number of keys can't be greater than number of args");
const NEGATIVE_LIMIT: Error = Error::new("ERR LIMIT can't be negative");

/// Looks at every key once: counts and marks it, and refuses what is not a set.
fn check<'k>(db: &mut Db<'_>, keys: impl Iterator<Item = &'k [u8]>) -> Result<Vec<Key<'k>>, Error> {
    keys.map(|bytes| {
        let key = db.key(bytes);
        db.find_type(key, Type::Set)?;
        Ok(key)
    })
    .collect()
}

fn views<'d>(db: &'d Db<'_>, keys: &[Key<'_>]) -> Vec<SetView<'d>> {
    let view = |key: &Key<'_>| {
        db.entry(*key)
            .map_or(SetView::EMPTY, |entry| SetView::of(entry, &db.shard.heap))
    };
    keys.iter().map(view).collect()
}

/// Visits the members that all sets have, until `visit` says to stop.
fn intersect(mut views: Vec<SetView<'_>>, mut visit: impl FnMut(&[u8]) -> bool) {
    views.sort_by_cached_key(|view| view.len());
    let Some((smallest, others)) = views.split_first() else {
        return;
    };
    smallest.all(|member| !others.iter().all(|other| other.contains(member)) || visit(member));
}

/// Visits the members of the first set that none of the others has.
fn subtract(views: &[SetView<'_>], mut visit: impl FnMut(&[u8])) {
    let Some((first, others)) = views.split_first() else {
        return;
    };
    // The largest first: it is the likeliest to have a member.
    let mut others = others.to_vec();
    others.sort_by_cached_key(|view| std::cmp::Reverse(view.len()));
    first.for_each(|member| {
        if !others.iter().any(|other| other.contains(member)) {
            visit(member);
        }
    });
}

#[derive(Clone, Copy)]
enum Operation {
    Intersection,
    Union,
    Difference,
}

impl Operation {
    fn visit(self, views: Vec<SetView<'_>>, seed: u64, mut visit: impl FnMut(&[u8])) {
        match self {
            Self::Intersection => intersect(views, |member| {
                visit(member);
                true
            }),
            Self::Difference => subtract(&views, visit),
            Self::Union => {
                let mut seen = Members::with_seed(seed);
                for view in views {
                    view.for_each(|member| {
                        if seen.insert(member) {
                            visit(member);
                        }
                    });
                }
            }
        }
    }
}

pub(super) fn sinter(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(x, args, Operation::Intersection)
}

pub(super) fn sunion(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(x, args, Operation::Union)
}

pub(super) fn sdiff(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(x, args, Operation::Difference)
}

fn answer(x: &mut Exec<'_>, args: Args<'_>, operation: Operation) -> Outcome {
    let keys = check(&mut x.db, args.iter_from(1))?;
    let seed = x.db.shard.random();
    let views = views(&x.db, &keys);
    let head = x.reply.begin();
    let mut count = 0;
    operation.visit(views, seed, |member| {
        x.reply.bulk(member);
        count += 1;
    });
    x.reply.end_set(head, count);
    Ok(())
}

pub(super) fn sintercard(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let count = parse_i64(args.get(1)).filter(|count| *count > 0).ok_or(NUMKEYS)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > args.len() - 2 {
        return Err(TOO_MANY_KEYS.into());
    }
    let mut limit = 0;
    let mut at = 2 + count;
    while at < args.len() {
        match args.try_get(at + 1) {
            Some(argument) if fold::is(args.get(at), "LIMIT") => {
                limit = parse_i64(argument)
                    .filter(|limit| *limit >= 0)
                    .ok_or(NEGATIVE_LIMIT)?;
            }
            _ => return Err(SYNTAX.into()),
        }
        at += 2;
    }
    let keys = check(&mut x.db, args.iter_from(2).take(count))?;
    let mut found: i64 = 0;
    intersect(views(&x.db, &keys), |_| {
        found += 1;
        found != limit
    });
    x.reply.integer(found);
    Ok(())
}

pub(super) fn sinterstore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    store(x, args, Operation::Intersection, "sinterstore")
}

pub(super) fn sunionstore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    store(x, args, Operation::Union, "sunionstore")
}

pub(super) fn sdiffstore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    store(x, args, Operation::Difference, "sdiffstore")
}

/// The destination may be among the sources, so the result is gathered before anything changes.
fn store(x: &mut Exec<'_>, args: Args<'_>, operation: Operation, event: &'static str) -> Outcome {
    let keys = check(&mut x.db, args.iter_from(2))?;
    let seed = x.db.shard.random();
    let mut result = Members::default();
    operation.visit(views(&x.db, &keys), seed, |member| result.push(member));
    let destination = x.db.key(args.get(1));
    if result.is_empty() {
        x.db.delete_emptied(destination);
        x.reply.integer(0);
        return Ok(());
    }
    x.db.find_write(destination);
    x.db.create_set(destination);
    if let Some(mut writer) = x.db.open_set(destination) {
        for member in result.iter() {
            writer.add(member);
        }
    }
    x.db.touch(destination);
    x.db.notify(Classes::SET, event, destination);
    x.reply.count(result.len());
    Ok(())
}
