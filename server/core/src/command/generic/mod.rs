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
use crate::exec::Exec;
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

/// Another database, of those that the client may use.
fn parse_target(x: &Exec<'_>, word: &[u8]) -> Result<u16, Error> {
    let target = parse_database(&x.db, word, NOT_AN_INTEGER)?;
    let there_are = x.world.databases_of(x.caller.client, x.db.shard.databases.len());
    match usize::from(target) < there_are {
        true => Ok(target),
        false => Err(NO_SUCH_DATABASE),
    }
}
