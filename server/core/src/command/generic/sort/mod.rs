//! `SORT` and `SORT_RO`.
//!
//! The elements are copied out first: their weights and what `GET` asks are read from other keys, which may
//! be past their time and then go.

mod options;
mod pattern;

pub use options::refused_pattern;

use std::cmp::Ordering;
use std::ops::Range;

use crate::command::{Args, list};
use crate::error::{Error, WRONG_TYPE};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key, Type};
use crate::text::number::parse_f64;
use crate::value::set::SetView;
use crate::value::sorted_set;
use options::{By, Options};

const NOT_DOUBLES: Error = Error::new("ERR One or more scores can't be converted into double");

pub(super) fn sort(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    run(x, args, true)
}

pub(super) fn sort_ro(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    run(x, args, false)
}

/// What an element is sorted by.
#[derive(Clone)]
enum Weight {
    Number(f64),
    /// A part of the bytes; none for an element whose weight is not there.
    Text(Option<Range<usize>>),
}

struct Item {
    element: Range<usize>,
    weight: Weight,
}

/// Elements and weights, one after the other in `bytes`.
#[derive(Default)]
struct Items {
    bytes: Vec<u8>,
    list: Vec<Item>,
}

impl Items {
    fn push(&mut self, element: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(element);
        self.list.push(Item {
            element: start..self.bytes.len(),
            weight: Weight::Number(0.0),
        });
    }
}

fn run(x: &mut Exec<'_>, args: Args<'_>, may_store: bool) -> Outcome {
    // Who may not read every key was refused before (`refused_pattern`).
    let mut options = Options::parse(args, may_store, true)?;
    let key = x.db.key(args.get(1));
    let kind = x.db.find(key).map(|slot| Type::of(slot.kind()));
    if kind.is_some_and(|kind| !matches!(kind, Type::List | Type::Set | Type::SortedSet)) {
        return Err(WRONG_TYPE.into());
    }
    if options.in_order() && kind == Some(Type::Set) && options.store.is_some() {
        // A set has no order of its own: what is stored must not depend on chance.
        options.by = By::Element;
        options.alpha = true;
    }
    let mut items = Items::default();
    let range = load(&mut x.db, key, kind, &options, &mut items);
    if !options.in_order() {
        weigh(&mut x.db, &options, &mut items)?;
        arrange(&options, &mut items);
    }
    let results = gather(&mut x.db, &options, &items, range);
    match options.store {
        None => results.answer(x),
        Some(target) => store(x, target, &results)?,
    }
    Ok(())
}

/// Copies the elements; the part of them that is wanted comes back. Of what has an order that is to be kept
/// only the wanted part is copied.
fn load(
    db: &mut Db<'_>,
    key: Key<'_>,
    kind: Option<Type>,
    options: &Options<'_>,
    items: &mut Items,
) -> Range<usize> {
    let shard = &*db.shard;
    let table = &shard.databases[db.index as usize];
    let (Some(kind), Some(entry)) = (kind, table.get(&shard.heap, key.hash, key.bytes)) else {
        return 0..0;
    };
    let in_order = options.in_order();
    match kind {
        Type::List => {
            let view = list::view(entry);
            let range = options.range(view.len());
            if !in_order {
                view.forwards(0).for_each(|element| items.push(element));
                return range;
            }
            if !options.descending {
                let wanted = view.forwards(range.start).take(range.len());
                wanted.for_each(|element| items.push(element));
            } else if let Some(last) = view.len().checked_sub(1 + range.start) {
                let wanted = view.backwards(last).take(range.len());
                wanted.for_each(|element| items.push(element));
            }
            0..items.list.len()
        }
        Type::SortedSet => {
            let view = sorted_set::View::new(entry, &shard.heap);
            let range = options.range(view.len());
            if !in_order {
                view.for_each(|member, _| items.push(member));
                return range;
            }
            view.visit(range.start, range.len(), options.descending, |member, _| {
                items.push(member);
                true
            });
            0..items.list.len()
        }
        _ => {
            SetView::of(entry, &shard.heap).for_each(|member| items.push(member));
            options.range(items.list.len())
        }
    }
}

/// Finds what each element is sorted by.
fn weigh(db: &mut Db<'_>, options: &Options<'_>, items: &mut Items) -> Result<(), Error> {
    let (mut name, mut weight) = (Vec::new(), Vec::new());
    for item in &mut items.list {
        let element = item.element.clone();
        let found = match options.by {
            By::Weight(pattern) => {
                weight.clear();
                let is_there = pattern.read(db, &items.bytes[element], &mut name, &mut weight);
                is_there.then(|| {
                    let start = items.bytes.len();
                    items.bytes.extend_from_slice(&weight);
                    start..items.bytes.len()
                })
            }
            By::Element | By::Nothing => Some(element),
        };
        item.weight = match found {
            found if options.alpha => Weight::Text(found),
            None => Weight::Number(0.0),
            Some(text) => Weight::Number(parse_f64(&items.bytes[text]).ok_or(NOT_DOUBLES)?),
        };
    }
    Ok(())
}

fn arrange(options: &Options<'_>, items: &mut Items) {
    let bytes = &items.bytes;
    let text = |range: &Option<Range<usize>>| range.clone().map(|range| &bytes[range]);
    items.list.sort_by(|one, other| {
        let order = match (&one.weight, &other.weight) {
            // Equal numbers are told apart by their elements, so that the order is one.
            (Weight::Number(a), Weight::Number(b)) => a
                .partial_cmp(b)
                .unwrap_or(Ordering::Equal)
                .then_with(|| bytes[one.element.clone()].cmp(&bytes[other.element.clone()])),
            // None sorts before all.
            (Weight::Text(a), Weight::Text(b)) => text(a).cmp(&text(b)),
            _ => Ordering::Equal,
        };
        if options.descending {
            order.reverse()
        } else {
            order
        }
    });
}

/// What is answered or stored, in order.
#[derive(Default)]
struct Results {
    bytes: Vec<u8>,
    list: Vec<Option<Range<usize>>>,
}

fn gather(db: &mut Db<'_>, options: &Options<'_>, items: &Items, range: Range<usize>) -> Results {
    let mut results = Results::default();
    let mut name = Vec::new();
    for item in &items.list[range] {
        let element = &items.bytes[item.element.clone()];
        let start = results.bytes.len();
        if options.get.is_empty() {
            results.bytes.extend_from_slice(element);
            results.list.push(Some(start..results.bytes.len()));
        }
        for pattern in &options.get {
            let start = results.bytes.len();
            let is_there = pattern.read(db, element, &mut name, &mut results.bytes);
            results.list.push(is_there.then_some(start..results.bytes.len()));
        }
    }
    results
}

impl Results {
    fn answer(&self, x: &mut Exec<'_>) {
        x.reply.array(self.list.len());
        for range in &self.list {
            x.reply
                .bulk_or_null(range.clone().map(|range| &self.bytes[range]));
        }
    }
}

/// A list of the results in place of whatever is at `target`; what is missing is stored empty.
fn store(x: &mut Exec<'_>, target: &[u8], results: &Results) -> Result<(), Error> {
    let key = x.db.key(target);
    if results.list.is_empty() {
        if x.db.delete(key) {
            x.db.notify(Classes::GENERIC, "del", key);
        }
    } else {
        let values = results
            .list
            .iter()
            .map(|range| range.clone().map_or(&b""[..], |range| &results.bytes[range]));
        list::store(&mut x.db, key, values)?;
        x.db.notify(Classes::LIST, "sortstore", key);
    }
    x.reply.count(results.list.len());
    Ok(())
}
