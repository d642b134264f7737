//! `SPOP` and `SRANDMEMBER`.

use super::write::removed_from;
use crate::command::Args;
use crate::command::counts::{Picks, picks};
use crate::error::{NOT_POSITIVE, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Shard, Type};
use crate::text::number::parse_i64;
use crate::value::set::{Members, SetView, below};

/// Distinct picks beyond this share of a set (one in so many) are drawn from a list of all members.
const LIST_FROM: u64 = 3;

pub(super) fn spop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() > 3 {
        return Err(SYNTAX.into());
    }
    if let Some(count) = args.try_get(2) {
        let count = parse_i64(count)
            .and_then(|count| u64::try_from(count).ok())
            .ok_or(NOT_POSITIVE)?;
        return spop_many(x, args, count);
    }
    let key = x.db.key(args.get(1));
    let random = x.db.shard.random();
    let Some(mut writer) = x.db.set_writer(key)? else {
        x.reply.null();
        return Ok(());
    };
    let mut picked = Vec::new();
    writer
        .view()
        .sample(random, |member| picked.extend_from_slice(member));
    writer.remove(&picked);
    let empty = writer.view().is_empty();
    removed_from(&mut x.db, key, empty, "spop", 1);
    x.reply.bulk(&picked);
    Ok(())
}

fn spop_many(x: &mut Exec<'_>, args: Args<'_>, count: u64) -> Outcome {
    let key = x.db.key(args.get(1));
    let mut seed = x.db.shard.random();
    let mut random = move || Shard::mix(&mut seed);
    let writer = x.db.set_writer(key)?;
    let Some(mut writer) = writer.filter(|_| count > 0) else {
        x.reply.set(0);
        return Ok(());
    };
    let len = writer.view().len() as u64;
    if count >= len {
        x.reply.set(len as usize);
        writer.view().for_each(|member| x.reply.bulk(member));
        x.db.notify(Classes::SET, "spop", key);
        let before = x.db.shard.stats.changes;
        x.db.delete_emptied(key);
        x.db.recount(before, len as usize);
        return Ok(());
    }
    let picked = distinct(writer.view(), count, &mut random);
    x.reply.set(picked.len());
    for member in picked.iter() {
        writer.remove(member);
        x.reply.bulk(member);
    }
    removed_from(&mut x.db, key, false, "spop", picked.len());
    Ok(())
}

pub(super) fn srandmember(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() > 3 {
        return Err(SYNTAX.into());
    }
    let picks = args.try_get(2).map(|count| picks(count, false)).transpose()?;
    let key = x.db.key(args.get(1));
    let mut seed = x.db.shard.random();
    let mut random = move || Shard::mix(&mut seed);
    let mut slot = x.db.find_type(key, Type::Set)?;
    let view = slot.as_mut().map_or(SetView::EMPTY, SetView::of_slot);
    match picks {
        None if view.is_empty() => x.reply.null(),
        None => view.sample(random(), |member| x.reply.bulk(member)),
        Some(Picks::Distinct(0)) => x.reply.empty_array(),
        Some(Picks::Distinct(count)) if count >= view.len() as u64 => {
            x.reply.array(view.len());
            view.for_each(|member| x.reply.bulk(member));
        }
        Some(Picks::Distinct(count)) => {
            let picked = distinct(view, count, &mut random);
            x.reply.array(picked.len());
            picked.iter().for_each(|member| x.reply.bulk(member));
        }
        Some(Picks::Repeated(_)) if view.is_empty() => x.reply.empty_array(),
        Some(Picks::Repeated(count)) => {
            x.reply.array(count as usize);
            if matches!(view, SetView::Packed(_)) {
                // Walked once, not once a pick.
                let all = all(view);
                (0..count).for_each(|_| x.reply.bulk(all.get(below(random(), all.len()).unwrap_or(0))));
            } else {
                (0..count).for_each(|_| view.sample(random(), |member| x.reply.bulk(member)));
            }
        }
    }
    Ok(())
}

fn all(view: SetView<'_>) -> Members {
    let mut all = Members::default();
    view.for_each(|member| all.push(member));
    all
}

/// `count` members, fewer than there are, each once.
fn distinct(view: SetView<'_>, count: u64, random: &mut impl FnMut() -> u64) -> Members {
    let len = view.len();
    let mut picked = Members::with_seed(random());
    if !matches!(view, SetView::Large(..)) || count * LIST_FROM > len as u64 {
        let all = all(view);
        let mut order: Vec<u32> = (0..len as u32).collect();
        for at in 0..(count as usize).min(len) {
            // The first `count` steps of a Fisher-Yates shuffle.
            let other = at + below(random(), len - at).unwrap_or(0);
            order.swap(at, other);
            picked.push(all.get(order[at] as usize));
        }
        return picked;
    }
    while (picked.len() as u64) < count {
        view.sample(random(), |member| {
            picked.insert(member);
        });
    }
    picked
}
