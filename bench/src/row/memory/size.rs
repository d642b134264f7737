//! Bytes an element of strings, hashes, sets and sorted sets.

use anyhow::Result;

use super::{By, settled};
use crate::contest::{Pair, Settings, fill};
use crate::load::template::{Source, value, words};
use crate::report::{Line, Target};
use crate::server::{Model, Server};
use crate::workload::{Fill, fill_hashes, fill_sets, fill_sorted_sets, fill_strings, key, request};

/// Something to fill a server with, counted in elements.
struct Filling {
    what: &'static str,
    fill: Fill,
    elements: f64,
    raw_bytes: f64,
    /// Bytes over the raw ones that we allow ourselves; None: smaller than the reference.
    over_raw_max: Option<f64>,
}

/// Bytes an element, all included: by allocator, by RSS.
type Size = [f64; 2];

fn fillings(keys_max: u64) -> Vec<Filling> {
    let keys = (keys_max / 5).max(1);
    let with_ttl = request("SET", [key(Source::Serial), value(16)])
        .into_iter()
        .chain(words("EX 86400"))
        .collect();
    let collections = (keys / 10).max(1000);
    let filling = |what, fill, elements, raw_bytes, over_raw_max| Filling {
        what,
        fill,
        elements: elements as f64,
        raw_bytes,
        over_raw_max,
    };
    vec![
        filling(
            "string, 16-byte key and value",
            fill_strings(keys, 16),
            keys,
            32.0,
            Some(20.0),
        ),
        filling(
            "the same with a TTL",
            Fill {
                requests: vec![with_ttl],
                count: keys,
            },
            keys,
            32.0,
            Some(28.0),
        ),
        // The key's 16 bytes are shared by ten fields of 8 bytes with values of 16.
        filling(
            "field of a hash of 10",
            fill_hashes(collections),
            collections * 10,
            25.6,
            None,
        ),
        filling("member of a set of 1000", fill_sets(keys), keys, 16.0, None),
        filling(
            "member of a sorted set of 1000",
            fill_sorted_sets(keys),
            keys,
            24.0,
            None,
        ),
    ]
}

pub(super) fn lines(settings: &Settings) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut strings: Option<Pair<Size>> = None;
    for filling in fillings(settings.keys_max) {
        match both(settings, &filling) {
            Ok(pair) => {
                lines.extend(size_lines(&filling, pair));
                match strings {
                    None => strings = Some(pair),
                    Some(plain) if filling.what.contains("TTL") => lines.push(ttl_line(plain, pair)),
                    Some(_) => {}
                }
            }
            Err(error) => lines.push(Line::failed(filling.what, &error)),
        }
    }
    lines
}

fn both(settings: &Settings, filling: &Filling) -> Result<Pair<Size>> {
    let reference = size(settings, &settings.reference, filling)?;
    Ok(Pair {
        reference,
        subject: size(settings, &settings.subject, filling)?,
    })
}

fn size(settings: &Settings, model: &Model, filling: &Filling) -> Result<Size> {
    let server = Server::start(model, settings.cores)?;
    let before = settled(&server)?;
    fill(&server, &filling.fill)?;
    let after = settled(&server)?;
    Ok(By::BOTH.map(|by| (by.bytes(&after) - by.bytes(&before)) / filling.elements))
}

fn size_lines(filling: &Filling, pair: Pair<Size>) -> Vec<Line> {
    let line = |(index, by): (usize, By)| {
        let what = format!("{}, by {}", filling.what, by.name());
        let (reference, subject) = (pair.reference[index], pair.subject[index]);
        let raw = filling.raw_bytes;
        let line = match filling.over_raw_max {
            Some(most) => {
                let over = Pair {
                    reference: reference - raw,
                    subject: subject - raw,
                };
                Line::new(&what, "B over raw", over, Some(Target::AtMost(most)))
            }
            None => Line::new(
                &what,
                "B in all",
                Pair { reference, subject },
                Some(Target::RatioAtMost(1.0)),
            ),
        };
        line.note(format!("raw {raw} B"))
    };
    By::BOTH.into_iter().enumerate().map(line).collect()
}

fn ttl_line(plain: Pair<Size>, with_ttl: Pair<Size>) -> Line {
    let added = Pair {
        reference: with_ttl.reference[0] - plain.reference[0],
        subject: with_ttl.subject[0] - plain.subject[0],
    };
    Line::new("a TTL adds, by allocator", "B", added, Some(Target::AtMost(8.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::template::Arg;

    #[test]
    fn raw_bytes_are_what_the_requests_carry() {
        for filling in fillings(5_000_000) {
            let payload: usize = filling.fill.requests[0]
                .iter()
                .map(|arg| match arg {
                    Arg::Text(text) if text.starts_with(b"v") || text.starts_with(b"field") => text.len(),
                    Arg::Number(prefix, _) => prefix.len() + 8,
                    _ => 0,
                })
                .sum();
            let elements_a_request = filling.elements / filling.fill.count as f64;
            // Members of large collections do not carry the key, and a score of 8 digits is 8 bytes.
            let key = if filling.what.starts_with("member") { 16 } else { 0 };
            let raw = (payload - key) as f64 / elements_a_request;
            assert!((raw - filling.raw_bytes).abs() < 1e-9, "{}: {raw}", filling.what);
        }
    }
}
