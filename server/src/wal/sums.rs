//! Checksums of any part of a file, each at the price of two pages however long the part is.
//!
//! A CRC is linear: that of a part follows from those of what lies before its two ends. So sums are kept up to each
//! page, and a part costs the reading of two pages and one multiplication of polynomials.

use std::io;
use std::sync::Arc;

use super::disk::File;

const PAGE: u64 = 4096;
/// How much is read at a time to begin with.
const READ_PAGES: usize = 256;
/// CRC-32C's polynomial, the lowest power in the highest bit.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// Powers of x that shift by 1, 2, 4, … bytes, enough for any file.
const SHIFTS: usize = 64;

pub(super) struct Sums {
    file: Arc<dyn File>,
    seed: u32,
    from: u64,
    /// Of all from `from` to each of the pages behind it.
    sums: Vec<u32>,
    shifts: [u32; SHIFTS],
    page: Vec<u8>,
}

impl Sums {
    /// Reads the file from `from` to `limit`. `seed` is what checksums of parts start from.
    pub(super) fn new(file: Arc<dyn File>, seed: u32, from: u64, limit: u64) -> io::Result<Self> {
        let mut sums = vec![0];
        let mut buffer = vec![0; READ_PAGES * PAGE as usize];
        let mut at = from;
        while at < limit {
            let count = file.read_at(&mut buffer, at)?;
            for page in buffer[..count].chunks_exact(PAGE as usize) {
                let last = sums.last().copied().unwrap_or(0);
                sums.push(crc32c::crc32c_append(last, page));
            }
            if count < buffer.len() {
                break;
            }
            at += count as u64;
        }
        let mut shifts = [0; SHIFTS];
        let mut shift = 1 << (31 - 8);
        for place in &mut shifts {
            *place = shift;
            shift = product(shift, shift);
        }
        buffer.truncate(PAGE as usize);
        Ok(Self {
            file,
            seed,
            from,
            sums,
            shifts,
            page: buffer,
        })
    }

    /// Of the bytes between two places, neither of which lies before the beginning.
    pub(super) fn of(&mut self, from: u64, to: u64) -> io::Result<u32> {
        let (before, all) = (self.up_to(from)?, self.up_to(to)?);
        let mut shifted = before ^ self.seed;
        let mut len = to - from;
        for shift in self.shifts {
            if len & 1 == 1 {
                shifted = product(shifted, shift);
            }
            len >>= 1;
        }
        Ok(all ^ shifted)
    }

    fn up_to(&mut self, at: u64) -> io::Result<u32> {
        let page = (((at - self.from) / PAGE) as usize).min(self.sums.len() - 1);
        let start = self.from + page as u64 * PAGE;
        let rest = (at - start) as usize;
        let read = self.file.read_at(&mut self.page[..rest], start)?;
        if read < rest {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(crc32c::crc32c_append(self.sums[page], &self.page[..rest]))
    }
}

/// The product of two polynomials, modulo that of the checksum.
fn product(a: u32, mut b: u32) -> u32 {
    let mut sum = 0;
    for power in (0..32).rev() {
        if a >> power & 1 == 1 {
            sum ^= b;
        }
        b = b >> 1 ^ if b & 1 == 1 { POLYNOMIAL } else { 0 };
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::super::disk::Disk;
    use super::super::disk::simulated::{Dice, Simulated};
    use super::*;

    #[test]
    fn sums_of_parts_are_those_of_their_bytes() {
        let mut dice = Dice(3);
        let bytes: Vec<u8> = (0..50_000).map(|_| dice.throw() as u8).collect();
        let file = Simulated::default().create("file").expect("there is room");
        file.write_at(&[IoSlice::new(&bytes)], 0).expect("there is room");
        let begin = 77;
        let mut sums = Sums::new(file, 0x1234_5678, begin, bytes.len() as u64).expect("readable");
        for round in 0..2000 {
            let from = begin + dice.below(bytes.len() as u64 - begin);
            let to = match round {
                0 => from,
                1 => bytes.len() as u64,
                _ => from + dice.below(bytes.len() as u64 - from),
            };
            let wanted = crc32c::crc32c_append(0x1234_5678, &bytes[from as usize..to as usize]);
            assert_eq!(sums.of(from, to).expect("readable"), wanted, "{from}..{to}");
        }
    }
}
