//! Judges what follows the last good record of the last segment: nothing, a torn tail, or corruption.
//!
//! A power cut may keep any of the pages that were not yet synced, so a good record behind a bad one
//! proves nothing by itself. Each record says up to where all was durable when it was written: if that
//! lies behind the bad place, then what is bad there had been safe, and was damaged since.

use std::io;

use super::read::{Found, SegmentReader};
use super::record::{self, Bad, FIELDS_MAX, HEAD_BYTES};
use super::segment::HEADER_BYTES;

/// Bytes that checksums are tried over before the judge gives up: bytes made by an enemy could ask for
/// far more.
const CHECKED_MAX: u64 = 8 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    Clean,
    /// What a power cut left of writes that nobody was promised.
    Torn,
    /// A good record at this place says that the bad one had been durable.
    Corrupt {
        witness: u64,
    },
    /// Too much looks like records to tell.
    Unclear,
}

/// Judges what stands from `bad` on, where reading ended for the reason `why`.
pub fn judge(reader: &mut SegmentReader, bad: u64, why: Bad) -> io::Result<Tail> {
    let mut torn = why != Bad::Empty;
    let mut checked = 0u64;
    let mut at = bad;
    while let Some(candidate) = next_candidate(reader, at)? {
        at = candidate.offset + 1;
        let witness = candidate.durable > bad;
        if torn && !witness {
            continue;
        }
        checked += candidate.len;
        if checked > CHECKED_MAX {
            return Ok(Tail::Unclear);
        }
        reader.seek(candidate.offset);
        if let Found::Record(head) = reader.next()? {
            if witness {
                return Ok(Tail::Corrupt {
                    witness: candidate.offset,
                });
            }
            torn = true;
            at = head.end;
        }
    }
    Ok(if torn { Tail::Torn } else { Tail::Clean })
}

/// Something with a possible length and possible fields.
struct Candidate {
    offset: u64,
    len: u64,
    /// What it says of how far all was durable.
    durable: u64,
}

fn next_candidate(reader: &mut SegmentReader, from: u64) -> io::Result<Option<Candidate>> {
    let limit = reader.limit();
    let mut at = from;
    while at + (HEAD_BYTES as u64) < limit {
        reader.seek(at);
        let window = reader.some_bytes()?;
        // A candidate's fields have to lie in the window, but for the last of the file.
        let whole = at + window.len() as u64 == limit;
        let starts = if whole {
            window.len().saturating_sub(HEAD_BYTES)
        } else {
            window.len().saturating_sub(HEAD_BYTES + FIELDS_MAX)
        };
        if starts == 0 {
            // The rest of the buffer is short: read on from here.
            reader.refill()?;
            continue;
        }
        if let Some(found) = search(window, starts, at, limit) {
            return Ok(Some(found));
        }
        at += starts as u64;
    }
    Ok(None)
}

/// The first candidate that begins among the first `starts` bytes of a window that stands at `base`.
fn search(window: &[u8], starts: usize, base: u64, limit: u64) -> Option<Candidate> {
    let mut i = 0;
    while i < starts {
        // Most of a tail is zeros.
        if let Some(chunk) = window[i..].first_chunk::<16>()
            && u128::from_ne_bytes(*chunk) == 0
        {
            i += 9;
            continue;
        }
        let offset = base + i as u64;
        let mut head = [0; HEAD_BYTES];
        head.copy_from_slice(&window[i..i + HEAD_BYTES]);
        if let Ok(len) = record::length(&head, limit - offset - HEAD_BYTES as u64) {
            let visible = window.len().min(i + HEAD_BYTES + len);
            if let Ok(fields) = record::fields(&window[i..visible])
                && let Some(durable) = offset.checked_sub(fields.lag)
                && durable >= HEADER_BYTES
            {
                return Some(Candidate {
                    offset,
                    len: len as u64,
                    durable,
                });
            }
        }
        i += 1;
    }
    None
}
