//! The promise of effects, tested over every command that writes: applied to an empty shard they make an
//! equal one.
//!
//! `commands.txt` has at least one line for each such command; a new one without a line fails here. Words in
//! braces are filled at random: keys by the type that they mostly hold (`{k}` string, `{h}` hash, `{l}` list,
//! `{s}` set, `{z}` sorted set, `{y}` HyperLogLog, `{q}` idempotency record, `{t}` limit, `{x}` any),
//! `{m}` member, `{v}` value, `{n}` number, `{i}` integer, `{c}` small count, `{o}` offset, `{d}` database,
//! `{e}` seconds, `{p}` milliseconds, `{a}` Unix seconds, `{g}` a recent fence.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::COMMANDS;
use crate::command::spec::Flags;
use crate::engine::bench::Bench;
use crate::engine::session::ClientId;
use crate::engine::testing::connect;
use crate::keyspace::Shard;
use crate::keyspace::evict::Policy;

const TEMPLATES: &str = include_str!("commands.txt");
const RUNS: u64 = 5;
const COMMANDS_A_RUN: usize = 20_000;
/// The two shards are compared in full each time so many commands have run.
const COMPARE_EVERY: usize = 2_000;
const KEYS_OF_A_TYPE: u64 = 6;
const WAITING_MAX: usize = 4;

/// The name of the table's row for a line: sub-commands have two words.
fn row_of(line: &str) -> Option<&'static str> {
    let mut words = line.split(' ').map(str::as_bytes);
    let entry = COMMANDS.find(words.next()?)?;
    let sub = words.next().and_then(|word| COMMANDS.subcommand(entry, word));
    Some(&sub.unwrap_or(entry).full_name)
}

#[test]
fn every_command_that_writes_has_a_line() {
    let known: BTreeSet<&str> = TEMPLATES.lines().filter_map(row_of).collect();
    let missing: Vec<&str> = COMMANDS
        .iter()
        .filter(|entry| entry.flags.has(Flags::WRITE) && !known.contains(entry.full_name.as_str()))
        .map(|entry| entry.full_name.as_str())
        .collect();
    assert!(missing.is_empty(), "no line in commands.txt for {missing:?}");
}

pub(crate) struct Generator {
    lines: Vec<(&'static str, &'static str)>,
    random: u64,
    /// The shard's fence.
    pub(crate) fence: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        let lines = TEMPLATES.lines().filter_map(|line| Some((row_of(line)?, line)));
        Self {
            lines: lines.collect(),
            random: seed,
            fence: 0,
        }
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        Shard::mix(&mut self.random) % bound
    }

    /// The row's name and the words of a command.
    pub(crate) fn next(&mut self) -> (&'static str, Vec<String>) {
        loop {
            let nth = self.below(self.lines.len() as u64) as usize;
            let (row, line) = self.lines[nth];
            // Whole databases go now and then only, or nothing would ever grow.
            if line.starts_with("FLUSH") && self.below(40) > 0 {
                continue;
            }
            return (row, line.split(' ').map(|word| self.fill(word)).collect());
        }
    }

    fn fill(&mut self, word: &str) -> String {
        let (Some(open), Some(close)) = (word.find('{'), word.find('}')) else {
            return word.to_string();
        };
        let what = word[open + 1..close].chars().next().unwrap_or(' ');
        let filled = match what {
            'k' | 'h' | 'l' | 's' | 'z' | 'y' | 'q' | 't' | 'x' => self.key(what),
            'm' => self.member(),
            'v' => self.value(),
            'n' => format!("{}", self.below(41) as f64 / 4.0 - 5.0),
            'i' => format!("{}", self.below(13) as i64 - 4),
            'c' => (self.below(4) + 1).to_string(),
            'o' => self.below(300).to_string(),
            'd' => self.below(3).to_string(),
            'e' => (self.below(100) + 1).to_string(),
            'p' => (self.below(300) + 1).to_string(),
            'g' => self.fence.saturating_sub(self.below(3)).to_string(),
            'a' => (1_700_000_000 + self.below(1000)).to_string(),
            other => panic!("nothing fills {{{other}}}"),
        };
        format!("{}{filled}{}", &word[..open], &word[close + 1..])
    }

    fn key(&mut self, kind: char) -> String {
        const KINDS: [char; 8] = ['k', 'h', 'l', 's', 'z', 'y', 'q', 't'];
        let is_any = kind == 'x' || self.below(30) == 0;
        let kind = if is_any {
            KINDS[self.below(8) as usize]
        } else {
            kind
        };
        format!("{kind}:{}", self.below(KEYS_OF_A_TYPE))
    }

    fn member(&mut self) -> String {
        match self.below(12) {
            0 => format!("long:{}:{}", self.below(8), "x".repeat(70)),
            1..=4 => self.below(60).to_string(),
            _ => format!("m{}", self.below(60)),
        }
    }

    fn value(&mut self) -> String {
        match self.below(8) {
            0 => String::new(),
            1 => "y".repeat(self.below(400) as usize),
            2..=4 => (self.below(2000) as i64 - 1000).to_string(),
            _ => format!("value:{}", self.below(10)),
        }
    }
}

