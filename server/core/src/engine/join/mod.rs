//! How the answers of several shards become one.

mod histograms;

use std::collections::BTreeSet;

use super::sum_figures::{self, Level};
use crate::command::Entry;
use crate::command::server::memory_report::{Answer, MemoryReport};
use crate::command::spec::{Join, Route};
use crate::resp::{Protocol, Reply};
use crate::text::number::{parse_i64, parse_u64};

/// What is done with the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// There is one, or the first speaks for all.
    First,
    /// The first error, else the first.
    Agree,
    /// Any success, else the first.
    Any,
    Sum,
    /// Arrays of numbers: the least at each place.
    Least,
    /// Elements in the order of the keys that were asked for.
    Interleave,
    /// Arrays (or sets) one after the other.
    Concat,
    /// Texts of a line a client, by the clients' numbers.
    Clients,
    /// One of those that are not null, by chance.
    Choose,
    /// Arrays one after the other, without what is there already.
    Distinct,
    /// Names and numbers in turn, the same names in all parts: the numbers are added.
    Counts,
    /// Lines of figures, of the shards of one owner, or of owners.
    Figures(Level),
    /// How long commands took, by their names.
    Histograms,
    /// Figures about memory: of shards the sum, of owners what is made of it.
    Memory(Answer, Level),
}

impl How {
    /// What the command's row says, and what it leaves to the command.
    pub fn of(entry: &Entry) -> Self {
        match entry.spec.route {
            Route::Split(join) | Route::Everywhere(join) => match join {
                Join::Ok => Self::Agree,
                Join::Sum => Self::Sum,
                Join::Interleave => Self::Interleave,
                Join::Concat => Self::Concat,
                Join::Own => Self::own(entry),
            },
            _ => Self::First,
        }
    }

    fn own(entry: &Entry) -> Self {
        match entry.full_name.as_str() {
            "randomkey" => Self::Choose,
            "client|list" => Self::Clients,
            "client|kill" => Self::Any,
            "info" => Self::Figures(Level::Owners),
            "latency|histogram" => Self::Histograms,
            "memory|stats" => Self::Memory(Answer::Stats, Level::Owners),
            "memory|doctor" => Self::Memory(Answer::Doctor, Level::Owners),
            "memory|malloc-stats" => Self::Memory(Answer::Malloc, Level::Owners),
            "pubsub|channels" | "pubsub|shardchannels" => Self::Distinct,
            "pubsub|numsub" | "pubsub|shardnumsub" => Self::Counts,
            "pubsub|numpat" => Self::Sum,
            "waitaof" => Self::Least,
            _ => Self::First,
        }
    }

    /// The same for the shards of one owner, whose answer may be a part of another.
    pub(super) fn of_shards(self) -> Self {
        match self {
            Self::Figures(_) => Self::Figures(Level::Shards),
            Self::Memory(answer, _) => Self::Memory(answer, Level::Shards),
            how => how,
        }
    }

    /// `order` names, for each element of an interleaved answer, the part it comes from. There is at least one
    /// part.
    pub fn join(self, parts: &[Vec<u8>], order: &[u16], random: u64) -> Vec<u8> {
        let error = parts.iter().find(|part| is_error(part));
        match (self, error) {
            (Self::First, _) => parts[0].clone(),
            (Self::Any, _) => any(parts),
            (_, Some(error)) => error.clone(),
            (Self::Agree, None) => parts[0].clone(),
            (Self::Sum, None) => sum(parts),
            (Self::Least, None) => least(parts),
            (Self::Interleave, None) => interleave(parts, order),
            (Self::Concat, None) => concat(parts),
            (Self::Distinct, None) => distinct(parts),
            (Self::Counts, None) => counts(parts),
            (Self::Clients, None) => clients(parts),
            (Self::Choose, None) => choose(parts, random),
            (Self::Figures(level), None) => figures(parts, level),
            (Self::Histograms, None) => histograms::join(parts),
            (Self::Memory(answer, level), None) => memory(parts, answer, level),
        }
    }
}

