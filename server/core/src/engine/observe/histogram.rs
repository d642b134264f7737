//! Times of one command: counts in buckets whose width is under a hundredth of their value.
//!
//! The layout is that of an HDR histogram with two significant digits over nanoseconds, so that percentiles
//! read as those of other servers. Buckets grow to the slowest call so far and stay.

/// Buckets of an octave.
const PARTS: u64 = 128;
const PART_BITS: u32 = PARTS.trailing_zeros();
/// What is slower counts as this slow: a second.
const SLOWEST_NS: u64 = 1_000_000_000;
/// The first bound of [`Histogram::bounds`], nanoseconds; each is twice the one before.
const FIRST_BOUND_NS: u64 = 1024;

#[derive(Clone, Default, Debug)]
pub struct Histogram {
    counts: Vec<u32>,
    total: u64,
}

/// The bucket of a time. Below two octaves of parts each value has its own.
fn bucket_of(ns: u64) -> usize {
    let octave = ns.checked_ilog2().unwrap_or(0).saturating_sub(PART_BITS);
    (u64::from(octave) * PARTS + (ns >> octave)) as usize
}

/// The highest time that falls into the same bucket.
fn highest_like(ns: u64) -> u64 {
    let octave = ns.checked_ilog2().unwrap_or(0).saturating_sub(PART_BITS);
    (((ns >> octave) + 1) << octave) - 1
}

/// The highest time of a bucket.
fn highest_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let octave = (bucket / PARTS).saturating_sub(1);
    ((bucket - octave * PARTS + 1) << octave) - 1
}

impl Histogram {
    #[inline]
    pub fn add(&mut self, took_us: u64) {
        self.add_to(Self::bucket(took_us), 1);
    }

    /// Where a time is counted, for those who count many alike.
    #[inline]
    pub fn bucket(took_us: u64) -> usize {
        // A time that is too short to be measured counts as one nanosecond.
        bucket_of(took_us.saturating_mul(1000).clamp(1, SLOWEST_NS))
    }

    #[inline]
    pub fn add_to(&mut self, bucket: usize, calls: u64) {
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        let calls_fit = calls.try_into().unwrap_or(u32::MAX);
        self.counts[bucket] = self.counts[bucket].saturating_add(calls_fit);
        self.total += calls;
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// The time that `percent` of the calls did not exceed, in nanoseconds.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        let wanted = ((percent / 100.0 * self.total as f64).round() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return highest_of(bucket);
            }
        }
        0
    }

    /// Bounds in microseconds, each about twice the one before, with how many calls did not exceed them.
    /// Bounds that add nothing are left out.
    pub fn bounds(&self) -> Vec<(u64, u64)> {
        let mut bounds = Vec::new();
        let (mut seen, mut told, mut next) = (0, 0, 0);
        let mut bound_ns = FIRST_BOUND_NS;
        while told < self.total && bound_ns <= SLOWEST_NS * 2 {
            let highest = highest_like(bound_ns);
            while next < self.counts.len() && highest_of(next) <= highest {
                seen += u64::from(self.counts[next]);
                next += 1;
            }
            if seen > told {
                bounds.push((highest / 1000, seen));
                told = seen;
            }
            bound_ns *= 2;
        }
        bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_its_bucket() {
        for ns in (0..2000).chain([4095, 4096, 123_456, 999_999_999, SLOWEST_NS]) {
            let bucket = bucket_of(ns);
            assert!(
                highest_of(bucket) >= ns && highest_of(bucket) - ns <= ns / 64,
                "{ns}"
            );
            assert_eq!(highest_of(bucket), highest_like(ns), "{ns}");
            assert!(bucket == 0 || highest_of(bucket - 1) < ns, "{ns}");
        }
    }

    /// Valkey's figures for the same times: `p50=1.003`, `4.015`, `16.063`, `217.087`.
    #[test]
    fn percentiles_read_as_valkeys() {
        for (us, ns) in [
            (0, 1),
            (1, 1003),
            (4, 4015),
            (16, 16_063),
            (217, 217_087),
            (48, 48_127),
        ] {
            let mut histogram = Histogram::default();
            histogram.add(us);
            assert_eq!(histogram.percentile_ns(50.0), ns, "{us}");
        }
        let mut histogram = Histogram::default();
        (1..=100).for_each(|us| histogram.add(us));
        assert_eq!(histogram.percentile_ns(50.0) / 1000, 50);
        assert_eq!(histogram.percentile_ns(99.0) / 1000, 99);
    }

    /// Bounds as in the answers of `LATENCY HISTOGRAM` of Valkey.
    #[test]
    fn bounds_double() {
        let mut histogram = Histogram::default();
        for us in [1, 2, 30, 60, 130, 130, 2_000_000] {
            histogram.add(us);
        }
        assert_eq!(
            histogram.bounds(),
            [(1, 1), (2, 2), (33, 3), (66, 4), (132, 6), (1_082_130, 7)]
        );
    }
}
