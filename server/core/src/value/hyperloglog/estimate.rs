//! From registers to a number of elements: the improved raw estimator of Otmar Ertl, "New cardinality
//! estimation algorithms for HyperLogLog sketches" (arXiv:1702.01284), in the same doubles as Valkey computes.

use super::REGISTERS;

/// How many registers have each value.
pub type Histogram = [u32; 64];

/// Bits of a hash that a register's value is counted in.
const COUNTED_BITS: usize = 50;
/// 0.5 / ln 2.
const ALPHA: f64 = 0.5 / std::f64::consts::LN_2;

pub fn cardinality(counts: &Histogram) -> u64 {
    let m = REGISTERS as f64;
    let mut z = m * tau((m - f64::from(counts[COUNTED_BITS + 1])) / m);
    for count in counts[1..=COUNTED_BITS].iter().rev() {
        z = (z + f64::from(*count)) * 0.5;
    }
    z += m * sigma(f64::from(counts[0]) / m);
    (ALPHA * m * m / z).round() as u64
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}