fn is_error(part: &[u8]) -> bool {
    matches!(part.first(), Some(b'-' | b'!'))
}

/// Numbers are added, so that `CLIENT KILL` counts everywhere.
fn any(parts: &[Vec<u8>]) -> Vec<u8> {
    if parts.iter().all(|part| part.first() == Some(&b':')) {
        return sum(parts);
    }
    let fine = parts.iter().find(|part| !is_error(part));
    fine.unwrap_or(&parts[0]).clone()
}

fn sum(parts: &[Vec<u8>]) -> Vec<u8> {
    let numbers = parts.iter().filter_map(|part| integer(part));
    let mut out = Reply::default();
    out.integer(numbers.fold(0, i64::saturating_add));
    out.take()
}

fn least(parts: &[Vec<u8>]) -> Vec<u8> {
    let numbers = |part: &Vec<u8>| elements(part).filter_map(integer).collect::<Vec<i64>>();
    let mut all = numbers(&parts[0]);
    for part in &parts[1..] {
        for (least, number) in all.iter_mut().zip(numbers(part)) {
            *least = (*least).min(number);
        }
    }
    let mut out = Reply::default();
    out.array(all.len());
    all.into_iter().for_each(|number| out.integer(number));
    out.take()
}

fn interleave(parts: &[Vec<u8>], order: &[u16]) -> Vec<u8> {
    let mut rests: Vec<&[u8]> = parts.iter().map(|part| body(part).1).collect();
    let mut out = Reply::default();
    out.array(order.len());
    for part in order {
        let rest = &mut rests[usize::from(*part)];
        let (element, after) = rest.split_at(value_len(rest));
        out.raw(element);
        *rest = after;
    }
    out.take()
}

fn concat(parts: &[Vec<u8>]) -> Vec<u8> {
    let count: usize = parts.iter().map(|part| body(part).0).sum();
    let sign = parts[0].first().copied().unwrap_or(b'*');
    let mut out = vec![sign];
    out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
    out.extend_from_slice(b"\r\n");
    for part in parts {
        out.extend_from_slice(body(part).1);
    }
    out
}

fn integer(value: &[u8]) -> Option<i64> {
    parse_i64(value.strip_prefix(b":")?.strip_suffix(b"\r\n")?)
}

/// The elements of an array, or the names and values of a map in turn.
fn elements(part: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (count, mut rest) = body(part);
    let count = if part.starts_with(b"%") { 2 * count } else { count };
    (0..count).map_while(move |_| {
        let (element, after) = rest.split_at(value_len(rest));
        rest = after;
        (!element.is_empty()).then_some(element)
    })
}

fn distinct(parts: &[Vec<u8>]) -> Vec<u8> {
    let all: BTreeSet<&[u8]> = parts.iter().flat_map(|part| elements(part)).collect();
    let mut out = Reply::default();
    out.array(all.len());
    all.into_iter().for_each(|element| out.raw(element));
    out.take()
}

fn counts(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut others: Vec<_> = parts[1..].iter().map(|part| elements(part)).collect();
    let mut out = Reply::default();
    out.array(body(&parts[0]).0);
    for element in elements(&parts[0]) {
        let also = others.iter_mut().filter_map(Iterator::next);
        match element.first() {
            Some(b':') => {
                let numbers: Vec<Vec<u8>> =
                    std::iter::once(element).chain(also).map(<[u8]>::to_vec).collect();
                out.raw(&sum(&numbers));
            }
            _ => {
                also.for_each(drop);
                out.raw(element);
            }
        }
    }
    out.take()
}

fn clients(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = parts
        .iter()
        .flat_map(|part| words(part).split_inclusive(|byte| *byte == b'\n'))
        .collect();
    let number = |line: &&[u8]| {
        let line = line.strip_prefix(b"id=")?;
        parse_u64(line.split(|byte| *byte == b' ').next()?)
    };
    lines.sort_by_key(number);
    as_first(&parts[0], &lines.concat())
}