/// Has collections leave their packed form early, so that every form is met.
pub(crate) fn leave_forms_early(mut bench: Bench) -> Bench {
    let limits = &mut bench.engine.shard.limits;
    limits.hash_max_listpack_entries = 12;
    limits.set_max_intset_entries = 8;
    limits.set_max_listpack_entries = 10;
    limits.zset_max_listpack_entries = 10;
    limits.list_max_listpack_size = 6;
    bench
}

/// A client that waits makes room for another; the one that waits longest goes.
pub(crate) fn replace_waiting_client(bench: &mut Bench, waiting: &mut Vec<ClientId>) {
    let waits = |client: ClientId| {
        let session = bench.engine.world.sessions.get(client);
        session.is_some_and(|session| session.blocked.is_some())
    };
    if !waits(bench.client) {
        return;
    }
    waiting.push(bench.client);
    if waiting.len() > WAITING_MAX {
        let first = waiting.remove(0);
        bench.engine.disconnect(first);
    }
    bench.client = connect(&mut bench.engine);
}

#[test]
fn effects_make_an_equal_shard() {
    let mut successes: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 1..=RUNS {
        let mut generator = Generator::new(seed);
        let mut bench = leave_forms_early(Bench::with_follower(seed));
        let mut waiting = Vec::new();
        let policies = [Policy::AllKeysLru, Policy::VolatileTtl, Policy::AllKeysRandom];
        bench
            .engine
            .shard
            .set_eviction_policy(policies[seed as usize % policies.len()]);
        for nth in 1..=COMMANDS_A_RUN {
            generator.fence = bench.engine.shard.fence;
            let (row, words) = generator.next();
            let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
            let answer = bench.run_words(&words);
            let is_error = answer.first() == Some(&b'-');
            *successes.entry(row).or_default() += usize::from(!is_error);
            replace_waiting_client(&mut bench, &mut waiting);
            bench.engine.world.outbox.clear();
            bench.engine.world.unblocked.clear();
            happen(&mut bench, &mut generator);
            if nth % COMPARE_EVERY == 0 {
                bench.assert_follower_equal();
            }
        }
    }
    let never: Vec<_> = successes.iter().filter(|(_, times)| **times < 10).collect();
    assert!(never.is_empty(), "hardly ever succeeded: {never:?}");
}

/// What happens between commands: time passes, keys expire and are evicted.
pub(crate) fn happen(bench: &mut Bench, generator: &mut Generator) {
    if generator.below(4) == 0 {
        bench.pass_ms(generator.below(60));
    }
    let now = bench.now();
    if generator.below(20) == 0 {
        bench.engine.tick(now);
    }
    if generator.below(60) == 0 {
        bench.engine.shard.evict_one(now);
    }
}
