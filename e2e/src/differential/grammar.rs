//! A small language for the shape of commands, so that a command with all its options is one line.
//!
//! `WORD` stands for itself and `$slot` for a random argument. `[A|B]` is one of the alternatives
//! or nothing, `(A|B)` one of them, `{A}` is A one to three times, `#{A}` the same with the count
//! in front. Parts nest.

use std::iter::Peekable;
use std::str::Chars;

use fastrand::Rng;

use super::compare::Compare;
use super::slots::fill;

/// One command and how its replies are compared.
#[derive(Clone, Debug)]
pub struct Command {
    pub args: Vec<Vec<u8>>,
    pub compare: Compare,
}

/// Commands that only make sense together (a transaction, a random pop and its clean-up).
#[derive(Clone, Debug)]
pub struct Step(pub Vec<Command>);

impl Command {
    pub fn new(args: &[&str], compare: Compare) -> Command {
        Command {
            args: args.iter().map(|a| a.as_bytes().to_vec()).collect(),
            compare,
        }
    }

    /// As a transcript writes it.
    pub fn to_line(&self) -> String {
        let plain = |arg: &[u8]| {
            !arg.is_empty() && arg.iter().all(|b| b.is_ascii_graphic() && !b"\"'\\{".contains(b))
        };
        let word = |arg: &Vec<u8>| {
            let text = crate::resp::show(arg);
            if plain(arg) { text } else { format!("\"{text}\"") }
        };
        self.args.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

enum Part {
    Word(String),
    Slot(String),
    Optional(Vec<Vec<Part>>),
    Choice(Vec<Vec<Part>>),
    Repeat { parts: Vec<Part>, counted: bool },
}

/// How often an optional part is there, of a hundred.
const OPTIONAL_PERCENT: u32 = 35;
/// How often a command is damaged: an argument lost, doubled, replaced or added.
const DAMAGE_PERCENT: u32 = 3;

/// The timeout of blocking commands in the rows.
const BRIEF: &str = " 0.001";

pub fn generate(template: &str, compare: Compare, rng: &mut Rng) -> Command {
    let mut chars = template.chars().peekable();
    let alternatives = alternatives(&mut chars, None);
    let mut args = Vec::new();
    emit(&alternatives[0], rng, &mut args);
    // A damaged timeout may be none at all.
    if !template.contains(BRIEF) && rng.u32(..100) < DAMAGE_PERCENT {
        damage(&mut args, rng);
    }
    Command { args, compare }
}

/// Reads parts up to `close`, apart at each `|`. The rows are ours, so a fault in one is a panic.
fn alternatives(chars: &mut Peekable<Chars>, close: Option<char>) -> Vec<Vec<Part>> {
    let mut all = vec![Vec::new()];
    loop {
        let Some(c) = chars.next() else {
            assert!(close.is_none(), "a template lacks its {close:?}");
            return all;
        };
        if Some(c) == close {
            return all;
        }
        let part = match c {
            ' ' => continue,
            '|' => {
                all.push(Vec::new());
                continue;
            }
            '[' => Part::Optional(alternatives(chars, Some(']'))),
            '(' => Part::Choice(alternatives(chars, Some(')'))),
            '{' => Part::Repeat {
                parts: alternatives(chars, Some('}')).remove(0),
                counted: false,
            },
            '#' if chars.next_if_eq(&'{').is_some() => Part::Repeat {
                parts: alternatives(chars, Some('}')).remove(0),
                counted: true,
            },
            _ => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| !" |])}".contains(*c)) {
                    word.push(c);
                }
                match word.strip_prefix('$') {
                    Some(slot) => Part::Slot(slot.to_owned()),
                    None => Part::Word(word),
                }
            }
        };
        all.last_mut().expect("never empty").push(part);
    }
}

fn emit(parts: &[Part], rng: &mut Rng, args: &mut Vec<Vec<u8>>) {
    for part in parts {
        match part {
            Part::Word(word) => args.push(word.clone().into_bytes()),
            Part::Slot(slot) => args.push(fill(slot, rng)),
            Part::Optional(all) => {
                if rng.u32(..100) < OPTIONAL_PERCENT {
                    emit(&all[rng.usize(..all.len())], rng, args);
                }
            }
            Part::Choice(all) => emit(&all[rng.usize(..all.len())], rng, args),
            Part::Repeat { parts, counted } => {
                let times = rng.usize(1..4);
                if *counted {
                    args.push(times.to_string().into_bytes());
                }
                for _ in 0..times {
                    emit(parts, rng, args);
                }
            }
        }
    }
}

/// The name stays: what is to be compared is the answer of a command, not of a misspelling.
fn damage(args: &mut Vec<Vec<u8>>, rng: &mut Rng) {
    const STRAY: [&str; 10] = [
        "NX",
        "XX",
        "GET",
        "COUNT",
        "WITHSCORES",
        "LIMIT",
        "abc",
        "",
        "-1",
        "0",
    ];
    let stray = STRAY[rng.usize(..STRAY.len())].as_bytes().to_vec();
    let at = rng.usize(1..args.len().max(1) + 1).min(args.len());
    match rng.u32(..4) {
        // SPOP without its count takes a random member, and the two servers would part for good.
        0 if args.len() > 1 && args[0] != b"SPOP" => drop(args.pop()),
        1 if at < args.len() => args.insert(at, args[at].clone()),
        2 if at < args.len() => args[at] = stray,
        _ => args.push(stray),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_makes_every_shape_it_says_and_no_other() {
        let mut rng = Rng::with_seed(1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..4000 {
            let mut chars = "A [B|C (D|E)] #{F}".chars().peekable();
            let mut args = Vec::new();
            emit(&alternatives(&mut chars, None)[0], &mut rng, &mut args);
            seen.insert(String::from_utf8(args.join(&b' ')).expect("ascii"));
        }
        let tails = ["1 F", "2 F F", "3 F F F"];
        let heads = ["A", "A B", "A C D", "A C E"];
        let all: std::collections::BTreeSet<_> = heads
            .iter()
            .flat_map(|h| tails.iter().map(move |t| format!("{h} {t}")))
            .collect();
        assert_eq!(seen, all);
    }
}