fn figures(parts: &[Vec<u8>], level: Level) -> Vec<u8> {
    let texts: Vec<String> = parts
        .iter()
        .map(|part| String::from_utf8_lossy(words(part)).into_owned())
        .collect();
    as_first(&parts[0], sum_figures::sum(&texts, level).as_bytes())
}

fn memory(parts: &[Vec<u8>], answer: Answer, level: Level) -> Vec<u8> {
    let numbers = |part: &Vec<u8>| {
        let numbers = elements(part).filter_map(integer);
        numbers.map(|number| number as u64).collect::<Vec<u64>>()
    };
    let mut whole: Option<MemoryReport> = None;
    let mut out = Reply::default();
    for numbers in parts.iter().map(numbers) {
        let Some((protocol, rest)) = numbers.split_first() else {
            continue;
        };
        if *protocol == 3 {
            out.set_proto(Protocol::Resp3);
        }
        match (&mut whole, MemoryReport::of_part(rest)) {
            (Some(whole), Some(part)) if level == Level::Shards => whole.add_shard(&part),
            (Some(whole), Some(part)) => whole.add_owner(&part),
            (None, part) => whole = part,
            (Some(_), None) => {}
        }
    }
    let whole = whole.unwrap_or_default();
    match level {
        Level::Shards => whole.write_part(&mut out),
        Level::Owners => whole.show(answer, &mut out),
    }
    out.take()
}

fn is_verbatim(part: &[u8]) -> bool {
    part.first() == Some(&b'=')
}

/// The text of a bulk string, or of a verbatim one without its format.
fn words(part: &[u8]) -> &[u8] {
    let words = body(part).1.strip_suffix(b"\r\n").unwrap_or(b"");
    if is_verbatim(part) {
        words.get(4..).unwrap_or(b"")
    } else {
        words
    }
}

/// A text of the same kind as the first part.
fn as_first(first: &[u8], text: &[u8]) -> Vec<u8> {
    let mut out = Reply::default();
    if is_verbatim(first) {
        out.set_proto(Protocol::Resp3);
        out.verbatim(b"txt", text);
    } else {
        out.bulk(text);
    }
    out.take()
}

fn choose(parts: &[Vec<u8>], random: u64) -> Vec<u8> {
    let is_null = |part: &[u8]| part.starts_with(b"$-1") || part.starts_with(b"_");
    let there: Vec<&Vec<u8>> = parts.iter().filter(|part| !is_null(part)).collect();
    match there.len() {
        0 => parts[0].clone(),
        count => there[(random % count as u64) as usize].clone(),
    }
}

/// The number in the first line, and what follows that line.
fn body(value: &[u8]) -> (usize, &[u8]) {
    let end = line_end(value);
    let number = value
        .get(1..end.saturating_sub(2))
        .and_then(parse_i64)
        .unwrap_or(0);
    (usize::try_from(number).unwrap_or(0), &value[end..])
}

/// Where the first line ends, its end included.
fn line_end(value: &[u8]) -> usize {
    value
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(value.len(), |at| at + 1)
}

