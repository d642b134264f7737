//! `HRANDFIELD`.

use crate::command::Args;
use crate::command::counts::{Picks, picks};
use crate::error::SYNTAX;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Shard, Type};
use crate::resp::Reply;
use crate::text::fold;
use crate::value::hash::{Field, HashView};
use crate::value::set::{Members, below};

/// Distinct picks beyond this share of a hash (one in so many) are drawn from a list of all fields.
const LIST_FROM: u64 = 3;

pub(super) fn hrandfield(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    // The numbers are drawn from a generator of this call's own, so that the fields can stay borrowed.
    let mut seed = x.db.shard.random();
    let mut random = move || Shard::mix(&mut seed);
    let Some(count) = args.try_get(2) else {
        let mut slot = x.db.find_type(key, Type::Hash)?;
        let field = slot
            .as_mut()
            .and_then(|slot| pick(HashView::of_slot(slot), now_ms, &mut random));
        x.reply.bulk_or_null(field.map(|field| field.name));
        return Ok(());
    };
    let with_values = match args.try_get(3) {
        None => false,
        Some(word) if args.len() == 4 && fold::is(word, "WITHVALUES") => true,
        Some(_) => {
            picks(count, false)?;
            return Err(SYNTAX.into());
        }
    };
    let picks = picks(count, with_values)?;
    let mut slot = x.db.find_type(key, Type::Hash)?;
    let Some(view) = slot.as_mut().map(HashView::of_slot) else {
        x.reply.empty_array();
        return Ok(());
    };
    let fields = match picks {
        Picks::Distinct(0) => Vec::new(),
        Picks::Distinct(count) => distinct(view, count, now_ms, &mut random),
        Picks::Repeated(count) => {
            repeated(view, count, now_ms, with_values, &mut random, x.reply);
            return Ok(());
        }
    };
    let twice = if with_values && !x.reply.is_resp3() { 2 } else { 1 };
    x.reply.array(fields.len() * twice);
    fields
        .into_iter()
        .for_each(|field| write(x.reply, field, with_values));
    Ok(())
}

fn write(reply: &mut Reply, field: Field<'_>, with_value: bool) {
    if with_value && reply.is_resp3() {
        reply.array(2);
    }
    reply.bulk(field.name);
    if with_value {
        reply.bulk(field.value);
    }
}

/// One field; a walk where sampling finds only fields past their time.
fn pick<'a>(view: HashView<'a>, now_ms: u64, random: &mut impl FnMut() -> u64) -> Option<Field<'a>> {
    view.sample(now_ms, &mut *random).or_else(|| {
        let all = all(view, now_ms);
        all.get(below(random(), all.len())?).copied()
    })
}

fn all<'a>(view: HashView<'a>, now_ms: u64) -> Vec<Field<'a>> {
    let mut fields = Vec::new();
    view.for_each(now_ms, |field| fields.push(field));
    fields
}

fn distinct<'a>(
    view: HashView<'a>,
    count: u64,
    now_ms: u64,
    random: &mut impl FnMut() -> u64,
) -> Vec<Field<'a>> {
    let len = view.len(now_ms) as u64;
    if count >= len {
        return all(view, now_ms);
    }
    if matches!(view, HashView::Packed(_)) || count * LIST_FROM > len {
        let mut fields = all(view, now_ms);
        let count = (count as usize).min(fields.len());
        for at in 0..count {
            // The first `count` steps of a Fisher-Yates shuffle.
            let other = at + below(random(), fields.len() - at).unwrap_or(0);
            fields.swap(at, other);
        }
        fields.truncate(count);
        return fields;
    }
    let mut names = Members::with_seed(random());
    let mut fields = Vec::with_capacity(count as usize);
    while (fields.len() as u64) < count {
        let Some(field) = pick(view, now_ms, random) else {
            break;
        };
        if names.insert(field.name) {
            fields.push(field);
        }
    }
    fields
}

fn repeated(
    view: HashView<'_>,
    count: u64,
    now_ms: u64,
    with_values: bool,
    random: &mut impl FnMut() -> u64,
    reply: &mut Reply,
) {
    // A packed hash is walked once, not once a pick.
    let listed = if matches!(view, HashView::Packed(_)) {
        all(view, now_ms)
    } else {
        Vec::new()
    };
    if view.len(now_ms) == 0 {
        reply.empty_array();
        return;
    }
    let twice = if with_values && !reply.is_resp3() { 2 } else { 1 };
    reply.array(count as usize * twice);
    let mut last = None;
    for _ in 0..count {
        let field = match below(random(), listed.len()) {
            Some(nth) => Some(listed[nth]),
            None => pick(view, now_ms, random),
        };
        last = field.or(last);
        if let Some(field) = last {
            write(reply, field, with_values);
        }
    }
}
