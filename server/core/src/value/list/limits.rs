//! How large a chunk may be, and when a list is small: `list-max-listpack-size` as Valkey reads it.

/// Elements in one chunk at the most when a count is configured, by bytes.
const BYTES_MAX_WITH_COUNT: usize = 8192;
/// What Valkey adds for an element that it has not encoded yet.
const ELEMENT_OVERHEAD: usize = 8;

/// The option's value: a count of elements, or -1 to -5 for 4, 8, 16, 32, 64 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill(pub i32);

impl Default for Fill {
    fn default() -> Self {
        Self(-2)
    }
}

impl Fill {
    /// From the option as it is configured, any number.
    pub fn new(option: i64) -> Self {
        Self(option.clamp(-5, i64::from(i16::MAX)) as i32)
    }

    /// Bytes of a chunk where bytes are limited.
    fn bytes_max(self) -> Option<usize> {
        (self.0 < 0).then(|| 4096 << (self.0.unsigned_abs().min(5) - 1))
    }

    fn count_max(self) -> usize {
        self.0.max(1) as usize
    }

    /// Bytes that a chunk holds as a rule.
    pub(super) fn bytes_typical(self) -> usize {
        self.bytes_max().unwrap_or(BYTES_MAX_WITH_COUNT)
    }

    /// Whether so many bytes and elements are too much for one chunk.
    pub(super) fn exceeded(self, bytes: usize, count: usize) -> bool {
        match self.bytes_max() {
            Some(max) => bytes > max,
            None => bytes > BYTES_MAX_WITH_COUNT || count > self.count_max(),
        }
    }

    /// An element so large that it stands alone.
    pub(super) fn stands_alone(self, len: usize) -> bool {
        len > self.bytes_typical()
    }

    /// Whether a chunk of that weight takes one more element.
    pub(super) fn accepts(self, weight: usize, count: usize, len: usize) -> bool {
        !self.stands_alone(len) && !self.exceeded(weight + len + ELEMENT_OVERHEAD, count + 1)
    }

    /// Whether one chunk that shrank is small enough to be a listpack again: half of what would end it, so
    /// that a list does not go to and fro.
    pub(super) fn small_again(self, weight: usize, count: usize) -> bool {
        match self.bytes_max() {
            Some(max) => weight <= max / 2,
            None => count <= self.count_max() / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_counts_bytes_or_elements() {
        assert_eq!(
            [-1, -2, -3, -4, -5, -9].map(|n| Fill(n).bytes_typical()),
            [4096, 8192, 16384, 32768, 65536, 65536]
        );
        assert!(!Fill(-2).exceeded(8192, 100_000) && Fill(-2).exceeded(8193, 1));
        assert!(!Fill(3).exceeded(8192, 3) && Fill(3).exceeded(20, 4) && Fill(3).exceeded(8193, 1));
        assert!(!Fill(0).exceeded(20, 1) && Fill(0).exceeded(20, 2));
        assert!(Fill(-1).stands_alone(4097) && !Fill(-1).stands_alone(4096) && Fill(5).stands_alone(8193));
        assert!(Fill(4).small_again(9000, 2) && !Fill(4).small_again(10, 3));
        assert!(Fill(-2).small_again(4096, 9999) && !Fill(-2).small_again(4097, 1));
    }
}