/// Bytes of the value that stands at the beginning.
fn value_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    let mut left = 1_usize;
    while left > 0 && at < bytes.len() {
        left -= 1;
        let rest = &bytes[at..];
        let (number, _) = body(rest);
        at += line_end(rest);
        match rest[0] {
            b'$' | b'=' | b'!' if rest.get(1) != Some(&b'-') => at += number + 2,
            b'*' | b'~' | b'>' => left += number,
            b'%' => left += 2 * number,
            // What it describes follows as well.
            b'|' => left += 2 * number + 1,
            _ => {}
        }
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(how: How, parts: &[&str], order: &[u16]) -> String {
        let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.as_bytes().to_vec()).collect();
        String::from_utf8(how.join(&parts, order, 1)).unwrap()
    }

    #[test]
    fn answers_of_several_shards_become_one() {
        assert_eq!(joined(How::Sum, &[":2\r\n", ":40\r\n"], &[]), ":42\r\n");
        assert_eq!(
            joined(How::Agree, &["+OK\r\n", "-ERR no\r\n"], &[]),
            "-ERR no\r\n"
        );
        assert_eq!(
            joined(How::Any, &["-ERR No such client\r\n", "+OK\r\n"], &[]),
            "+OK\r\n"
        );
        assert_eq!(joined(How::Any, &[":0\r\n", ":1\r\n"], &[]), ":1\r\n");
        assert_eq!(
            joined(
                How::Concat,
                &["*1\r\n$1\r\na\r\n", "*0\r\n", "*1\r\n$0\r\n\r\n"],
                &[]
            ),
            "*2\r\n$1\r\na\r\n$0\r\n\r\n"
        );
        assert_eq!(
            joined(
                How::Clients,
                &["$15\r\nid=2 a\nid=10 b\n\r\n", "$7\r\nid=3 c\n\r\n"],
                &[]
            ),
            "$22\r\nid=2 a\nid=3 c\nid=10 b\n\r\n"
        );
        assert_eq!(
            joined(How::Clients, &["=5\r\ntxt:a\r\n", "=5\r\ntxt:b\r\n"], &[]),
            "=6\r\ntxt:ab\r\n"
        );
        assert_eq!(
            joined(How::Choose, &["$-1\r\n", "$1\r\na\r\n"], &[]),
            "$1\r\na\r\n"
        );
        assert_eq!(joined(How::Choose, &["_\r\n", "_\r\n"], &[]), "_\r\n");
    }

    #[test]
    fn elements_come_back_in_the_order_of_their_keys() {
        let parts = ["*2\r\n$2\r\n\r\n\r\n$-1\r\n", "*2\r\n_\r\n$1\r\nb\r\n"];
        assert_eq!(
            joined(How::Interleave, &parts, &[1, 0, 0, 1]),
            "*4\r\n_\r\n$2\r\n\r\n\r\n$-1\r\n$1\r\nb\r\n"
        );
    }

    /// Two shards of one owner, then two owners, of whom the second speaks for a client of RESP3.
    #[test]
    fn memory_is_added_by_shard_and_by_owner() {
        let report = |owner: u64, databases: &[(u64, u64)]| MemoryReport {
            node: [1000, 50],
            owner: [owner; 5],
            shard: [1, 2, 3, 4],
            databases: databases.to_vec(),
        };
        let part = |report: &MemoryReport, protocol| {
            let mut reply = Reply::new(protocol);
            report.write_part(&mut reply);
            reply.take()
        };
        let of = |report: &MemoryReport| part(report, Protocol::Resp2);
        let (one, two) = (report(10, &[(0, 7)]), report(10, &[(0, 1), (3, 9)]));
        let how = How::Memory(Answer::Malloc, Level::Owners);
        let mut owner = report(10, &[(0, 8), (3, 9)]);
        owner.shard = [2, 4, 6, 8];
        assert_eq!(how.of_shards().join(&[of(&one), of(&two)], &[], 0), of(&owner));

        let other = part(&report(30, &[(0, 1)]), Protocol::Resp3);
        let text = String::from_utf8(how.join(&[of(&owner), other], &[], 0)).unwrap();
        assert_eq!(
            text,
            "=100\r\ntxt:Taken from the allocator: 40 bytes\nKeys and values: 6 bytes used of 9 mapped\n\
             Resident: 50 bytes\n\r\n"
        );
    }

    #[test]
    fn a_value_is_as_long_as_all_within_it() {
        for value in [
            "+OK\r\n",
            "*2\r\n:1\r\n*1\r\n$1\r\na\r\n",
            "%1\r\n+a\r\n~0\r\n",
            "$-1\r\n",
            "*-1\r\n",
        ] {
            assert_eq!(
                value_len(format!("{value}+next\r\n").as_bytes()),
                value.len(),
                "{value}"
            );
        }
        assert_eq!(value_len(b"$100\r\nshort"), 11);
        assert_eq!(value_len(b""), 0);
    }
}
