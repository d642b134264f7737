//! Histories as text: what happens, and what the plan does about it. Files under `transcripts/`; a line without
//! indentation is done, the indented ones after it are what comes of it. `UPDATE=1` writes them, for review.

use std::path::{Path, PathBuf};

use super::world::World;
use crate::build::samples;
use crate::names::Ordinal;

#[test]
fn plans_are_those_of_the_transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/plan/tests/transcripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|file| file.expect("a file").path())
        .collect();
    files.sort();
    assert!(files.len() >= 8, "{files:?}");
    for file in files {
        let there = std::fs::read_to_string(&file).expect("it is text");
        let now = run(&there, &file);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &now).expect("it is written");
        }
        let same = there.lines().zip(now.lines()).take_while(|(a, b)| a == b).count();
        assert!(
            there == now || std::env::var_os("UPDATE").is_some(),
            "{}:{}: {:?} is now {:?}",
            file.display(),
            same + 1,
            there.lines().nth(same),
            now.lines().nth(same)
        );
    }
}

fn run(text: &str, file: &Path) -> String {
    let mut world = World::new(serde_json::json!({}));
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        out.push_str(line);
        out.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        for said in act(&mut world, line, file) {
            out.push_str(&format!("  {said}\n"));
        }
        assert_eq!(
            world.complaints,
            Vec::<String>::new(),
            "{}: {line}",
            file.display()
        );
    }
    out
}

fn act(world: &mut World, line: &str, file: &Path) -> Vec<String> {
    let json = |text: &str| {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {line}: {error}", file.display()))
    };
    let words: Vec<&str> = line.split(' ').collect();
    let number = |at: usize| {
        words[at]
            .parse()
            .unwrap_or_else(|_| panic!("{}: {line}", file.display()))
    };
    match words.as_slice() {
        ["new", "cluster", ..] => *world = World::new(json(&line[12..])),
        ["settled", "cluster", ..] => *world = World::settled(json(&line[16..])),
        ["spec", ..] => world.cluster = samples::cluster(json(&line[5..])),
        ["pod", _, "lost"] => world.lose(Ordinal(number(1)), false),
        ["disk", _, "lost"] => world.lose(Ordinal(number(1)), true),
        ["pods", "back"] => world.revive(),
        ["image", "changes"] => world.revision += 1,
        ["record", "lost"] => world.record = Default::default(),
        ["reconcile"] => {
            world.tick();
            let plan = world.plan();
            plan.steps.iter().for_each(|step| world.obey(step));
            let steps = plan.steps.iter().map(ToString::to_string);
            let notes = plan
                .notes
                .iter()
                .map(|note| format!("({}: {})", note.reason, note.says));
            let said: Vec<String> = steps.chain(notes).collect();
            return if said.is_empty() {
                vec!["(nothing)".to_owned()]
            } else {
                said
            };
        }
        ["settle"] => {
            let said = world.settle();
            return if said.is_empty() {
                vec!["(nothing)".to_owned()]
            } else {
                said
            };
        }
        ["show"] => return show(world),
        _ => panic!("{}: {line}: unknown", file.display()),
    }
    Vec::new()
}

fn show(world: &World) -> Vec<String> {
    let pods = world.pods.keys().map(|ordinal| {
        let node = world.node_at(*ordinal);
        format!(
            "pod {ordinal}: node {}",
            node.map_or("none".to_owned(), |node| node.to_string())
        )
    });
    let shards = world.shards.iter().enumerate().map(|(at, shard)| {
        let voters: Vec<String> = shard
            .membership
            .target()
            .iter()
            .map(ToString::to_string)
            .collect();
        let leader = shard
            .leader
            .map_or("nobody".to_owned(), |leader| leader.to_string());
        format!("shard {at}: on {}, led by {leader}", voters.join(" "))
    });
    pods.chain(shards).collect()
}
