//! `CONFIG REWRITE`: the file's text with the values that hold now.
//!
//! Comments and the order of lines stay. A line whose option has its default keeps its place with the value
//! of today; options that the file does not name are added at its end unless they have their default.

use super::kind::Value;
use super::{Options, ROWS, Row};
use crate::text::escape::push_quoted;

const MARK: &str = "# Written by CONFIG REWRITE";

impl Options {
    /// `old` is what the file holds now; empty if there is none. `users` replace its `user` lines.
    pub fn rewrite(&self, old: &[u8], users: &[Vec<u8>]) -> Vec<u8> {
        let defaults = Options::default();
        let mut written = vec![false; ROWS.len()];
        let mut out: Vec<u8> = Vec::with_capacity(old.len() + 256);
        let mut marked = false;
        for line in old.split_inclusive(|byte| *byte == b'\n') {
            let text = line.trim_ascii();
            marked |= text == MARK.as_bytes();
            let name = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            if name.eq_ignore_ascii_case(b"user") {
                continue;
            }
            match Row::find(name).filter(|_| !text.starts_with(b"#")) {
                None => push_line(&mut out, text),
                Some(row) if written[row.id as usize] => {}
                Some(row) => {
                    written[row.id as usize] = true;
                    self.push_option(row, &mut out);
                }
            }
        }
        let missing = |row: &&Row| {
            !written[row.id as usize]
                && !matches!(row.kind, super::Kind::Only(..))
                && self.value(row.id) != defaults.value(row.id)
        };
        let missing: Vec<&Row> = ROWS.iter().filter(missing).collect();
        let adds = !missing.is_empty() || !users.is_empty();
        if adds && !marked {
            push_line(&mut out, MARK.as_bytes());
        }
        for row in missing {
            self.push_option(row, &mut out);
        }
        for user in users {
            push_line(&mut out, user);
        }
        out
    }

    fn push_option(&self, row: &Row, out: &mut Vec<u8>) {
        out.extend_from_slice(row.name.as_bytes());
        match self.value(row.id) {
            Value::Words(words) if !words.is_empty() => {
                for word in words {
                    out.push(b' ');
                    out.extend_from_slice(word);
                }
            }
            Value::OutputLimits(_) | Value::Percentiles(_) => {
                out.push(b' ');
                out.extend_from_slice(&self.shown(row));
            }
            _ => {
                out.push(b' ');
                let shown = self.shown(row);
                if shown.is_empty() || shown.iter().any(|byte| !is_plain(*byte)) {
                    push_quoted(&shown, out);
                } else {
                    out.extend_from_slice(&shown);
                }
            }
        }
        out.push(b'\n');
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'#' | b'\\')
}

fn push_line(out: &mut Vec<u8>, line: &[u8]) {
    out.extend_from_slice(line);
    out.push(b'\n');
}
