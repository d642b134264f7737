//! The sparse form: runs of equal registers.
//!
//! ```text
//! 00llllll            zeros: length - 1 (1 to 64)
//! 01llllll llllllll   zeros: length - 1 (1 to 16384), high bits first
//! 1vvvvvll            registers of one value: value - 1 (1 to 32), length - 1 (1 to 4)
//! ```
//! What is written is byte for byte what Valkey writes for the same elements in the same order, including
//! which neighbours are joined and when.

use super::{Corrupt, HEADER_BYTES};

pub const LONG_ZEROS_BYTES: usize = 2;
const SHORT_ZEROS_MAX: usize = 64;
const VALUE_MAX: u8 = 32;
const VALUE_RUN_MAX: usize = 4;
/// Runs that are looked at for neighbours to join after a change.
const JOIN_STEPS: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Their value, 0 for zeros.
    pub register: u8,
    pub len: usize,
    /// Where the run stands, and how many bytes it is.
    pub at: usize,
    pub size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Raised {
    No,
    Yes,
    /// Not done: the result would not fit this form.
    TooLarge,
}

/// The run at a byte of the value. What is cut off at the end counts as followed by a zero byte.
fn run_at(value: &[u8], at: usize) -> Option<Run> {
    let byte = *value.get(at)?;
    let low = usize::from(byte & 0x3F);
    let (register, len, size) = match byte >> 6 {
        0 => (0, low + 1, 1),
        1 => (
            0,
            (low << 8 | usize::from(value.get(at + 1).copied().unwrap_or(0))) + 1,
            2,
        ),
        _ => ((byte >> 2 & 0x1F) + 1, usize::from(byte & 3) + 1, 1),
    };
    Some(Run {
        register,
        len,
        at,
        size,
    })
}

/// The runs of a value, as they are.
pub fn runs(value: &[u8]) -> impl Iterator<Item = Run> {
    let mut at = HEADER_BYTES;
    std::iter::from_fn(move || {
        let run = run_at(value, at)?;
        at += run.size;
        Some(run)
    })
}

pub(super) fn long_zeros(len: usize) -> [u8; LONG_ZEROS_BYTES] {
    let low = len - 1;
    [0x40 | (low >> 8) as u8, low as u8]
}

fn values(register: u8, len: usize) -> u8 {
    0x80 | (register - 1) << 2 | (len - 1) as u8
}

/// Up to five bytes of runs.
#[derive(Default)]
struct Pieces {
    bytes: [u8; 5],
    len: usize,
}

impl Pieces {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Registers of the run that was split; none if `len` is 0.
    fn push_part(&mut self, register: u8, len: usize) {
        match (register, len) {
            (_, 0) => {}
            (0, 1..=SHORT_ZEROS_MAX) => self.push(&[(len - 1) as u8]),
            (0, _) => self.push(&long_zeros(len)),
            _ => self.push(&[values(register, len)]),
        }
    }
}

/// Raises one register.
pub(super) fn raise(
    value: &mut Vec<u8>,
    index: usize,
    register: u8,
    bytes_max: usize,
) -> Result<Raised, Corrupt> {
    if register > VALUE_MAX {
        return Ok(Raised::TooLarge);
    }
    let mut first = 0;
    let mut before = None;
    let mut found = None;
    for run in runs(value) {
        if index < first + run.len {
            found = Some(run);
            break;
        }
        before = Some(run.at);
        first += run.len;
    }
    let run = found
        .filter(|run| run.at + run.size <= value.len())
        .ok_or(Corrupt)?;
    if run.register >= register {
        return Ok(Raised::No);
    }
    let mut pieces = Pieces::default();
    pieces.push_part(run.register, index - first);
    pieces.push(&[values(register, 1)]);
    pieces.push_part(run.register, first + run.len - 1 - index);
    if pieces.len > run.size && value.len() + pieces.len - run.size > bytes_max {
        return Ok(Raised::TooLarge);
    }
    replace(value, run.at..run.at + run.size, &pieces.bytes[..pieces.len]);
    join(value, before.unwrap_or(HEADER_BYTES));
    Ok(Raised::Yes)
}

fn replace(value: &mut Vec<u8>, range: std::ops::Range<usize>, with: &[u8]) {
    let (old_end, new_end, len) = (range.end, range.start + with.len(), value.len());
    value.resize(len.max(len + new_end - old_end), 0);
    value.copy_within(old_end..len, new_end);
    value.truncate(len + new_end - old_end);
    value[range.start..new_end].copy_from_slice(with);
}

/// Joins neighbours of one value, from the run at `at` on.
fn join(value: &mut Vec<u8>, mut at: usize) {
    for _ in 0..JOIN_STEPS {
        let Some(run) = run_at(value, at) else {
            return;
        };
        let next = run_at(value, at + 1).filter(|next| {
            run.register > 0 && next.register == run.register && run.len + next.len <= VALUE_RUN_MAX
        });
        match next {
            Some(next) => {
                value[at] = values(run.register, run.len + next.len);
                value.remove(next.at);
            }
            None => at += run.size,
        }
    }
}
