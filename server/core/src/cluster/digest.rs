//! One number for a table, the same on all nodes that know the same.

/// The finalizer of splitmix64 (Steele et al. 2014): a bijection that spreads every bit.
pub(super) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Part of what nodes of different versions tell each other: it may not change.
#[derive(Default)]
pub(super) struct Digest(u64);

impl Digest {
    pub(super) fn number(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.number(u64::from_le_bytes(bytes));
        }
    }

    pub(super) fn finish(&self) -> u64 {
        self.0
    }
}
