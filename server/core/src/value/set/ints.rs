//! Sorted integers in plain bytes: `generation (8), width (1), integers (little endian, width bytes each)`.
//! The width, 2, 4 or 8, is that of the widest integer ever added.

use crate::keyspace::collection::GENERATION_BYTES;

/// Where the integers begin.
pub const START: usize = GENERATION_BYTES + 1;
const NARROWEST: usize = 2;

/// The integers of a set.
#[derive(Clone, Copy, Debug)]
pub struct Ints<'a> {
    width: usize,
    bytes: &'a [u8],
}

impl<'a> Ints<'a> {
    /// `bytes` is the whole value of the entry.
    #[inline]
    pub fn of(bytes: &'a [u8]) -> Self {
        let width = bytes.get(GENERATION_BYTES).map_or(NARROWEST, |w| usize::from(*w));
        let width = if matches!(width, 2 | 4 | 8) {
            width
        } else {
            NARROWEST
        };
        Self {
            width,
            bytes: bytes.get(START..).unwrap_or(&[]),
        }
    }

    #[inline]
    pub fn len(self) -> usize {
        self.bytes.len() / self.width
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub fn width(self) -> usize {
        self.width
    }

    #[inline]
    pub fn get(self, index: usize) -> Option<i64> {
        read(self.bytes.get(index * self.width..(index + 1) * self.width)?)
    }

    pub fn iter(self) -> impl Iterator<Item = i64> + use<'a> {
        self.bytes.chunks_exact(self.width).filter_map(read)
    }

    /// Where the integer is, or where it would be.
    #[inline]
    pub fn find(self, value: i64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.get(middle) {
                Some(own) if own == value => return Ok(middle),
                Some(own) if own < value => low = middle + 1,
                _ => high = middle,
            }
        }
        Err(low)
    }
}

#[inline]
fn read(bytes: &[u8]) -> Option<i64> {
    Some(match bytes.len() {
        2 => i64::from(i16::from_le_bytes(*bytes.first_chunk()?)),
        4 => i64::from(i32::from_le_bytes(*bytes.first_chunk()?)),
        _ => i64::from_le_bytes(*bytes.first_chunk()?),
    })
}

/// Writes an integer into bytes of its width.
pub fn write(to: &mut [u8], value: i64) {
    let width = to.len();
    to.copy_from_slice(&value.to_le_bytes()[..width]);
}

/// The narrowest width that holds the integer.
#[inline]
pub fn width_of(value: i64) -> usize {
    if i16::try_from(value).is_ok() {
        2
    } else if i32::try_from(value).is_ok() {
        4
    } else {
        8
    }
}

/// What follows the generation in a set without integers.
pub const EMPTY: [u8; 1] = [NARROWEST as u8];

/// The integers of `bytes` (without generation and width) at another width.
pub fn widen(ints: Ints<'_>, width: usize) -> Vec<u8> {
    let mut out = vec![0; ints.len() * width];
    for (to, value) in out.chunks_exact_mut(width).zip(ints.iter()) {
        write(to, value);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_found_at_every_width() {
        for values in [
            vec![-3, 0, 9],
            vec![-70_000, 4, 70_000],
            vec![i64::MIN, -1, i64::MAX],
        ] {
            let width = values.iter().map(|v| width_of(*v)).max().unwrap_or(2);
            let mut bytes = vec![0; GENERATION_BYTES];
            bytes.push(width as u8);
            for value in &values {
                bytes.extend_from_slice(&value.to_le_bytes()[..width]);
            }
            let ints = Ints::of(&bytes);
            assert_eq!(ints.iter().collect::<Vec<_>>(), values);
            for (index, value) in values.iter().enumerate() {
                assert_eq!(ints.find(*value), Ok(index));
            }
            assert_eq!(ints.find(values[1] + 1), Err(2));
            let wide = widen(ints, 8);
            assert_eq!(wide.len(), 24);
        }
    }

    #[test]
    fn widths_at_their_bounds() {
        let bounds = [
            (32767, 2),
            (32768, 4),
            (-32768, 2),
            (-32769, 4),
            (1 << 31, 8),
            (-(1 << 31), 4),
        ];
        for (value, width) in bounds {
            assert_eq!(width_of(value), width, "{value}");
        }
    }
}
