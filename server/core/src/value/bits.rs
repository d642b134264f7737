//! Loops over the bits of strings, a word at a time. Bit 0 is the highest bit of the first byte.

use std::ops::RangeInclusive;

/// Bytes that a combination works on at a time: few enough to stay in the first cache.
const BLOCK: usize = 8192;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    And,
    Or,
    Xor,
    Not,
}

/// How many bits of `bytes` are set.
pub fn count(bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<64>();
    let mut sum = Sum::default();
    for chunk in chunks {
        sum.add(chunk);
    }
    sum.total() + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

/// A sum of bits kept bit-sliced: each word is 64 counters of one digit, so that only every eighth word is
/// counted (a carry-save adder; Harley and Seal).
#[derive(Default)]
struct Sum {
    eights: u64,
    fours: u64,
    twos: u64,
    ones: u64,
}

/// The sum of three digits: the low one, and the carry.
fn full_add(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}

impl Sum {
    fn add(&mut self, chunk: &[u8; 64]) {
        let (words, _) = chunk.as_chunks::<8>();
        let word = |at: usize| u64::from_ne_bytes(words[at]);
        let mut fours = [0; 2];
        for (half, carry) in fours.iter_mut().enumerate() {
            let (ones, twos_a) = full_add(self.ones, word(half * 4), word(half * 4 + 1));
            let (ones, twos_b) = full_add(ones, word(half * 4 + 2), word(half * 4 + 3));
            self.ones = ones;
            (self.twos, *carry) = full_add(self.twos, twos_a, twos_b);
        }
        let eights;
        (self.fours, eights) = full_add(self.fours, fours[0], fours[1]);
        self.eights += u64::from(eights.count_ones());
    }

    fn total(&self) -> u64 {
        let digit = |word: u64, worth: u64| u64::from(word.count_ones()) * worth;
        self.eights * 8 + digit(self.fours, 4) + digit(self.twos, 2) + digit(self.ones, 1)
    }
}

/// How many bits are set from one bit to another, both in `bytes`.
pub fn count_range(bytes: &[u8], bits: RangeInclusive<u64>) -> u64 {
    let (first, last) = (*bits.start(), *bits.end());
    let (from, to) = ((first / 8) as usize, (last / 8) as usize);
    let before = bytes[from] & !first_mask(first);
    let after = bytes[to] & !last_mask(last);
    count(&bytes[from..=to]) - u64::from(before.count_ones() + after.count_ones())
}

/// The bits of its byte from `bit` on.
fn first_mask(bit: u64) -> u8 {
    0xFF >> (bit % 8)
}

/// The bits of its byte up to `bit`.
fn last_mask(bit: u64) -> u8 {
    0xFF << (7 - bit % 8)
}

/// The first bit with that value from one bit to another, both in `bytes`.
pub fn find(bytes: &[u8], value: bool, bits: RangeInclusive<u64>) -> Option<u64> {
    let (first, last) = (*bits.start(), *bits.end());
    let (from, to) = ((first / 8) as usize, (last / 8) as usize);
    // Turned so that ones are what is looked for.
    let turned = |byte: u8| if value { byte } else { !byte };
    let head = turned(bytes[from]) & first_mask(first);
    let at = if head != 0 {
        from as u64 * 8 + u64::from(head.leading_zeros())
    } else {
        let start = from + 1;
        let rest = bytes.get(start..=to)?;
        start as u64 * 8 + find_from_start(rest, value)?
    };
    (at <= last).then_some(at)
}

fn find_from_start(bytes: &[u8], value: bool) -> Option<u64> {
    let skipped: u64 = if value { 0 } else { u64::MAX };
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let turned = u64::from_be_bytes(*word) ^ skipped;
        if turned != 0 {
            return Some(at as u64 * 64 + u64::from(turned.leading_zeros()));
        }
    }
    let at = rest.iter().position(|byte| *byte != skipped as u8)?;
    let turned = rest[at] ^ skipped as u8;
    Some(words.len() as u64 * 64 + at as u64 * 8 + u64::from(turned.leading_zeros()))
}

/// The strings combined bit by bit; short ones count as filled up with zeros. `Not` takes the first alone.
pub fn combine(how: Combine, sources: &[&[u8]]) -> Vec<u8> {
    let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
    let Some((first, others)) = sources.split_first() else {
        return Vec::new();
    };
    let mut result = Vec::with_capacity(len);
    let mut start = 0;
    while start < len {
        let end = len.min(start + BLOCK);
        result.extend_from_slice(block(first, start, end));
        result.resize(end, 0);
        let target = &mut result[start..];
        if how == Combine::Not {
            target.iter_mut().for_each(|byte| *byte = !*byte);
        }
        for other in others {
            let other = block(other, start, end);
            let pairs = target.iter_mut().zip(other);
            match how {
                Combine::Or => pairs.for_each(|(to, from)| *to |= from),
                Combine::Xor => pairs.for_each(|(to, from)| *to ^= from),
                Combine::And | Combine::Not => {
                    pairs.for_each(|(to, from)| *to &= from);
                    target[other.len()..].fill(0);
                }
            }
        }
        start = end;
    }
    result
}

