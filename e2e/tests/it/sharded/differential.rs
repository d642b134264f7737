//! Random commands whose keys share a slot: a spread keyspace answers them as Valkey does, wherever the slot is.

use std::net::SocketAddr;

use anyhow::Result;
use fastrand::Rng;
use ruvio_e2e::differential::{Duel, Step, steps};
use ruvio_e2e::server::{Kind, Server};

use super::server;

const ROUNDS: usize = 60;
const STEPS: usize = 100;

#[test]
fn replies_in_one_slot_equal_valkey_s() -> Result<()> {
    let ours = server()?;
    compare_in_slots(&[ours.addr()], ROUNDS, 20_261_130)
}

/// Plays rounds, each in a slot of its own, at one of our doors after the other.
pub(crate) fn compare_in_slots(doors: &[SocketAddr], rounds: usize, seed: u64) -> Result<()> {
    let theirs = Server::start(Kind::Valkey, &[])?;
    let mut compared = 0;
    let mut random = Rng::with_seed(seed);
    for round in 0..rounds {
        let mut steps = steps(STEPS, &mut random);
        // Its cursor leads from shard to shard.
        let scans = |step: &Step| {
            step.0
                .iter()
                .any(|command| command.args[0].eq_ignore_ascii_case(b"SCAN"))
        };
        steps.retain(|step| !scans(step));
        for word in steps.iter_mut().flat_map(words) {
            if is_key(word) {
                *word = [format!("{{{round}}}").as_bytes(), word].concat();
            }
        }
        let duel = Duel {
            ours: doors[round % doors.len()],
            theirs: theirs.addr(),
            resp3: random.bool(),
        };
        // Words that only some options make keys keep their own slots; such commands are refused, as meant.
        while let Some(found) = duel.play(&steps)? {
            let refused = found.ours.text().is_some_and(is_refusal);
            assert!(refused, "{found}");
            let odd = &found.command().args;
            steps.retain(|step| step.0.iter().all(|command| command.args != *odd));
        }
        compared += steps.len();
    }
    assert!(
        compared > rounds * STEPS * 9 / 10,
        "only {compared} steps were compared"
    );
    Ok(())
}

fn words(step: &mut Step) -> impl Iterator<Item = &mut Vec<u8>> {
    step.0
        .iter_mut()
        .flat_map(|command| command.args.iter_mut().skip(1))
}

fn is_refusal(text: &[u8]) -> bool {
    text.starts_with(b"CROSSSLOT ") || text.ends_with(b"inside a transaction of a server with several shards")
}

/// `str1` and its like: how the generated commands name their keys.
fn is_key(word: &[u8]) -> bool {
    let letters = word
        .strip_suffix(b"1")
        .or(word.strip_suffix(b"2"))
        .or(word.strip_suffix(b"3"));
    letters.is_some_and(|letters| letters.len() > 1 && letters.iter().all(u8::is_ascii_lowercase))
}
