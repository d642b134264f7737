//! Elements one after the other in plain bytes: `length (LEB128), bytes` each. What small collections are
//! made of; found by walking, which beats an index up to some hundreds of elements.

use std::ops::Range;

/// One element and where it stands, length included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    pub bytes: &'a [u8],
    pub start: usize,
    pub end: usize,
}

/// Walks the elements of `bytes` from `at` on. Stops at what cannot be an element.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
}

pub fn elements(bytes: &[u8], at: usize) -> Elements<'_> {
    Elements { bytes, at }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        let start = self.at;
        let first = *self.bytes.get(start)?;
        let (len, head) = if first < 0x80 {
            (first as usize, 1)
        } else {
            long_length(&self.bytes[start..])?
        };
        let from = start + head;
        let bytes = self.bytes.get(from..from.checked_add(len)?)?;
        self.at = from + len;
        Some(Element {
            bytes,
            start,
            end: self.at,
        })
    }
}

fn long_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0usize;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        value |= usize::from(byte & 0x7F) << (7 * index);
        if *byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Appends an element.
#[inline]
pub fn push(buffer: &mut Vec<u8>, element: &[u8]) {
    let (head, size) = length(element.len());
    buffer.extend_from_slice(&head[..size]);
    buffer.extend_from_slice(element);
}

/// Puts `element` in the place of `range` (an element's `start..end`, or empty to insert).
pub fn replace(buffer: &mut Vec<u8>, range: Range<usize>, element: &[u8]) {
    let (head, size) = length(element.len());
    let new_len = size + element.len();
    let (start, old_end) = (range.start, range.end);
    let new_end = start + new_len;
    let total = buffer.len();
    if new_end > old_end {
        buffer.resize(total + new_end - old_end, 0);
    }
    buffer.copy_within(old_end..total, new_end);
    buffer.truncate(total - old_end + new_end);
    buffer[start..start + size].copy_from_slice(&head[..size]);
    buffer[start + size..new_end].copy_from_slice(element);
}

/// Writes an element into bytes that are exactly as long as it takes.
pub fn write(to: &mut [u8], element: &[u8]) {
    let (head, size) = length(element.len());
    to[..size].copy_from_slice(&head[..size]);
    to[size..].copy_from_slice(element);
}

/// Bytes that an element of that length takes.
pub fn size_of(len: usize) -> usize {
    length(len).1 + len
}

fn length(mut len: usize) -> ([u8; 5], usize) {
    let mut head = [0u8; 5];
    let mut size = 0;
    while len >= 0x80 {
        head[size] = len as u8 | 0x80;
        len >>= 7;
        size += 1;
    }
    head[size] = len as u8;
    (head, size + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_and_replaced_is_walked() {
        let long = vec![7u8; 300];
        let mut model: Vec<Vec<u8>> = vec![b"a".to_vec(), long.clone(), b"".to_vec(), b"last".to_vec()];
        let mut buffer = b"generati".to_vec();
        model.iter().for_each(|e| push(&mut buffer, e));
        let swaps: [(usize, &[u8]); 4] = [(1, b"x"), (0, &long), (3, b""), (2, b"two")];
        for (index, new) in swaps {
            let found = elements(&buffer, 8).nth(index).map(|e| e.start..e.end);
            let Some(range) = found else {
                panic!("element {index} is there")
            };
            replace(&mut buffer, range, new);
            model[index] = new.to_vec();
            let now: Vec<Vec<u8>> = elements(&buffer, 8).map(|e| e.bytes.to_vec()).collect();
            assert_eq!(now, model);
        }
    }

    #[test]
    fn broken_bytes_end_the_walk() {
        assert_eq!(elements(&[5, 1, 2], 0).count(), 0);
        assert_eq!(elements(&[0xFF; 9], 0).count(), 0);
        assert_eq!(elements(&[0x80], 0).count(), 0);
    }
}
