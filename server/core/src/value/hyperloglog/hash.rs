//! From an element to its register.

/// Bits of a hash that choose the register.
const INDEX_BITS: u32 = 14;
const SEED: u64 = 0xadc8_3b19;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;

/// The register of an element, and the value that the element raises it to: one more than the number of
/// zeros that the rest of its hash ends in, 51 at most.
pub fn place(element: &[u8]) -> (usize, u8) {
    let hash = murmur64a(element);
    let index = hash as usize & (super::REGISTERS - 1);
    let rest = hash >> INDEX_BITS | 1 << (64 - INDEX_BITS);
    (index, rest.trailing_zeros() as u8 + 1)
}

/// MurmurHash64A by Austin Appleby, reading little-endian everywhere.
fn murmur64a(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mut mixed = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        mixed ^= mixed >> SHIFT;
        hash = (hash ^ mixed.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}
