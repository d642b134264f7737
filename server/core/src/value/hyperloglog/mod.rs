//! HyperLogLog in the format of Redis: a string that any client may copy, and other servers read.
//!
//! ```text
//! "HYLL" | form: 0 dense, 1 sparse | 3 bytes unused | cardinality, 8 bytes LE | registers
//! ```
//! The top bit of the cardinality says that it is out of date. Registers are 16384 numbers of 6 bits, packed
//! (dense) or as runs (sparse). Since clients can write these strings too, nothing here trusts them.

pub mod dense;
mod estimate;
mod hash;
pub mod sparse;

#[cfg(test)]
mod tests;

pub use estimate::{Histogram, cardinality};
pub use hash::place;

pub const REGISTERS: usize = 16384;
pub const HEADER_BYTES: usize = 16;
pub const DENSE_BYTES: usize = HEADER_BYTES + REGISTERS * 6 / 8;

const MAGIC: &[u8; 4] = b"HYLL";
const FORM_AT: usize = 4;
const FORM_DENSE: u8 = 0;
const FORM_SPARSE: u8 = 1;
const CACHE_AT: usize = 8;
/// The byte with the bit that says that the cardinality is out of date.
pub const STALE_AT: usize = 15;
const STALE_BIT: u8 = 0x80;

/// The value of each register, a byte each.
pub type Registers = [u8; REGISTERS];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Dense,
    Sparse,
}

/// The runs of a sparse value do not add up to its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the runs of a sparse value do not add up to its registers")]
pub struct Corrupt;

/// The form of a value; `None` if it is not one at all.
pub fn form(value: &[u8]) -> Option<Form> {
    if value.len() < HEADER_BYTES || !value.starts_with(MAGIC) {
        return None;
    }
    match value[FORM_AT] {
        FORM_DENSE => (value.len() == DENSE_BYTES).then_some(Form::Dense),
        FORM_SPARSE => Some(Form::Sparse),
        _ => None,
    }
}

/// A sparse value without elements.
pub fn empty() -> [u8; HEADER_BYTES + sparse::LONG_ZEROS_BYTES] {
    let mut value = [0; HEADER_BYTES + sparse::LONG_ZEROS_BYTES];
    value[..4].copy_from_slice(MAGIC);
    value[FORM_AT] = FORM_SPARSE;
    value[HEADER_BYTES..].copy_from_slice(&sparse::long_zeros(REGISTERS));
    value
}

/// The cardinality as it was last counted, unless the registers changed since.
pub fn cached(value: &[u8]) -> Option<u64> {
    let bytes = value.get(CACHE_AT..)?.first_chunk::<8>()?;
    (bytes[7] & STALE_BIT == 0).then(|| u64::from_le_bytes(*bytes))
}

/// Marks the cached cardinality as out of date; `true` if it was not before.
pub fn set_stale(value: &mut [u8]) -> bool {
    let was_fresh = value[STALE_AT] & STALE_BIT == 0;
    value[STALE_AT] |= STALE_BIT;
    was_fresh
}

/// How many registers have which value.
pub fn histogram(value: &[u8], form: Form) -> Result<Histogram, Corrupt> {
    match form {
        Form::Dense => Ok(dense::histogram(value)),
        Form::Sparse => {
            let (mut counts, mut total) = ([0; 64], 0);
            for run in sparse::runs(value) {
                counts[usize::from(run.register)] += run.len as u32;
                total += run.len;
            }
            (total == REGISTERS).then_some(counts).ok_or(Corrupt)
        }
    }
}

/// Raises each of `registers` to what `value` has.
pub fn merge(registers: &mut Registers, value: &[u8], form: Form) -> Result<(), Corrupt> {
    match form {
        Form::Dense => dense::for_each(value, |at, register| {
            registers[at] = registers[at].max(register);
        }),
        Form::Sparse => {
            let mut at = 0;
            for run in sparse::runs(value) {
                let covered = registers.get_mut(at..at + run.len).ok_or(Corrupt)?;
                if run.register > 0 {
                    covered.iter_mut().for_each(|to| *to = run.register.max(*to));
                }
                at += run.len;
            }
            if at != REGISTERS {
                return Err(Corrupt);
            }
        }
    }
    Ok(())
}

/// The same value in dense form.
pub fn to_dense(value: &[u8]) -> Result<Vec<u8>, Corrupt> {
    let mut registers = [0; REGISTERS];
    merge(&mut registers, value, Form::Sparse)?;
    let mut dense = vec![0; DENSE_BYTES];
    dense[..HEADER_BYTES].copy_from_slice(&value[..HEADER_BYTES]);
    dense[FORM_AT] = FORM_DENSE;
    dense::fill(&mut dense, &registers);
    Ok(dense)
}

/// Raises one register of a value in whatever form, which may change with it; `true` if it was lower.
/// Sparse values that would grow beyond `sparse_bytes_max` become dense.
pub fn raise(
    value: &mut Vec<u8>,
    index: usize,
    register: u8,
    sparse_bytes_max: usize,
) -> Result<bool, Corrupt> {
    if value[FORM_AT] == FORM_DENSE {
        return Ok(dense::raise(value, index, register));
    }
    match sparse::raise(value, index, register, sparse_bytes_max)? {
        sparse::Raised::No => Ok(false),
        sparse::Raised::Yes => {
            set_stale(value);
            Ok(true)
        }
        sparse::Raised::TooLarge => {
            *value = to_dense(value)?;
            Ok(dense::raise(value, index, register))
        }
    }
}
