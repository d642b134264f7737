//! Judges what follows the last good record of the last segment: nothing, a torn tail, or corruption.
//!
//! A power cut may keep any of the pages that were not yet synced, so a good record behind a bad one
//! proves nothing by itself. Each record says up to where all was durable when it was written: if that
//! lies behind the bad place, then what is bad there had been safe, and was damaged since.

use std::io;

use super::ids::SHARDS_MAX;
use super::read::{Found, SegmentReader};
use super::record::{self, Bad, FIELDS_MAX, HEAD_BYTES};
use super::segment::HEADER_BYTES;

/// Checksums that are tried before the judge gives up. Of small entries one byte in some hundred looks like the
/// beginning of a record; bytes made by an enemy could all.
const CHECKED_MAX: u64 = 16 << 20;
/// What looks like a longer record than this is not read before its checksum was found right: most are far longer
/// than any record, and read whole they would cost minutes.
const SHORT: u64 = 4096;

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
    let mut sums = None;
    let mut at = bad;
    while let Some(candidate) = next_candidate(reader, at)? {
        at = candidate.offset + 1;
        let witness = candidate.durable > bad;
        if torn && !witness {
            continue;
        }
        checked += 1;
        if checked > CHECKED_MAX {
            return Ok(Tail::Unclear);
        }
        if candidate.len > SHORT {
            let sums = match &mut sums {
                Some(sums) => sums,
                none => none.insert(reader.sums(bad)?),
            };
            let end = candidate.offset + HEAD_BYTES as u64 + candidate.len;
            if sums.of(candidate.offset + 4, end)? != candidate.crc {
                continue;
            }
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
    crc: u32,
    /// Behind the head.
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
                && usize::from(fields.shard.0) < SHARDS_MAX
            {
                return Some(Candidate {
                    offset,
                    crc: u32::from_le_bytes([head[0], head[1], head[2], head[3]]),
                    len: len as u64,
                    durable,
                });
            }
        }
        i += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::super::disk::Disk;
    use super::super::disk::simulated::Simulated;
    use super::super::ids::{ClusterId, LogId, ShardId};
    use super::super::record::{Kind, Record};
    use super::super::segment::{Header, Segment};
    use super::*;

    const DURABLE: u64 = HEADER_BYTES + 64;

    /// A segment of which all from `DURABLE` on was written and not synced, and lost its first page.
    fn torn(bytes: usize) -> Segment {
        let header = Header {
            cluster: ClusterId([7; 16]),
            sequence: 1,
            epoch: 1,
        };
        let file = Simulated::default().create("segment").expect("there is room");
        let segment = Segment::new(&header, file);
        let mut records = Vec::new();
        // Entries as nodes write them: small numbers with short texts between them.
        for index in 1.. {
            let payload = format!(
                "\u{1}\0\t{{w{}g{}}}:c{}\0\0\u{3}{index}",
                index % 7,
                index % 5,
                index % 2
            );
            let record = Record {
                kind: Kind::Entry,
                shard: ShardId(index as u16 % 4),
                id: LogId::new(1, 0, index),
                lag: records.len() as u64,
                payload: payload.as_bytes(),
            };
            record::encode(&mut records, segment.seed, &record);
            records.extend_from_slice(record.payload);
            if records.len() > bytes {
                break;
            }
        }
        records[..4096].fill(0);
        let written = segment.file.write_at(&[IoSlice::new(&records)], DURABLE);
        written.expect("there is room");
        segment
    }

    #[test]
    fn a_long_torn_tail_of_small_entries_is_told_from_damage() {
        let segment = torn(24 << 20);
        let mut reader = SegmentReader::new(&segment, DURABLE, u64::MAX).expect("readable");
        let verdict = judge(&mut reader, DURABLE, Bad::Empty).expect("readable");
        assert_eq!(verdict, Tail::Torn);
    }
}
