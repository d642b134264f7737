//! Prints a log as text, a line a record, for people who have to understand one.
//!
//! It checks nothing but the records themselves, goes on with the next segment after a bad one, and
//! changes nothing.

use std::io::{self, Write};

use ruvio_core::effect::Decoder;

use super::disk::Disk;
use super::read::{Found, Head, SegmentReader};
use super::record::{Bad, Kind, Record};
use super::segment::{self, HEADER_BYTES, Header, Segment};

/// Bytes of a text or payload that are shown.
const SHOWN_MAX: usize = 64;

/// Prints all segments of a folder.
pub fn dump(disk: &dyn Disk, out: &mut dyn Write) -> io::Result<()> {
    let mut names: Vec<String> = disk
        .list()?
        .into_iter()
        .filter(|name| segment::is_segment(name))
        .collect();
    names.sort_unstable();
    for name in names {
        let file = disk.open(&name)?;
        match Header::read(&*file)? {
            Ok(header) => {
                let Header {
                    cluster,
                    sequence,
                    epoch,
                } = header;
                writeln!(
                    out,
                    "{name}: segment {sequence}, epoch {epoch}, cluster {cluster}"
                )?;
                print_records(&Segment::new(&header, file), out)?;
            }
            Err(why) => writeln!(out, "{name}: {why}")?,
        }
    }
    Ok(())
}

fn print_records(segment: &Segment, out: &mut dyn Write) -> io::Result<()> {
    let mut reader = SegmentReader::new(segment, HEADER_BYTES, u64::MAX)?;
    loop {
        match reader.next()? {
            Found::Record(head) => print(&head, &reader.record(&head), out)?,
            Found::End => return writeln!(out, "  {} end of the file", reader.at()),
            Found::Bad(offset, Bad::Empty) => return writeln!(out, "  {offset} end"),
            Found::Bad(offset, why) => return writeln!(out, "  {offset} no record: {why}"),
        }
    }
}

fn print(head: &Head, record: &Record<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (offset, shard, id) = (head.offset, record.shard.0, record.id);
    let bytes = record.payload.len();
    match record.kind {
        Kind::Open => writeln!(
            out,
            "  {offset} open, the segment before ends at {}",
            record.previous_end()
        ),
        Kind::Mark => writeln!(out, "  {offset} closed"),
        Kind::Entry => {
            writeln!(out, "  {offset} shard {shard} entry {id}, {bytes} bytes")?;
            print_effects(record.payload, out)
        }
        Kind::Part => {
            writeln!(out, "  {offset} shard {shard} part {id}, {bytes} bytes")?;
            print_effects(record.payload, out)
        }
        Kind::RaftEntry => writeln!(
            out,
            "  {offset} shard {shard} raft-entry {id}, {}",
            record.payload[..bytes.min(SHOWN_MAX)].escape_ascii()
        ),
        Kind::Vote => {
            let vote = record.vote();
            let elected = if vote.committed { ", elected" } else { "" };
            writeln!(
                out,
                "  {offset} shard {shard} vote for {} in term {}{elected}",
                vote.node.0, vote.term.0
            )
        }
        Kind::Leave => {
            let goes = if record.is_leaving() {
                ", its image goes"
            } else {
                ""
            };
            writeln!(out, "  {offset} shard {shard} is left{goes}")
        }
        Kind::Truncate => writeln!(out, "  {offset} shard {shard} truncate from {}", id.index.0),
        Kind::Purge => writeln!(out, "  {offset} shard {shard} purge up to {id}"),
        Kind::Committed => writeln!(out, "  {offset} shard {shard} committed up to {id}"),
        Kind::Membership => writeln!(
            out,
            "  {offset} shard {shard} membership as of {id}, {bytes} bytes"
        ),
    }
}

/// Effects in their own words, byte strings as text.
fn print_effects(payload: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for effect in Decoder::new(payload) {
        match effect {
            Ok((db, effect)) => {
                let fields = readable(&format!("{effect:?}"));
                writeln!(out, "      db {db} {fields}")?;
            }
            Err(error) => writeln!(out, "      {error}")?,
        }
    }
    Ok(())
}

/// Rewrites the lists of numbers that byte strings are shown as.
fn readable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        let Some(len) = rest[start..].find(']') else { break };
        let inside = &rest[start + 1..start + len];
        let numbers = inside.split(", ").filter(|n| !n.is_empty());
        let bytes: Result<Vec<u8>, _> = numbers.map(str::parse).collect();
        shown.push_str(&rest[..start]);
        match bytes {
            Ok(bytes) => {
                let end = bytes.len().min(SHOWN_MAX);
                let more = if end < bytes.len() { "…" } else { "" };
                shown.push_str(&format!("\"{}{more}\"", bytes[..end].escape_ascii()));
            }
            Err(_) => shown.push_str(&rest[start..=start + len]),
        }
        rest = &rest[start + len + 1..];
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_strings_are_shown_as_text() {
        assert_eq!(
            readable("Put { key: [107, 0], at: Some(5), value: [] }"),
            "Put { key: \"k\\x00\", at: Some(5), value: \"\" }"
        );
        let long = format!("{:?}", [b'a'; 100]);
        assert!(readable(&long).ends_with("a…\""));
    }
}
