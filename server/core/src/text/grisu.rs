//! The decimal digits of a double, by Grisu2 (Loitsch, "Printing floating-point numbers quickly and accurately
//! with integers", PLDI 2010) in the variant that Valkey prints with.
//!
//! Not "the shortest digits": about one double in five hundred gets one digit more, or another last one (1e23
//! is 9.999999999999999e22), than a shortest printer gives. Clients compare scores as text, so the digits have
//! to be the same ones; all of them read back as the same double.

/// The most digits that [`digits`] makes.
pub const DIGITS_MAX: usize = 20;

/// Powers of ten from [`POWER_FIRST`] in steps of [`POWER_STEP`]: the upper 64 bits of each, rounded.
#[rustfmt::skip]
const POWERS: [u64; 87] = [
    0xfa8f_d5a0_081c_0288, 0xbaae_e17f_a23e_bf76, 0x8b16_fb20_3055_ac76, 0xcf42_894a_5dce_35ea,
    0x9a6b_b0aa_5565_3b2d, 0xe61a_cf03_3d1a_45df, 0xab70_fe17_c79a_c6ca, 0xff77_b1fc_bebc_dc4f,
    0xbe56_91ef_416b_d60c, 0x8dd0_1fad_907f_fc3c, 0xd351_5c28_3155_9a83, 0x9d71_ac8f_ada6_c9b5,
    0xea9c_2277_23ee_8bcb, 0xaecc_4991_4078_536d, 0x823c_1279_5db6_ce57, 0xc210_9436_4dfb_5637,
    0x9096_ea6f_3848_984f, 0xd774_85cb_2582_3ac7, 0xa086_cfcd_97bf_97f4, 0xef34_0a98_172a_ace5,
    0xb238_67fb_2a35_b28e, 0x84c8_d4df_d2c6_3f3b, 0xc5dd_4427_1ad3_cdba, 0x936b_9fce_bb25_c996,
    0xdbac_6c24_7d62_a584, 0xa3ab_6658_0d5f_daf6, 0xf3e2_f893_dec3_f126, 0xb5b5_ada8_aaff_80b8,
    0x8762_5f05_6c7c_4a8b, 0xc9bc_ff60_34c1_3053, 0x964e_858c_91ba_2655, 0xdff9_7724_7029_7ebd,
    0xa6df_bd9f_b8e5_b88f, 0xf8a9_5fcf_8874_7d94, 0xb944_7093_8fa8_9bcf, 0x8a08_f0f8_bf0f_156b,
    0xcdb0_2555_6531_31b6, 0x993f_e2c6_d07b_7fac, 0xe45c_10c4_2a2b_3b06, 0xaa24_2499_6973_92d3,
    0xfd87_b5f2_8300_ca0e, 0xbce5_0864_9211_1aeb, 0x8cbc_cc09_6f50_88cc, 0xd1b7_1758_e219_652c,
    0x9c40_0000_0000_0000, 0xe8d4_a510_0000_0000, 0xad78_ebc5_ac62_0000, 0x813f_3978_f894_0984,
    0xc097_ce7b_c907_15b3, 0x8f7e_32ce_7bea_5c70, 0xd5d2_38a4_abe9_8068, 0x9f4f_2726_179a_2245,
    0xed63_a231_d4c4_fb27, 0xb0de_6538_8cc8_ada8, 0x83c7_088e_1aab_65db, 0xc45d_1df9_4271_1d9a,
    0x924d_692c_a61b_e758, 0xda01_ee64_1a70_8dea, 0xa26d_a399_9aef_774a, 0xf209_787b_b47d_6b85,
    0xb454_e4a1_79dd_1877, 0x865b_8692_5b9b_c5c2, 0xc835_53c5_c896_5d3d, 0x952a_b45c_fa97_a0b3,
    0xde46_9fbd_99a0_5fe3, 0xa59b_c234_db39_8c25, 0xf6c6_9a72_a398_9f5c, 0xb7dc_bf53_54e9_bece,
    0x88fc_f317_f222_41e2, 0xcc20_ce9b_d35c_78a5, 0x9816_5af3_7b21_53df, 0xe2a0_b5dc_971f_303a,
    0xa8d9_d153_5ce3_b396, 0xfb9b_7cd9_a4a7_443c, 0xbb76_4c4c_a7a4_4410, 0x8bab_8eef_b640_9c1a,
    0xd01f_ef10_a657_842c, 0x9b10_a4e5_e991_3129, 0xe710_9bfb_a19c_0c9d, 0xac28_20d9_623b_f429,
    0x8044_4b5e_7aa7_cf85, 0xbf21_e440_03ac_dd2d, 0x8e67_9c2f_5e44_ff8f, 0xd433_179d_9c8c_b841,
    0x9e19_db92_b4e3_1ba9, 0xeb96_bf6e_badf_77d9, 0xaf87_023b_9bf0_ee6b,
];
const POWER_FIRST: i32 = -348;
const POWER_STEP: i32 = 8;

