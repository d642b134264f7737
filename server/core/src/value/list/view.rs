//! Reading a list, packed or boxed, without changing it.

use super::List;
use super::chunk::{Backwards, Forwards};
use super::deque::{Deque, Place};
use super::packed::Packed;
use crate::effect::ListPosition;

#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    Packed(Packed<'a>),
    Boxed(&'a List),
}

impl<'a> View<'a> {
    #[inline]
    pub fn len(self) -> usize {
        match self {
            Self::Packed(packed) => packed.len(),
            Self::Boxed(list) => list.len(),
        }
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub fn encoding(self) -> &'static str {
        match self {
            Self::Packed(_) => "listpack",
            Self::Boxed(list) => list.encoding(),
        }
    }

    /// The elements from `index` on, first to last.
    pub fn forwards(self, index: usize) -> Values<'a> {
        if index >= self.len() {
            return Values {
                rest: None,
                here: Here::Forwards(Forwards::over(&[])),
            };
        }
        match self {
            Self::Packed(packed) if index > packed.len() / 2 => {
                let mut tail = packed.backwards();
                skip(&mut tail, packed.len() - index);
                Values {
                    rest: None,
                    here: Here::Forwards(tail.turned()),
                }
            }
            Self::Packed(packed) => {
                let mut values = packed.forwards();
                skip(&mut values, index);
                Values {
                    rest: None,
                    here: Here::Forwards(values),
                }
            }
            Self::Boxed(list) => Values::in_deque(&list.chunks, index, false),
        }
    }

    /// The elements from `index` on, last to first.
    pub fn backwards(self, index: usize) -> Values<'a> {
        match self {
            Self::Packed(packed) => {
                let mut values = packed.backwards();
                skip(&mut values, packed.len() - 1 - index);
                Values {
                    rest: None,
                    here: Here::Backwards(values),
                }
            }
            Self::Boxed(list) => Values::in_deque(&list.chunks, index, true),
        }
    }

    pub fn get(self, index: usize) -> Option<&'a [u8]> {
        match self {
            Self::Packed(_) => self.forwards(index).next(),
            Self::Boxed(list) => list.get(index),
        }
    }

    /// The first or the last element.
    pub fn end(self, back: bool) -> Option<&'a [u8]> {
        match (self, back) {
            (Self::Packed(packed), false) => packed.forwards().next(),
            (Self::Packed(packed), true) => packed.backwards().next(),
            (Self::Boxed(list), _) => list.end(back),
        }
    }

    /// Every element with its position.
    pub fn for_each_row(self, mut visit: impl FnMut(ListPosition, &'a [u8])) {
        match self {
            Self::Packed(packed) => {
                packed
                    .forwards()
                    .enumerate()
                    .for_each(|(index, value)| visit(packed.position(index), value));
            }
            Self::Boxed(list) => {
                let mut at = list.chunks.end(false);
                while let Some(place) = at {
                    let chunk = list.chunks.get(place);
                    chunk
                        .iter_from(0)
                        .enumerate()
                        .for_each(|(index, value)| visit(chunk.position(index), value));
                    at = list.chunks.next(place);
                }
            }
        }
    }
}

fn skip<'a>(values: &mut impl Iterator<Item = &'a [u8]>, count: usize) {
    for _ in 0..count {
        values.next();
    }
}

#[derive(Clone, Debug)]
enum Here<'a> {
    Forwards(Forwards<'a>),
    Backwards(Backwards<'a>),
}

/// Elements of a list in one direction.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    /// The deque and the chunk being read.
    rest: Option<(&'a Deque, Place)>,
    here: Here<'a>,
}

impl<'a> Values<'a> {
    fn in_deque(deque: &'a Deque, index: usize, back: bool) -> Self {
        let Some((place, offset)) = deque.locate(index) else {
            return Self {
                rest: None,
                here: Here::Forwards(Forwards::over(&[])),
            };
        };
        let chunk = deque.get(place);
        let here = if back {
            Here::Backwards(chunk.iter_back_from(offset))
        } else {
            Here::Forwards(chunk.iter_from(offset))
        };
        Self {
            rest: Some((deque, place)),
            here,
        }
    }

    #[cold]
    fn next_chunk(&mut self) -> Option<&'a [u8]> {
        let (deque, place) = self.rest?;
        let place = match self.here {
            Here::Forwards(_) => deque.next(place)?,
            Here::Backwards(_) => deque.previous(place)?,
        };
        let chunk = deque.get(place);
        self.rest = Some((deque, place));
        match &mut self.here {
            Here::Forwards(values) => {
                *values = chunk.iter_from(0);
                values.next()
            }
            Here::Backwards(values) => {
                *values = chunk.iter_back_from(chunk.len() - 1);
                values.next()
            }
        }
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let value = match &mut self.here {
            Here::Forwards(values) => values.next(),
            Here::Backwards(values) => values.next(),
        };
        if value.is_some() { value } else { self.next_chunk() }
    }
}