/// What the string has of the bytes from `start` to `end`.
fn block(bytes: &[u8], start: usize, end: usize) -> &[u8] {
    &bytes[start.min(bytes.len())..end.min(bytes.len())]
}

/// A run of 1 to 64 bits at any offset, read as a big-endian number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    pub offset: u64,
    pub width: u32,
}

/// Bytes that a field of 64 bits can touch.
const FIELD_BYTES: usize = 9;

impl Field {
    /// The first byte that the field touches, and the one after the last.
    pub fn bytes(self) -> std::ops::Range<usize> {
        (self.offset / 8) as usize..((self.offset + u64::from(self.width) - 1) / 8) as usize + 1
    }

    /// The number; bits behind the end of `bytes` are zero.
    pub fn get(self, bytes: &[u8]) -> u64 {
        (self.window(bytes) << (self.offset % 8) >> (128 - self.width)) as u64
    }

    /// The bytes that the field touches as the highest of a wide number.
    fn window(self, bytes: &[u8]) -> u128 {
        let start = self.bytes().start.min(bytes.len());
        let part = &bytes[start..bytes.len().min(start + FIELD_BYTES)];
        let mut wide = [0; 16];
        wide[..part.len()].copy_from_slice(part);
        u128::from_be_bytes(wide)
    }

    /// Writes the low bits of `value`; `bytes` has all bytes of the field.
    pub fn set(self, bytes: &mut [u8], value: u64) {
        let shift = 128 - self.width - (self.offset % 8) as u32;
        let mask = (u128::MAX >> (128 - self.width)) << shift;
        let wide = self.window(bytes) & !mask | (u128::from(value) << shift) & mask;
        let range = self.bytes();
        let len = range.len();
        bytes[range].copy_from_slice(&wide.to_be_bytes()[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bit(bytes: &[u8], at: u64) -> bool {
        bytes
            .get((at / 8) as usize)
            .is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
    }

    fn sparse_bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![4 => Just(0u8), 4 => Just(0xFF), 1 => any::<u8>()];
        proptest::collection::vec(byte, 1..200)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn count_and_find_agree_with_looking_at_each_bit(
            bytes in sparse_bytes(),
            a: prop::sample::Index,
            b: prop::sample::Index,
            value: bool,
        ) {
            let bits = bytes.len() * 8;
            let (a, b) = (a.index(bits) as u64, b.index(bits) as u64);
            let (first, last) = (a.min(b), a.max(b));
            let set = (first..=last).filter(|at| bit(&bytes, *at)).count() as u64;
            prop_assert_eq!(count_range(&bytes, first..=last), set);
            let found = (first..=last).find(|at| bit(&bytes, *at) == value);
            prop_assert_eq!(find(&bytes, value, first..=last), found);
        }

        #[test]
        fn combinations_agree_with_bits(sources in proptest::collection::vec(sparse_bytes(), 1..5)) {
            let views: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
            let len = views.iter().map(|view| view.len()).max().unwrap() as u64;
            for how in [Combine::And, Combine::Or, Combine::Xor] {
                let result = combine(how, &views);
                prop_assert_eq!(result.len() as u64, len);
                for at in 0..len * 8 {
                    let bits = views.iter().map(|view| bit(view, at));
                    let wanted = bits.reduce(|a, b| match how {
                        Combine::And => a & b,
                        Combine::Or => a | b,
                        _ => a ^ b,
                    });
                    prop_assert_eq!(Some(bit(&result, at)), wanted);
                }
            }
            let not = combine(Combine::Not, &views[..1]);
            prop_assert!((0..views[0].len() as u64 * 8).all(|at| bit(&not, at) != bit(views[0], at)));
        }

        #[test]
        fn fields_agree_with_bits(
            bytes in sparse_bytes(),
            offset: prop::sample::Index,
            width in 1u32..=64,
            value: u64,
        ) {
            let field = Field { offset: offset.index(bytes.len() * 8) as u64, width };
            let read = |bytes: &[u8]| {
                (0..u64::from(width)).fold(0u64, |n, at| n << 1 | u64::from(bit(bytes, field.offset + at)))
            };
            prop_assert_eq!(field.get(&bytes), read(&bytes));
            let mut changed = bytes.clone();
            changed.resize(bytes.len().max(field.bytes().end), 0);
            let before = changed.clone();
            field.set(&mut changed, value);
            prop_assert_eq!(read(&changed), value & (u64::MAX >> (64 - width)));
            let inside = |at: &u64| (field.offset..field.offset + u64::from(width)).contains(at);
            for at in (0..changed.len() as u64 * 8).filter(|at| !inside(at)) {
                prop_assert_eq!(bit(&changed, at), bit(&before, at));
            }
        }
    }

    #[test]
    fn blocks_join() {
        let ones = vec![0xFF; BLOCK * 2 + 3];
        let short = vec![0x0F; BLOCK + 1];
        let and = combine(Combine::And, &[&ones, &short]);
        assert_eq!((and.len(), count(&and)), (ones.len(), (BLOCK as u64 + 1) * 4));
        let or = combine(Combine::Or, &[&short, &ones]);
        assert_eq!(or, ones);
    }
}
