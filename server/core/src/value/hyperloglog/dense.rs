//! The dense form: six bits a register, the low bits of a byte first, so that three bytes hold four registers.

use std::ops::Range;

use super::{HEADER_BYTES, Histogram, Registers};

const REGISTER_MAX: u8 = 63;

/// Where the bits of a register begin.
fn bit_of(index: usize) -> usize {
    HEADER_BYTES * 8 + index * 6
}

/// The bytes that a register stands in.
pub fn bytes_of(index: usize) -> Range<usize> {
    let bit = bit_of(index);
    bit / 8..(bit + 5) / 8 + 1
}

pub fn get(value: &[u8], index: usize) -> u8 {
    let bytes = &value[bytes_of(index)];
    let word = u16::from(bytes[0]) | u16::from(bytes.get(1).copied().unwrap_or(0)) << 8;
    (word >> (bit_of(index) % 8)) as u8 & REGISTER_MAX
}

pub fn set(value: &mut [u8], index: usize, register: u8) {
    let shift = bit_of(index) % 8;
    let mask = u16::from(REGISTER_MAX) << shift;
    let bits = u16::from(register & REGISTER_MAX) << shift;
    for (nth, byte) in value[bytes_of(index)].iter_mut().enumerate() {
        *byte = *byte & !((mask >> (8 * nth)) as u8) | (bits >> (8 * nth)) as u8;
    }
}

/// `true` if the register was lower.
pub fn raise(value: &mut [u8], index: usize, register: u8) -> bool {
    let lower = get(value, index) < register;
    if lower {
        set(value, index, register);
    }
    lower
}

/// Calls `visit` with each register.
pub fn for_each(value: &[u8], mut visit: impl FnMut(usize, u8)) {
    let (triples, _) = value[HEADER_BYTES..].as_chunks::<3>();
    for (at, &[a, b, c]) in triples.iter().enumerate() {
        let word = u32::from_le_bytes([a, b, c, 0]);
        for nth in 0..4 {
            visit(at * 4 + nth, (word >> (6 * nth)) as u8 & REGISTER_MAX);
        }
    }
}

/// How many registers have which value. Neighbours are counted apart, since most are alike, and a count that
/// has just been written is slow to be read again.
pub fn histogram(value: &[u8]) -> Histogram {
    let mut counts = [[0; 64]; 8];
    let (sixes, _) = value[HEADER_BYTES..].as_chunks::<6>();
    for &[a, b, c, d, e, f] in sixes {
        let word = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        for (nth, counts) in counts.iter_mut().enumerate() {
            counts[(word >> (6 * nth)) as usize & usize::from(REGISTER_MAX)] += 1;
        }
    }
    std::array::from_fn(|register| counts.iter().map(|counts| counts[register]).sum())
}

/// Writes all registers.
pub fn fill(value: &mut [u8], registers: &Registers) {
    let (triples, _) = value[HEADER_BYTES..].as_chunks_mut::<3>();
    let (fours, _) = registers.as_chunks::<4>();
    for (triple, four) in triples.iter_mut().zip(fours) {
        let word = four.iter().rev().fold(0u32, |word, register| {
            word << 6 | u32::from(register & REGISTER_MAX)
        });
        triple.copy_from_slice(&word.to_le_bytes()[..3]);
    }
}
