//! What clients and rules of users build on is the same as Valkey's: of every command that both have, the arity,
//! flags, key positions, categories, tips, version and group. No difference is meant; one that should be
//! would stand in `docs/src/reference/deviations.md` and be left out here.

use anyhow::Result;
use ruvio_e2e::command_table::{differences, table};
use ruvio_e2e::server::{Kind, Server};

/// Commands of which Valkey knows nothing, without their sub-commands.
const NATIVE: &[&str] = &["cl.throttle", "idem", "increx", "limit"];
/// Fewer in common would say that the tables were not read.
const COMMON_MIN: usize = 250;

#[test]
fn the_command_table_is_valkeys() -> Result<()> {
    let (ours, theirs) = (
        Server::start(Kind::Ruvio, &[])?,
        Server::start(Kind::Valkey, &[])?,
    );
    let (mut ours, mut theirs) = (ours.client()?, theirs.client()?);
    let (found, common) = differences(&mut ours, &mut theirs)?;
    assert!(common >= COMMON_MIN, "only {common} commands are in both");
    assert!(found.is_empty(), "{found:#?}");

    let known = table(&mut theirs)?;
    let ours = table(&mut ours)?;
    let mut native: Vec<&str> = ours
        .keys()
        .filter(|name| !known.contains_key(*name) && !name.contains('|'))
        .map(String::as_str)
        .collect();
    native.sort_unstable();
    assert_eq!(native, NATIVE, "commands that Valkey does not have");
    Ok(())
}
