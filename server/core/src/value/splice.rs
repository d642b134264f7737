//! Editing a packed collection where it stands: no copy is made, and nothing is allocated as long as the
//! entry stays in its size class.

use std::ops::Range;

use super::packed;
use crate::memory::Slot;

/// Makes `range` of the value's bytes `len` bytes long, moving what follows, and gives it to be written.
pub fn splice<'s, B>(slot: &'s mut Slot<'_, B>, range: Range<usize>, len: usize) -> &'s mut [u8] {
    let total = slot.entry().bytes().len();
    let end = range.start + len;
    if end > range.end {
        slot.resize(total + (end - range.end));
        slot.bytes_mut().copy_within(range.end..total, end);
    } else if end < range.end {
        slot.bytes_mut().copy_within(range.end..total, end);
        slot.resize(total - (range.end - end));
    }
    &mut slot.bytes_mut()[range.start..end]
}

/// Puts one element in the place of `range` (empty to insert).
pub fn splice_element<B>(slot: &mut Slot<'_, B>, range: Range<usize>, element: &[u8]) {
    packed::write(splice(slot, range, packed::size_of(element.len())), element);
}

/// Puts two elements, one after the other, in the place of `range`.
pub fn splice_pair<B>(slot: &mut Slot<'_, B>, range: Range<usize>, first: &[u8], second: &[u8]) {
    let size = packed::size_of(first.len());
    let gap = splice(slot, range, size + packed::size_of(second.len()));
    let (head, tail) = gap.split_at_mut(size);
    packed::write(head, first);
    packed::write(tail, second);
}
