//! The 21 access bits of an entry: when (LRU) or how often (LFU) it was used.
//!
//! LRU: seconds, wrapping after 24 days. LFU: 13 bits of minutes and an 8-bit logarithmic counter, after
//! the scheme of Redis 4 (probabilistic increment, decay by time). Eviction compares them; `OBJECT
//! IDLETIME` and `OBJECT FREQ` show them.

const BITS: u32 = 21;
const MASK: u32 = (1 << BITS) - 1;
const MINUTE_MASK: u32 = (1 << 13) - 1;
/// A new key starts here, so that it is not the first to go.
const LFU_INITIAL: u32 = 5;

#[derive(Clone, Copy, Debug)]
pub struct AccessPolicy {
    pub lfu: bool,
    pub lfu_log_factor: u32,
    /// Minutes after which a counter falls by one; 0 never.
    pub lfu_decay_minutes: u32,
}

impl Default for AccessPolicy {
    fn default() -> Self {
        Self {
            lfu: false,
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        }
    }
}

impl AccessPolicy {
    /// The bits of an entry created now.
    #[inline]
    pub fn fresh(self, now_ms: u64) -> u32 {
        if self.lfu {
            (minutes(now_ms) << 8) | LFU_INITIAL
        } else {
            seconds(now_ms)
        }
    }

    /// The bits after one more use.
    #[inline]
    pub fn used(self, bits: u32, now_ms: u64, random: u64) -> u32 {
        if !self.lfu {
            return seconds(now_ms);
        }
        let counter = self.frequency(bits, now_ms);
        let above = counter.saturating_sub(LFU_INITIAL);
        let odds = u64::from(above * self.lfu_log_factor + 1);
        let risen = counter < 255 && random.is_multiple_of(odds);
        (minutes(now_ms) << 8) | (counter + u32::from(risen))
    }

    /// The decayed counter, 0–255.
    pub fn frequency(self, bits: u32, now_ms: u64) -> u32 {
        let counter = bits & 0xFF;
        let passed = minutes(now_ms).wrapping_sub(bits >> 8) & MINUTE_MASK;
        match self.lfu_decay_minutes {
            0 => counter,
            decay => counter.saturating_sub(passed / decay),
        }
    }
}

/// Seconds since the entry was used, under LRU.
pub fn idle_seconds(bits: u32, now_ms: u64) -> u32 {
    seconds(now_ms).wrapping_sub(bits) & MASK
}

fn seconds(now_ms: u64) -> u32 {
    (now_ms / 1000) as u32 & MASK
}

fn minutes(now_ms: u64) -> u32 {
    (now_ms / 60_000) as u32 & MINUTE_MASK
}