/// Where the binary exponent of a scaled value may lie: then its integer part has at most 32 bits, and ten
/// times its fraction still fits.
const SCALED_EXPONENT: std::ops::RangeInclusive<i32> = -60..=-32;

/// Writes the digits of `value`, which is finite and above zero; gives how many and the power of ten that
/// the last one counts.
pub fn digits(value: f64, out: &mut [u8; DIGITS_MAX]) -> (usize, i32) {
    const HIDDEN: u64 = 1 << 52;
    let bits = value.to_bits();
    let (significand, exponent) = match (bits >> 52) as i32 {
        0 => (bits, -1074),
        biased => (bits & (HIDDEN - 1) | HIDDEN, biased - 1075),
    };
    // Halfway to the neighbours, all three brought to the exponent of the upper one.
    let upper = (significand << 1) + 1;
    let shift = upper.leading_zeros() as i32;
    let common = exponent - 1 - shift;
    let lower_bits = if significand == HIDDEN { 2 } else { 1 };
    let lower = (significand << lower_bits) - 1;
    let lower = lower << (exponent - lower_bits - common);
    let middle = significand << significand.leading_zeros();

    let (power, power_exponent, decimal) = power_for(common);
    let scale = |significand: u64| ((u128::from(significand) * u128::from(power) + (1 << 63)) >> 64) as u64;
    // One unit inwards, since each product may be off by one.
    let upper = scale(upper << shift) - 1;
    let lower = scale(lower) + 1;
    let interval = Interval {
        upper,
        delta: upper - lower,
        to_middle: upper - scale(middle),
    };
    let (len, kappa) = interval.generate(-(common + power_exponent + 64), out);
    (len, kappa - decimal)
}

/// The power of ten that brings a value of this binary exponent into [`SCALED_EXPONENT`]: its upper bits, its
/// binary exponent and its decimal one. Two often do; the search's start decides, and with it some digits.
fn power_for(exponent: i32) -> (u64, i32, i32) {
    let estimate = (f64::from(-(exponent + POWERS.len() as i32)) * std::f64::consts::LOG10_2) as i32;
    let mut index = (estimate - POWER_FIRST) / POWER_STEP;
    loop {
        let decimal = POWER_FIRST + index * POWER_STEP;
        // floor(decimal * log2(10)), in fixed point that is exact for these exponents.
        let binary = ((decimal * 1_741_647) >> 19) - 63;
        let scaled = exponent + binary + 64;
        if scaled < *SCALED_EXPONENT.start() {
            index += 1;
        } else if scaled > *SCALED_EXPONENT.end() {
            index -= 1;
        } else {
            return (POWERS[index as usize], binary, decimal);
        }
    }
}

/// The scaled values that read back as the double, as distances below the upper end.
struct Interval {
    upper: u64,
    delta: u64,
    to_middle: u64,
}

