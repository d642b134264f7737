//! Natural numbers of any size, as far as reading and printing floats needs them.

/// The largest power of ten in a limb, and its exponent.
const CHUNK: u32 = 1_000_000_000;
const CHUNK_DIGITS: usize = 9;

/// Limbs, the lowest first; the highest is not zero.
pub(super) struct Big(Vec<u32>);

impl From<u64> for Big {
    fn from(value: u64) -> Self {
        let mut number = Self(vec![value as u32, (value >> 32) as u32]);
        number.trim();
        number
    }
}

impl Big {
    /// The number that `digits` (values, not characters) spell.
    pub(super) fn from_digits(digits: &[u8]) -> Self {
        let mut number = Self(Vec::with_capacity(digits.len() / 9 + 2));
        for chunk in digits.chunks(CHUNK_DIGITS) {
            let value = chunk
                .iter()
                .fold(0, |value, digit| value * 10 + u32::from(*digit));
            number.multiply_add(10u32.pow(chunk.len() as u32), value);
        }
        number
    }

    pub(super) fn multiply_add(&mut self, factor: u32, summand: u32) {
        let mut carry = u64::from(summand);
        for limb in &mut self.0 {
            let product = u64::from(*limb) * u64::from(factor) + carry;
            *limb = product as u32;
            carry = product >> 32;
        }
        if carry != 0 {
            self.0.push(carry as u32);
        }
    }

    /// Divides and gives the remainder.
    pub(super) fn divide(&mut self, divisor: u32) -> u32 {
        let mut remainder = 0u64;
        for limb in self.0.iter_mut().rev() {
            let dividend = remainder << 32 | u64::from(*limb);
            *limb = (dividend / u64::from(divisor)) as u32;
            remainder = dividend % u64::from(divisor);
        }
        self.trim();
        remainder as u32
    }

    pub(super) fn shift_left(&mut self, bits: u32) {
        self.multiply_add(1 << (bits % 32), 0);
        self.0.splice(0..0, std::iter::repeat_n(0, bits as usize / 32));
        self.trim();
    }

    pub(super) fn bits(&self) -> u32 {
        self.0
            .last()
            .map_or(0, |top| self.0.len() as u32 * 32 - top.leading_zeros())
    }

    /// The first bits, at least 97 of them if there are; the power of two that the last of them counts; and
    /// whether any later bit is set.
    pub(super) fn upper_bits(&self) -> (u128, i32, bool) {
        let below = self.0.len().saturating_sub(4);
        let upper = self.0[below..]
            .iter()
            .rev()
            .fold(0, |bits, limb| bits << 32 | u128::from(*limb));
        (
            upper,
            below as i32 * 32,
            self.0[..below].iter().any(|limb| *limb != 0),
        )
    }

    /// Appends the number in decimal.
    pub(super) fn push_decimal(mut self, out: &mut Vec<u8>) {
        let mut chunks = Vec::new();
        while !self.0.is_empty() {
            chunks.push(self.divide(CHUNK));
        }
        let mut digits = itoa::Buffer::new();
        let mut chunks = chunks.into_iter().rev();
        out.extend_from_slice(digits.format(chunks.next().unwrap_or(0)).as_bytes());
        for chunk in chunks {
            let digits = digits.format(chunk).as_bytes();
            out.extend(std::iter::repeat_n(b'0', CHUNK_DIGITS - digits.len()));
            out.extend_from_slice(digits);
        }
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}
