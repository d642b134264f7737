//! Keys whatever they hold: their names, their time, their walk, and databases as a whole.

mod databases;
mod expire;
mod keys;
mod names;
mod object;
mod rows;
mod scan;
mod sort;
mod ttl;

#[cfg(test)]
mod tests;

pub use object::encoding_of;
pub use rows::COMMANDS;
pub use sort::refused_pattern;

use crate::error::{Error, NOT_AN_INTEGER};
use crate::keyspace::Db;
use crate::text::number::parse_i64;

const NO_SUCH_DATABASE: Error = Error::new("ERR DB index is out of range");
const SAME_OBJECT: Error = Error::new("ERR source and destination objects are the same");

/// A database's number.
fn parse_database(db: &Db<'_>, word: &[u8], not_a_number: Error) -> Result<u16, Error> {
    let number = parse_i64(word)
        .and_then(|number| i32::try_from(number).ok())
        .ok_or(not_a_number)?;
    u16::try_from(number)
        .ok()
        .filter(|number| (*number as usize) < db.shard.databases.len())
        .ok_or(NO_SUCH_DATABASE)
}

fn parse_target(db: &Db<'_>, word: &[u8]) -> Result<u16, Error> {
    parse_database(db, word, NOT_AN_INTEGER)
}
