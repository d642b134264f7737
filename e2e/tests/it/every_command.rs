//! Every command and sub-command of the server's own table is played in a transcript, and answered there.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use ruvio_e2e::command_table::table;
use ruvio_e2e::server::{Kind, Server, repository};
use ruvio_e2e::transcript::{Script, Step, split};

use crate::transcripts::collect;

#[test]
fn every_command_has_a_transcript() -> Result<()> {
    let server = Server::start(Kind::Ruvio, &[])?;
    let known: BTreeSet<String> = table(&mut server.client()?)?.into_keys().collect();
    let is_container = |name: &String| known.iter().any(|sub| sub.starts_with(&format!("{name}|")));
    let mut wanted: BTreeSet<&String> = known.iter().filter(|name| !is_container(name)).collect();

    let mut files = Vec::new();
    collect(&repository().join("e2e/transcripts"), &mut files);
    for file in files {
        for name in answered(&Script::parse(&std::fs::read_to_string(file)?)?)? {
            wanted.remove(&name);
        }
    }
    assert!(wanted.is_empty(), "no transcript plays {wanted:?}");
    Ok(())
}

/// The names, with and without what may be a sub-command, of commands after which their client expects something
/// or is said to be closed.
fn answered(script: &Script) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut sent: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in &script.steps {
        match &line.step {
            Step::Command(text) => {
                let words = split(text)?;
                let word = |at: usize| {
                    words
                        .get(at)
                        .map(|word| String::from_utf8_lossy(word).to_lowercase())
                };
                let whole = word(0).zip(word(1)).map(|(name, sub)| format!("{name}|{sub}"));
                sent.entry(&line.client)
                    .or_default()
                    .extend([word(0), whole].into_iter().flatten());
            }
            Step::Expect(..) | Step::ExpectClose => {
                names.extend(sent.remove(line.client.as_str()).unwrap_or_default());
            }
            _ => {}
        }
    }
    Ok(names)
}
