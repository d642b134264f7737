//! Lists against a plain vector, and against a follower that hears of the changes by position only.

use proptest::prelude::*;

use super::*;

/// Keeps the rows that it is told of, and a second list changed through them.
#[derive(Default)]
struct Follower {
    list: List,
    fill: Fill,
    created: Vec<bool>,
}

impl Sink for Follower {
    fn on(&self) -> bool {
        true
    }
    fn put(&mut self, position: ListPosition, value: &[u8], created: bool) {
        self.created.push(created);
        self.list.put_at(position, value, self.fill);
    }
    fn delete(&mut self, position: ListPosition) {
        assert!(self.list.delete_at(position, self.fill), "{position:?} is there");
    }
}

fn rows(list: &List) -> Vec<(ListPosition, Vec<u8>)> {
    let mut rows = Vec::new();
    View::Boxed(list).for_each_row(|position, value| rows.push((position, value.to_vec())));
    rows
}

#[derive(Clone, Debug)]
enum Op {
    Push(bool, Vec<u8>),
    Pop(bool),
    DropEnd(bool, usize),
    Insert(usize, bool, Vec<u8>),
    Replace(usize, Vec<u8>),
    RemoveEqual(u8, usize, bool),
    Pack,
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0u8..4).prop_map(|n| vec![b'a' + n]),
        4 => (-70_000i64..70_000).prop_map(|n| n.to_string().into_bytes()),
        2 => (0usize..400).prop_map(|n| vec![b'x'; n]),
        1 => (4000usize..9000).prop_map(|n| vec![b'y'; n]),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (any::<bool>(), value()).prop_map(|(back, v)| Op::Push(back, v)),
        3 => any::<bool>().prop_map(Op::Pop),
        1 => (any::<bool>(), 0usize..12).prop_map(|(back, n)| Op::DropEnd(back, n)),
        5 => (any::<usize>(), any::<bool>(), value()).prop_map(|(at, after, v)| Op::Insert(at, after, v)),
        2 => (any::<usize>(), value()).prop_map(|(at, v)| Op::Replace(at, v)),
        1 => (0u8..4, 1usize..6, any::<bool>()).prop_map(|(v, n, back)| Op::RemoveEqual(b'a' + v, n, back)),
        1 => Just(Op::Pack),
    ]
}

/// Makes the change on the list and on the model.
fn run(op: &Op, list: &mut List, model: &mut Vec<Vec<u8>>, fill: Fill, sink: &mut Follower) {
    match op {
        Op::Push(back, value) => {
            list.before_adding(fill, value.len(), 1);
            list.push(*back, value, fill, sink);
            model.insert(if *back { model.len() } else { 0 }, value.clone());
        }
        Op::Pop(back) => {
            list.pop(*back, sink);
            if !model.is_empty() {
                model.remove(if *back { model.len() - 1 } else { 0 });
            }
        }
        Op::DropEnd(back, count) => {
            list.drop_end(*count, *back, sink);
            let count = *count.min(&model.len());
            if *back {
                model.truncate(model.len() - count)
            } else {
                drop(model.drain(..count))
            }
        }
        Op::Insert(at, after, value) if !model.is_empty() => {
            let pivot = at % model.len();
            list.before_adding(fill, value.len(), 1);
            list.insert(pivot, *after, value, fill, sink);
            model.insert(pivot + usize::from(*after), value.clone());
        }
        Op::Replace(at, value) if !model.is_empty() => {
            let at = at % model.len();
            list.before_adding(fill, value.len(), 1);
            assert!(list.replace(at, value, fill, sink));
            model[at].clone_from(value);
        }
        Op::RemoveEqual(value, limit, back) => {
            let removed = list.remove_equal(&[*value], *limit, *back, sink);
            let mut left = *limit;
            let mut keep = |v: &Vec<u8>| {
                let gone = left > 0 && v == &[*value];
                left -= usize::from(gone);
                !gone
            };
            if *back {
                model.reverse();
                model.retain(&mut keep);
                model.reverse();
            } else {
                model.retain(&mut keep);
            }
            assert_eq!(removed, limit - left);
        }
        Op::Pack => {
            let mut bytes = Vec::new();
            if list.fits_packed(true) {
                list.store(&mut bytes);
                let before = rows(list);
                let mut packed_rows = Vec::new();
                View::Packed(Packed::new(&bytes)).for_each_row(|p, v| packed_rows.push((p, v.to_vec())));
                assert_eq!(packed_rows, before);
                Packed::new(&bytes).load(list);
            }
        }
        Op::Insert(..) | Op::Replace(..) => {}
    }
    list.after_removing(fill);
}

