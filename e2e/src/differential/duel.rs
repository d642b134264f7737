//! Plays steps on two servers and finds the first reply in which they differ.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};

use super::compare::{Compare, equal};
use super::deviations::meant;
use super::grammar::{Command, Step};
use crate::client::{Client, encode};
use crate::resp::Value;

/// Where two servers part, with what led there.
pub struct Difference {
    pub commands: Vec<(Command, Value)>,
    pub ours: Value,
}

impl Difference {
    /// The command whose replies differ; for a difference in the keyspaces the one that read it.
    pub fn command(&self) -> &Command {
        &self.commands.last().expect("a difference has a command").0
    }
}

/// A transcript with the other server's replies, and ours at the end.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (command, reply) in &self.commands {
            writeln!(f, "> {}\n< {reply}", command.to_line())?;
        }
        write!(f, "     got {}", self.ours)
    }
}

pub struct Duel {
    pub ours: SocketAddr,
    pub theirs: SocketAddr,
    pub resp3: bool,
}

impl Duel {
    /// Plays the steps on two empty servers, then reads both keyspaces. The commands travel in one
    /// pipeline, so that twenty thousand take seconds.
    pub fn play(&self, steps: &[Step]) -> Result<Option<Difference>> {
        let mut commands = Vec::new();
        if self.resp3 {
            commands.push(Command::new(&["HELLO", "3"], Compare::Shape));
        }
        commands.push(Command::new(&["FLUSHALL"], Compare::Exact));
        let opening = commands.len();
        commands.extend(steps.iter().flat_map(|step| step.0.iter().cloned()));

        let (mut ours, mut theirs) = (Client::connect(self.ours)?, Client::connect(self.theirs)?);
        let (a, b) = both(&mut ours, &mut theirs, &commands)?;
        if let Some(found) = first_difference(&commands, a, b, opening) {
            return Ok(Some(found));
        }
        self.read_back(&mut ours, &mut theirs, commands, opening)
    }

    /// Both keyspaces hold the same, told by commands that read everything.
    fn read_back(
        &self,
        ours: &mut Client,
        theirs: &mut Client,
        played: Vec<Command>,
        opening: usize,
    ) -> Result<Option<Difference>> {
        let keys = |client: &mut Client, db: &str| -> Result<BTreeSet<Vec<u8>>> {
            client.call(&["SELECT", db])?;
            let reply = client.call(&["KEYS", "*"])?;
            let (Value::Array(items) | Value::Set(items)) = reply else {
                return Ok(BTreeSet::new());
            };
            Ok(items
                .iter()
                .filter_map(|v| v.text().map(<[u8]>::to_vec))
                .collect())
        };
        let mut reads = Vec::new();
        for db in ["0", "1"] {
            let mut all = keys(ours, db)?;
            all.extend(keys(theirs, db)?);
            reads.push(Command::new(&["SELECT", db], Compare::Exact));
            for key in all {
                let Value::Simple(kind) = theirs.call(&[&b"TYPE"[..], &key])? else {
                    continue;
                };
                reads.extend(reading(&kind, &key));
            }
        }
        let (a, b) = both(ours, theirs, &reads)?;
        let Some(found) = first_difference(&reads, a, b, 0) else {
            return Ok(None);
        };
        // The story is the steps; of the reads only the one that differs belongs to it.
        let last = found
            .commands
            .into_iter()
            .next_back()
            .expect("a difference has a command");
        let story = played
            .into_iter()
            .skip(opening)
            .map(|c| (c, Value::Simple(b"(not shown)".to_vec())));
        Ok(Some(Difference {
            commands: story.chain([last]).collect(),
            ours: found.ours,
        }))
    }
}

/// Commands that show all there is of a key of that type.
pub fn reading(kind: &[u8], key: &[u8]) -> Vec<Command> {
    let read = |words: &[&str], compare| {
        let mut args: Vec<Vec<u8>> = words.iter().map(|w| w.as_bytes().to_vec()).collect();
        args.insert(1, key.to_vec());
        Command { args, compare }
    };
    let mut commands = vec![
        read(&["TYPE"], Compare::Exact),
        read(&["PEXPIRETIME"], Compare::Near),
    ];
    commands.extend(match kind {
        b"string" => vec![read(&["GET"], Compare::Exact)],
        b"list" => vec![read(&["LRANGE", "0", "-1"], Compare::Exact)],
        b"set" => vec![
            read(&["SMEMBERS"], Compare::AnyOrder),
            read(&["SCARD"], Compare::Exact),
        ],
        b"zset" => vec![
            read(&["ZRANGE", "0", "-1", "WITHSCORES"], Compare::Exact),
            read(&["ZCARD"], Compare::Exact),
        ],
        b"hash" => {
            let fields = ["f1", "f2", "f3", "f4", "1", "", "field"];
            let times = [&["HPEXPIRETIME", "FIELDS", "7"][..], &fields].concat();
            vec![read(&["HGETALL"], Compare::Pairs), read(&times, Compare::Near)]
        }
        _ => Vec::new(),
    });
    commands
}

/// Commands a batch. Small enough that a server that answers while it reads never has to wait for
/// a client that still writes.
const BATCH: usize = 32;

fn both(ours: &mut Client, theirs: &mut Client, commands: &[Command]) -> Result<(Vec<Value>, Vec<Value>)> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for batch in commands.chunks(BATCH) {
        let mut bytes = Vec::new();
        for command in batch {
            encode(&command.args, &mut bytes);
        }
        ours.send_raw(&bytes)?;
        theirs.send_raw(&bytes)?;
        for command in batch {
            b.push(
                theirs
                    .reply()
                    .with_context(|| format!("the other server after {}", command.to_line()))?,
            );
            a.push(
                ours.reply()
                    .with_context(|| format!("our server after {}", command.to_line()))?,
            );
        }
    }
    ensure!(a.len() == b.len(), "replies are missing");
    Ok((a, b))
}

fn first_difference(
    commands: &[Command],
    ours: Vec<Value>,
    theirs: Vec<Value>,
    opening: usize,
) -> Option<Difference> {
    let differs = |at: &usize| {
        let at = *at;
        let command = &commands[at];
        !equal(&command.compare, &ours[at], &theirs[at]) && !meant(&command.args, &ours[at], &theirs[at])
    };
    let at = (opening..commands.len()).find(differs)?;
    let told = commands[opening..=at]
        .iter()
        .cloned()
        .zip(theirs[opening..=at].iter().cloned());
    Some(Difference {
        commands: told.collect(),
        ours: ours[at].clone(),
    })
}
