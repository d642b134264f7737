//! For tests: an engine with one client and, if wanted, a follower that is given every effect; whole
//! conversations checked as text.

use super::{Engine, testing};
use crate::command::OwnedArgs;
use crate::effect::Decoder;
use crate::effect::apply::apply;
use crate::engine::session::ClientId;
use crate::exec::Now;
use crate::keyspace::{Classes, Shard, compare};
use crate::resp::{Protocol, Reply, Span, inline};
use crate::text::escape;

/// An engine, one client and a clock that the test turns.
pub struct Bench {
    pub engine: Engine,
    pub client: ClientId,
    pub now_ms: u64,
    /// A second shard that gets every effect.
    follower: Option<Shard>,
    /// Hears of keyspace events.
    listener: Option<ClientId>,
}

pub const START_MS: u64 = testing::NOW_MS;

impl Bench {
    pub fn new() -> Self {
        Self::with_seed(1)
    }

    pub fn with_seed(seed: u64) -> Self {
        let mut engine = testing::engine();
        *engine.shard = Shard::new(seed, seed);
        let client = testing::connect(&mut engine);
        Self {
            engine,
            client,
            now_ms: START_MS,
            follower: None,
            listener: None,
        }
    }

    /// The same with effects on and a follower.
    pub fn with_follower(seed: u64) -> Self {
        let mut bench = Self::with_seed(seed);
        bench.engine.shard.effects.switch(true);
        bench.follower = Some(Shard::new(seed, 99));
        bench
    }

    pub fn pass_ms(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    pub fn now(&self) -> Now {
        Now::from_ms(self.now_ms)
    }

    /// Runs words separated by blanks, quoted where needed; the reply's bytes as text.
    pub fn run(&mut self, line: &str) -> String {
        String::from_utf8_lossy(&self.run_line(line)).into_owned()
    }

    pub fn run_line(&mut self, line: &str) -> Vec<u8> {
        let mut line = line.as_bytes().to_vec();
        let mut spans: Vec<Span> = Vec::new();
        inline::split(&mut line, 0, &mut spans).expect("balanced quotes");
        let words: Vec<&[u8]> = spans.iter().map(|span| span.of(&line)).collect();
        self.run_words(&words)
    }

    pub fn run_words(&mut self, words: &[&[u8]]) -> Vec<u8> {
        let args = OwnedArgs::from_words(words.iter().copied());
        let mut reply = Reply::new(Protocol::Resp2);
        let now = self.now();
        self.engine.execute(self.client, args.view(), now, &mut reply);
        self.replicate();
        reply.take()
    }

    /// Runs each line that begins with `>` and compares with the `<` lines after it, in a short notation:
    /// see [`short`].
    #[track_caller]
    pub fn transcript(&mut self, text: &str) {
        let mut asked: Option<String> = None;
        for line in text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(command) = line.strip_prefix("> ") {
                asked = Some(command.to_string());
            } else if let Some(ms) = line.strip_prefix("+ ") {
                self.pass_ms(ms.parse().expect("milliseconds"));
            } else if let Some(expected) = line.strip_prefix("< ") {
                let command = asked.take().expect("a command before the reply");
                let got = short(&self.run_line(&command));
                if answers_in_any_order(&command) {
                    assert_eq!(sorted(&got), sorted(expected), "reply to {command:?}");
                } else {
                    assert_eq!(got, expected, "reply to {command:?}");
                }
            } else {
                panic!("neither `>`, `<` nor `+`: {line}");
            }
        }
    }

    /// Has keyspace events of these classes published, and listens to them.
    pub fn listen(&mut self, classes: Classes) {
        self.engine.shard.notify = Classes(classes.0 | Classes::KEYEVENT.0);
        let listener = testing::connect(&mut self.engine);
        testing::run(&mut self.engine, listener, "PSUBSCRIBE __keyevent@*");
        self.listener = Some(listener);
    }

    /// The keyspace events since they were last taken, as `name key`.
    pub fn events(&mut self) -> Vec<String> {
        let listener = self.listener.expect("listen first");
        // Tests that change the shard themselves have no command to follow.
        self.engine.publish_events();
        let messages = testing::received(&mut self.engine, listener);
        let lines: Vec<&str> = messages.split("\r\n").collect();
        // `*4`, then a length and a text each: `pmessage`, the pattern, the channel, the key.
        let event = |message: &[&str]| {
            let (_, name) = message[6].split_once("__:").expect("a channel of events");
            format!("{name} {}", message[8])
        };
        lines.chunks_exact(9).map(event).collect()
    }

    /// Gives the follower what there is, if there is a follower.
    pub fn replicate(&mut self) {
        let Some(follower) = &mut self.follower else {
            return;
        };
        for effect in Decoder::new(self.engine.shard.effects.bytes()) {
            let (db, effect) = effect.expect("effects decode");
            apply(follower, db, &effect).unwrap_or_else(|error| panic!("{error}: {effect:?}"));
        }
        self.engine.shard.effects.clear();
    }

    /// The follower holds what the engine's shard holds.
    #[track_caller]
    pub fn assert_follower_equal(&mut self) {
        self.replicate();
        let follower = self.follower.as_ref().expect("a follower");
        compare::assert_equal(follower, &self.engine.shard);
        assert_eq!(follower.fence, self.engine.shard.fence);
    }
}

/// Commands whose elements come in the order of a hash table.
fn answers_in_any_order(command: &str) -> bool {
    const ANY_ORDER: [&str; 10] = [
        "HGETALL",
        "HKEYS",
        "HVALS",
        "HSCAN",
        "HRANDFIELD",
        "SMEMBERS",
        "SSCAN",
        "SINTER",
        "SUNION",
        "SDIFF",
    ];
    ANY_ORDER.contains(&command.split(' ').next().unwrap_or(""))
}

fn sorted(reply: &str) -> Vec<String> {
    let flat = reply.replace(['[', ']'], " ");
    let mut parts: Vec<String> = flat.split_ascii_whitespace().map(String::from).collect();
    parts.sort();
    parts
}

/// A reply on one line: `OK`, `(integer) 1` as `1`, bulk strings in quotes, nil as `nil`, arrays in brackets.
pub fn short(reply: &[u8]) -> String {
    let mut at = 0;
    let mut out = String::new();
    while at < reply.len() {
        if at > 0 {
            out.push(' ');
        }
        at = short_one(reply, at, &mut out);
    }
    out
}

fn short_one(reply: &[u8], at: usize, out: &mut String) -> usize {
    let end = at
        + reply[at..]
            .windows(2)
            .position(|w| w == b"\r\n")
            .expect("a line ends");
    let line = String::from_utf8_lossy(&reply[at + 1..end]).into_owned();
    let mut next = end + 2;
    match reply[at] {
        b'$' if line != "-1" => {
            let len: usize = line.parse().expect("a length");
            let mut quoted = Vec::new();
            escape::push_quoted(&reply[next..next + len], &mut quoted);
            out.push_str(&String::from_utf8_lossy(&quoted));
            next += len + 2;
        }
        b'*' if line != "-1" => {
            out.push('[');
            for nth in 0..line.parse().expect("a count") {
                if nth > 0 {
                    out.push(' ');
                }
                next = short_one(reply, next, out);
            }
            out.push(']');
        }
        b'$' | b'*' => out.push_str("nil"),
        b'-' => {
            out.push('-');
            out.push_str(&line);
        }
        _ => out.push_str(&line),
    }
    next
}
