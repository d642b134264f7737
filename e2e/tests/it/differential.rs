//! Twenty thousand random commands, the same to our server and to Valkey: every reply is equal,
//! and so is every key at the end.
//!
//! `RUVIO_DIFF_SEED` plays other commands, `RUVIO_DIFF_COMMANDS` more or fewer, and
//! `RUVIO_DIFF_AGAINST=valkey` puts a second Valkey in our place: a difference then is a fault of
//! the test, which compares something that is not promised.

use std::collections::BTreeSet;

use fastrand::Rng;
use ruvio_e2e::differential::{DEVIATIONS, Difference, Duel, Step, shrink, steps};
use ruvio_e2e::server::{Kind, Server};

const SEED: u64 = 20_261_130;
const COMMANDS: usize = 20_000;
/// Steps between two fresh starts: long enough for commands to meet, short enough to shrink.
const STEPS: usize = 200;
/// How many differences one run tells, each at a command of its own.
const TOLD_MAX: usize = 12;
const SHRINK_TRIES: usize = 400;

#[test]
fn replies_equal_valkey_s() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |text| {
            text.parse().unwrap_or_else(|_| panic!("{name}={text}"))
        })
    };
    let seed = number("RUVIO_DIFF_SEED", SEED);
    let commands = usize::try_from(number("RUVIO_DIFF_COMMANDS", COMMANDS as u64)).expect("fits");
    compare(Kind::under_test("RUVIO_DIFF_AGAINST"), &[], seed, commands);
}

/// The same with a log that replies wait for: other commands, and fewer.
#[test]
fn replies_that_wait_for_a_log_equal_valkey_s() {
    for (nth, durability) in ["everysec", "always"].into_iter().enumerate() {
        let flags = ["--durability", durability];
        compare(Kind::Ruvio, &flags, SEED + 1 + nth as u64, COMMANDS / 4);
    }
}

fn compare(kind: Kind, flags: &[&str], seed: u64, commands: usize) {
    let ours = Server::start(kind, flags).expect("our server starts");
    let theirs = Server::start(Kind::Valkey, &[]).expect("Valkey starts");
    let mut rng = Rng::with_seed(seed);
    let mut told = BTreeSet::new();
    let mut stories = Vec::new();
    let mut played = 0;
    while played < commands && stories.len() < TOLD_MAX {
        let steps = steps(STEPS, &mut rng);
        played += steps.iter().map(|s| s.0.len()).sum::<usize>();
        let duel = Duel {
            ours: ours.addr(),
            theirs: theirs.addr(),
            resp3: rng.bool(),
        };
        let Some(found) = duel.play(&steps).expect("both servers answer") else {
            continue;
        };
        if told.insert(name_of(&found)) {
            let short = shortest(&duel, &steps).unwrap_or(found);
            stories.push(format!("{}{short}", if duel.resp3 { "(RESP3)\n" } else { "" }));
        }
    }
    for deviation in DEVIATIONS {
        println!("meant: {}: {}", deviation.command, deviation.reason);
    }
    let errors = theirs
        .info("stats", "total_error_replies")
        .expect("Valkey counts its errors");
    println!(
        "{played} commands, seed {seed}, {errors} error replies, {} differences",
        stories.len()
    );
    assert!(
        stories.is_empty(),
        "{} differences, seed {seed}:\n\n{}",
        stories.len(),
        stories.join("\n\n")
    );
}

/// The test itself can fail: a server that lacks one command is found out, by that command alone.
#[test]
fn a_difference_is_found_and_told_in_one_command() {
    let whole = Server::start(Kind::Valkey, &[]).expect("Valkey starts");
    let lacking = Server::start(Kind::Valkey, &["--rename-command", "LTRIM", ""]).expect("Valkey starts");
    let steps = steps(4 * STEPS, &mut Rng::with_seed(SEED));
    let duel = Duel {
        ours: lacking.addr(),
        theirs: whole.addr(),
        resp3: false,
    };
    let found = duel
        .play(&steps)
        .expect("both servers answer")
        .expect("LTRIM is among the commands");
    assert_eq!(name_of(&found), "LTRIM");
    let short = shortest(&duel, &steps).expect("it still differs");
    assert_eq!(short.commands.len(), 1, "{short}");
    assert!(
        short.to_string().contains("got -ERR unknown command 'LTRIM'"),
        "{short}"
    );
}

fn name_of(found: &Difference) -> String {
    found
        .command()
        .args
        .first()
        .map(|n| String::from_utf8_lossy(n).to_uppercase())
        .unwrap_or_default()
}

fn shortest(duel: &Duel, steps: &[Step]) -> Option<Difference> {
    let short = shrink(steps, SHRINK_TRIES, |less| matches!(duel.play(less), Ok(Some(_))));
    duel.play(&short).ok().flatten()
}
