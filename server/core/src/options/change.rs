//! `CONFIG SET`: several values at once, all or none.

use super::{Id, Kind, Options, ROWS, Row};
use crate::error::{Error, SYNTAX};

/// What changed, so that it can be carried to those whom it concerns.
#[derive(Clone, Debug)]
pub struct Change {
    pub before: Box<Options>,
    pub ids: Vec<Id>,
}

impl Options {
    /// `pairs` are names and values in turn. On an error nothing has changed.
    pub fn change(&mut self, pairs: &[&[u8]]) -> Result<Change, Error> {
        if pairs.is_empty() || !pairs.len().is_multiple_of(2) {
            return Err(SYNTAX);
        }
        let mut rows: Vec<(&Row, &str)> = Vec::new();
        for pair in pairs.chunks_exact(2) {
            let given = String::from_utf8_lossy(pair[0]);
            let (row, name) = Row::find_name(pair[0]).ok_or_else(|| {
                Error::from(format!(
                    "ERR Unknown option or number of arguments for CONFIG SET - '{given}'"
                ))
            })?;
            if !row.facts.live && !self.is_restated(row, pair[1]) {
                return Err(failed(&given, "can't set immutable config"));
            }
            if rows.iter().any(|(_, known)| *known == name) {
                return Err(failed(&given, "duplicate parameter"));
            }
            rows.push((row, name));
        }
        let before = Box::new(self.clone());
        for ((row, name), pair) in rows.iter().zip(pairs.chunks_exact(2)) {
            // Save points of the configuration add up; here they are replaced.
            let part = (!matches!(row.kind, Kind::SavePoints)).then(|| self.value(row.id));
            match row.kind.parse(&[pair[1]], part) {
                Ok(value) => self.values[row.id as usize] = value,
                Err(why) => {
                    *self = *before;
                    return Err(failed(name, &why));
                }
            }
        }
        let ids: Vec<Id> = rows.iter().map(|(row, _)| row.id).collect();
        if let Err((id, why)) = self.follow_durability(before.durability(), &ids) {
            *self = *before;
            return Err(failed(ROWS[id as usize].name, why));
        }
        Ok(Change { ids, before })
    }
}

impl Options {
    /// A fixed option is named with the value that it has: clients set back all that they have read.
    fn is_restated(&self, row: &Row, word: &[u8]) -> bool {
        let same = || row.kind.parse(&[word], None).as_ref() == Ok(self.value(row.id));
        row.facts.restated && same()
    }
}

/// The answer for a value that was refused.
pub fn failed(name: &str, why: &str) -> Error {
    Error::from(format!(
        "ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"
    ))
}