impl Interval {
    /// Digits of the upper end until what is left lies inside the interval, then the last digit nearer to
    /// the middle. `fraction` is how many bits are behind the point. Gives their count and decimal exponent.
    fn generate(&self, fraction: i32, out: &mut [u8; DIGITS_MAX]) -> (usize, i32) {
        let one = 1u64 << fraction;
        let mut whole = self.upper >> fraction;
        let mut rest = self.upper & (one - 1);
        let mut len = 0;
        let mut unit = 1_000_000_000;
        for kappa in (0..10).rev() {
            push(out, &mut len, whole / unit);
            whole %= unit;
            let left = (whole << fraction) + rest;
            if left <= self.delta {
                approach(
                    &mut out[..len],
                    self.delta,
                    left,
                    unit << fraction,
                    self.to_middle,
                );
                return (len, kappa);
            }
            unit /= 10;
        }
        let (mut delta, mut to_middle, mut kappa) = (self.delta, self.to_middle, 0);
        loop {
            rest *= 10;
            delta *= 10;
            to_middle = to_middle.wrapping_mul(10);
            kappa -= 1;
            push(out, &mut len, rest >> fraction);
            rest &= one - 1;
            if rest < delta {
                approach(&mut out[..len], delta, rest, one, to_middle);
                return (len, kappa);
            }
        }
    }
}

/// Appends a digit that is not a leading zero.
fn push(out: &mut [u8; DIGITS_MAX], len: &mut usize, digit: u64) {
    if digit != 0 || *len != 0 {
        out[*len] = b'0' + digit as u8;
        *len += 1;
    }
}

/// Lowers the last digit while that stays inside the interval and comes nearer to the middle.
fn approach(digits: &mut [u8], delta: u64, mut left: u64, unit: u64, to_middle: u64) {
    let Some(last) = digits.last_mut() else {
        return;
    };
    while left < to_middle
        && delta - left >= unit
        && (left + unit < to_middle || to_middle - left > left + unit - to_middle)
    {
        *last -= 1;
        left += unit;
    }
}

#[cfg(test)]
mod tests {
    use super::{DIGITS_MAX, POWER_FIRST, POWER_STEP, POWERS, digits};
    use proptest::prelude::*;

    /// Limbs of a number, the lowest first.
    fn times(number: &mut Vec<u32>, factor: u32) {
        let mut carry = 0;
        for limb in number.iter_mut() {
            let product = u64::from(*limb) * u64::from(factor) + carry;
            *limb = product as u32;
            carry = product >> 32;
        }
        number.push(carry as u32);
    }

    fn divided(number: &mut [u32], divisor: u32) {
        let mut carry = 0;
        for limb in number.iter_mut().rev() {
            let dividend = carry << 32 | u64::from(*limb);
            *limb = (dividend / u64::from(divisor)) as u32;
            carry = dividend % u64::from(divisor);
        }
    }

    /// Powers of ten are powers of five but for the exponent.
    fn upper_bits_of_power(decimal: i32) -> u64 {
        let mut number = vec![0; 60];
        number[59] = 1;
        for _ in 0..decimal.abs() {
            if decimal > 0 {
                times(&mut number, 5)
            } else {
                divided(&mut number, 5)
            }
        }
        let bit = |at: usize| u64::from(number[at / 32] >> (at % 32) & 1);
        let top = (0..number.len() * 32).rev().find(|at| bit(*at) == 1).unwrap();
        let upper = (top - 63..=top).rev().fold(0, |bits, at| bits << 1 | bit(at));
        upper + bit(top - 64)
    }

    #[test]
    fn powers_are_what_they_say() {
        for (index, power) in POWERS.iter().enumerate() {
            assert_eq!(
                *power,
                upper_bits_of_power(POWER_FIRST + index as i32 * POWER_STEP),
                "{index}"
            );
        }
    }

    proptest! {
        #[test]
        fn digits_read_back_as_the_double(bits in 1u64..0x7ff0_0000_0000_0000) {
            let value = f64::from_bits(bits);
            let mut out = [0; DIGITS_MAX];
            let (len, exponent) = digits(value, &mut out);
            prop_assert!(len <= 18);
            let text = format!("{}e{exponent}", str::from_utf8(&out[..len]).unwrap());
            prop_assert_eq!(text.parse::<f64>().unwrap(), value, "{}", text);
        }
    }
}