fn check(list: &List, model: &[Vec<u8>]) {
    let rows = rows(list);
    let values: Vec<&Vec<u8>> = rows.iter().map(|(_, value)| value).collect();
    assert_eq!(values, model.iter().collect::<Vec<_>>());
    assert!(
        rows.windows(2).all(|pair| pair[0].0 < pair[1].0),
        "positions ascend"
    );
    assert_eq!(list.len(), model.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_list_is_a_vector_and_its_follower_is_equal(
        ops in prop::collection::vec(op(), 1..120),
        fill in prop::sample::select(vec![-2, -1, 1, 2, 5, 40]),
    ) {
        let fill = Fill(fill);
        let (mut list, mut model) = (List::new(7), Vec::new());
        let mut sink = Follower { fill, ..Follower::default() };
        for op in &ops {
            run(op, &mut list, &mut model, fill, &mut sink);
            prop_assert_eq!(list.len(), model.len());
        }
        check(&list, &model);
        prop_assert_eq!(rows(&sink.list), rows(&list));
        let view = View::Boxed(&list);
        for at in 0..model.len() {
            prop_assert_eq!(view.get(at), Some(model[at].as_slice()));
            prop_assert_eq!(view.forwards(at).count(), model.len() - at);
            prop_assert_eq!(view.backwards(at).count(), at + 1);
        }
        prop_assert_eq!(view.forwards(0).map(<[u8]>::to_vec).collect::<Vec<_>>(), model.clone());
        if let Some(last) = model.len().checked_sub(1) {
            let mut backwards: Vec<_> = view.backwards(last).map(<[u8]>::to_vec).collect();
            backwards.reverse();
            prop_assert_eq!(backwards, model);
        }
    }
}

#[test]
fn a_large_list_is_sought_and_edited_everywhere() {
    let fill = Fill(1);
    let (mut list, mut model) = (List::new(1), Vec::new());
    list.before_adding(fill, 0, 5000);
    for n in 0..5000u32 {
        list.push(true, n.to_string().as_bytes(), fill, &mut Silent);
        model.push(n.to_string().into_bytes());
    }
    for step in 0..3000usize {
        let at = step * 7919 % model.len();
        if step % 3 == 0 {
            list.insert(at, false, b"new", fill, &mut Silent);
            model.insert(at, b"new".to_vec());
        } else {
            let position = list.position(at).unwrap_or(ListPosition::MIDDLE);
            assert!(list.delete_at(position, fill));
            model.remove(at);
        }
    }
    check(&list, &model);
    for (at, value) in model.iter().enumerate() {
        assert_eq!(list.get(at), Some(value.as_slice()));
    }
}

#[test]
fn inserts_at_one_place_renumber_few_elements() {
    let fill = Fill::default();
    let mut list = List::new(1);
    let mut sink = Follower::default();
    for n in 0..1000 {
        list.push(true, n.to_string().as_bytes(), fill, &mut sink);
    }
    sink.created.clear();
    for _ in 0..5000 {
        list.before_adding(fill, 1, 1);
        list.insert(500, false, b"x", fill, &mut sink);
    }
    assert!(
        sink.created.len() < 5000 * 4,
        "{} rows for 5000 inserts",
        sink.created.len()
    );
    assert_eq!(rows(&sink.list), rows(&list));
}

#[test]
fn a_queue_moves_through_the_same_buffers() {
    let fill = Fill::default();
    let mut list = List::new(1);
    list.before_adding(fill, 100 * 5000, 5000);
    for _ in 0..5000 {
        list.push(false, &[b'v'; 100], fill, &mut Silent);
    }
    let full = list.allocated();
    for _ in 0..50_000 {
        list.pop(true, &mut Silent);
        list.push(false, &[b'v'; 100], fill, &mut Silent);
    }
    assert!(
        list.allocated() < full + 3 * 8192,
        "{} then {}",
        full,
        list.allocated()
    );
    list.drop_end(4990, true, &mut Silent);
    assert!(list.allocated() < 40_000, "{}", list.allocated());
    assert!(list.free_slice(1000));
}
