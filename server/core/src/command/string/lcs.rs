//! `LCS`: the longest common subsequence of two strings.
//!
//! The table of lengths is never kept: two rows of it, and one bit a cell for the way back. Valkey's limit on
//! its whole table (four bytes a cell) is kept as the limit on the work.

use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::resp::Reply;
use crate::text::fold;
use crate::text::number::parse_i64;

const NOT_STRINGS: Error = Error::new("ERR The specified keys must contain string values");
const LEN_AND_IDX: Error = Error::new("ERR If you want both the length and indexes, please just use IDX.");
const TOO_MUCH: Error =
    Error::new("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
/// Bytes of a cell in the table that the limit is counted by.
const CELL_BYTES: u64 = 4;

#[derive(Default)]
struct Options {
    len: bool,
    indexes: bool,
    len_min: i64,
    with_len: bool,
}

impl Options {
    fn parse(args: Args<'_>) -> Result<Self, Error> {
        let mut options = Self::default();
        let mut at = 3;
        while at < args.len() {
            let word = args.get(at);
            if fold::is(word, "IDX") {
                options.indexes = true;
            } else if fold::is(word, "LEN") {
                options.len = true;
            } else if fold::is(word, "WITHMATCHLEN") {
                options.with_len = true;
            } else if let (true, Some(next)) = (fold::is(word, "MINMATCHLEN"), args.try_get(at + 1)) {
                options.len_min = parse_i64(next).ok_or(NOT_AN_INTEGER)?;
                at += 1;
            } else {
                return Err(SYNTAX);
            }
            at += 1;
        }
        if options.len && options.indexes {
            return Err(LEN_AND_IDX);
        }
        Ok(options)
    }
}

pub(super) fn lcs(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let keys = [x.db.key(args.get(1)), x.db.key(args.get(2))];
    // Both are looked up, whatever the first is.
    let found = keys.map(|key| x.db.find_string(key));
    if found.iter().any(Result::is_err) {
        return Err(NOT_STRINGS.into());
    }
    let options = Options::parse(args)?;
    let [a, b] = keys.map(|key| x.db.peek_string(key));
    let cells = (a.len() as u64 + 1).saturating_mul(b.len() as u64 + 1);
    if cells.saturating_mul(CELL_BYTES) > x.db.shard.limits.proto_max_bulk_len as u64 {
        return Err(TOO_MUCH.into());
    }
    if options.len {
        let len = lengths(a, b, |_, _| {});
        x.reply.integer(len.into());
        return Ok(());
    }
    let mut ways = Ways::new(b.len(), a.len());
    let len = lengths(a, b, |row, column| ways.set_up(row, column));
    if options.indexes {
        x.reply.map(2);
        x.reply.bulk(b"matches");
        reply_ranges(x.reply, a, b, &ways, &options);
        x.reply.bulk(b"len");
        x.reply.integer(len.into());
    } else {
        let mut text = Vec::with_capacity(len as usize);
        ways.walk(a, b, |step| {
            if let Step::Match(row, _) = step {
                text.push(a[row]);
            }
        });
        text.reverse();
        x.reply.bulk(&text);
    }
    Ok(())
}

/// Fills the table row by row; calls `up` for each cell whose neighbour above is longer than the one to the
/// left. The length for the whole strings.
fn lengths(a: &[u8], b: &[u8], mut up: impl FnMut(usize, usize)) -> u32 {
    let mut above = vec![0u32; b.len() + 1];
    for (row, &byte) in a.iter().enumerate() {
        let (mut left, mut corner) = (0, 0);
        for (column, (cell, &other)) in above[1..].iter_mut().zip(b).enumerate() {
            let old = *cell;
            if old > left {
                up(row, column);
            }
            left = if byte == other { corner + 1 } else { old.max(left) };
            *cell = left;
            corner = old;
        }
    }
    above.last().copied().unwrap_or(0)
}

/// One bit a cell: whether the way back goes up or left where the bytes differ.
struct Ways {
    columns: usize,
    bits: Vec<u64>,
}

/// A step of the way back, with the row and column of the cell.
enum Step {
    Match(usize, usize),
    Gap,
}

impl Ways {
    fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            bits: vec![0; (columns * rows).div_ceil(64)],
        }
    }

    fn set_up(&mut self, row: usize, column: usize) {
        let at = row * self.columns + column;
        self.bits[at / 64] |= 1 << (at % 64);
    }

    fn is_up(&self, row: usize, column: usize) -> bool {
        let at = row * self.columns + column;
        self.bits[at / 64] >> (at % 64) & 1 == 1
    }

    /// Walks from the ends of both strings to the start of one.
    fn walk(&self, a: &[u8], b: &[u8], mut visit: impl FnMut(Step)) {
        let (mut i, mut j) = (a.len(), b.len());
        while i > 0 && j > 0 {
            if a[i - 1] == b[j - 1] {
                i -= 1;
                j -= 1;
                visit(Step::Match(i, j));
            } else {
                if self.is_up(i - 1, j - 1) {
                    i -= 1;
                } else {
                    j -= 1;
                }
                visit(Step::Gap);
            }
        }
    }
}

/// A run of matches: where it begins in both strings, and how long it is.
#[derive(Clone, Copy)]
struct Run {
    a: usize,
    b: usize,
    len: usize,
}

fn reply_ranges(reply: &mut Reply, a: &[u8], b: &[u8], ways: &Ways, options: &Options) {
    let at = reply.begin();
    let mut count = 0;
    let mut run: Option<Run> = None;
    let mut end = |reply: &mut Reply, run: Option<Run>| {
        let Some(run) = run.filter(|run| run.len as i64 >= options.len_min) else {
            return;
        };
        count += 1;
        reply.array(if options.with_len { 3 } else { 2 });
        for from in [run.a, run.b] {
            reply.array(2);
            reply.count(from);
            reply.count(from + run.len - 1);
        }
        if options.with_len {
            reply.count(run.len);
        }
    };
    ways.walk(a, b, |step| match step {
        Step::Match(row, column) => match &mut run {
            Some(run) if run.a == row + 1 && run.b == column + 1 => {
                *run = Run {
                    a: row,
                    b: column,
                    len: run.len + 1,
                };
            }
            run => {
                let new = Run {
                    a: row,
                    b: column,
                    len: 1,
                };
                end(reply, run.replace(new));
            }
        },
        Step::Gap => end(reply, run.take()),
    });
    end(reply, run);
    reply.end_array(at, count);
}
