//! The server's turn without the server: requests of one connection, decoded, looked up ahead and executed
//! in order, the way an owner thread does it. For the gates on instructions and allocations, which must
//! see the path that a request takes and nothing besides.
//!
//! It does not know sockets, and it asserts nothing about replies except that they are no errors.

use std::hint::black_box;

use ruvio_core::command::Args;
use ruvio_core::engine::session::ClientId;
use ruvio_core::engine::{Ahead, Engine, Flow, Host, MemoryFigures};
use ruvio_core::exec::Now;
use ruvio_core::keyspace::Shard;
use ruvio_core::resp::{Decoded, Decoder, Limits, Protocol, Reply, Span};

/// Requests a client sends before it reads.
pub const PIPELINE: usize = 16;
/// Commands by which the server's prefetch runs ahead of the execution.
const LOOK_AHEAD: usize = 6;
const NOW: Now = Now::from_ms(1_700_000_000_000);

/// A process in which nothing happens.
struct Still;

impl Host for Still {
    fn clock_us(&self) -> u64 {
        0
    }

    fn memory(&self) -> MemoryFigures {
        MemoryFigures::default()
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("{path}: there are no files"))
    }

    fn write_file(&self, path: &str, _bytes: &[u8]) -> Result<(), String> {
        Err(format!("{path}: there are no files"))
    }

    fn secret(&self, len: usize) -> Result<Vec<u8>, String> {
        Ok(vec![7; len])
    }
}

/// An engine, its one client, and what the client has sent.
pub struct Turn {
    engine: Engine,
    client: ClientId,
    decoder: Decoder,
    arena: Vec<u8>,
    spans: Vec<Span>,
    commands: Vec<(usize, Ahead)>,
    reply: Reply,
}

impl Turn {
    /// An engine with `lines` carried out, about to be sent `requests` (words separated by blanks).
    pub fn new(lines: &[String], requests: &[String]) -> Self {
        let mut engine = Engine::new(Shard::new(1, 2), Box::new(Still));
        let client = engine.connect("127.0.0.1:50000".into(), "127.0.0.1:6379".into(), 7, NOW);
        let mut turn = Self {
            engine,
            client,
            decoder: Decoder::new(),
            arena: Vec::new(),
            spans: Vec::new(),
            commands: Vec::new(),
            reply: Reply::new(Protocol::Resp2),
        };
        for line in lines {
            turn.send(std::slice::from_ref(line));
            turn.run();
        }
        turn.send(requests);
        turn
    }

    fn send(&mut self, requests: &[String]) {
        let mut bytes = Reply::new(Protocol::Resp2);
        for request in requests {
            bytes.array(request.split_ascii_whitespace().count());
            for word in request.split_ascii_whitespace() {
                bytes.bulk(word.as_bytes());
            }
        }
        self.arena = bytes.take();
    }

    /// Cuts what was sent into commands and looks each up.
    #[inline(never)]
    fn parse(&mut self) {
        self.spans.clear();
        self.commands.clear();
        let limits = Limits::default();
        let (mut at, end) = (0, self.arena.len());
        while at < end {
            let first = self.spans.len();
            let decoded = self
                .decoder
                .decode(&mut self.arena, at, end, &mut self.spans, &limits);
            let Decoded::Command { next, .. } = decoded else {
                panic!("not a whole command: {decoded:?}");
            };
            let args = Args::new(&self.arena, &self.spans[first..]);
            self.commands.push((first, self.engine.look_ahead(0, args)));
            at = next;
        }
    }

    /// Cuts what was sent into arguments, without looking at them.
    #[inline(never)]
    pub fn decode(&mut self) {
        self.spans.clear();
        let limits = Limits::default();
        let (mut at, end) = (0, self.arena.len());
        while at < end {
            let decoded = self
                .decoder
                .decode(&mut self.arena, at, end, &mut self.spans, &limits);
            let Decoded::Command { next, .. } = decoded else {
                panic!("not a whole command: {decoded:?}");
            };
            at = next;
        }
        black_box(&self.spans);
    }

    /// Executes what was parsed, in order.
    #[inline(never)]
    fn execute(&mut self) {
        self.reply.clear();
        for at in 0..self.commands.len() {
            if let Some((_, next)) = self.commands.get(at + LOOK_AHEAD) {
                self.engine.prefetch_entry(next);
            }
            let (first, ahead) = self.commands[at];
            let last = self.commands.get(at + 1).map_or(self.spans.len(), |next| next.0);
            let args = Args::new(&self.arena, &self.spans[first..last]);
            let start = self.reply.len();
            let flow = self
                .engine
                .execute_ahead(self.client, args, ahead, NOW, &mut self.reply);
            assert!(flow == Flow::Continue, "the client waits");
            assert!(
                self.reply.as_slice()[start] != b'-',
                "{}",
                self.reply.as_slice().escape_ascii()
            );
        }
        black_box(self.reply.as_slice());
    }

    /// The whole turn: everything that was sent, once. It may be run again and again.
    pub fn run(&mut self) {
        self.engine.begin_turn();
        self.parse();
        self.execute();
        self.engine.end_turn();
    }

    /// What the last turn answered.
    pub fn replies(&self) -> &[u8] {
        self.reply.as_slice()
    }
}

/// The workloads: what is there before, and a pipeline that leaves it as large as it was.
pub mod work {
    use super::{PIPELINE, Turn};

    /// `line` once for each place in the pipeline, `{}` standing for the place.
    pub fn each(line: &str) -> Vec<String> {
        let at = |place: usize| line.replace("{}", &format!("{place:02}"));
        (0..PIPELINE).map(at).collect()
    }

    pub fn get() -> Turn {
        Turn::new(&each("SET key:{} a-value-of-16-by"), &each("GET key:{}"))
    }

    pub fn set() -> Turn {
        Turn::new(
            &each("SET key:{} a-value-of-16-by"),
            &each("SET key:{} another-value-{}"),
        )
    }

    /// Numbers that keep their digits.
    pub fn incr() -> Turn {
        Turn::new(&each("SET key:{} 1000000000"), &each("INCR key:{}"))
    }

    /// A packed hash; the values change, their lengths do not.
    pub fn hset() -> Turn {
        let fields = each("HSET hash field:{} value-{}");
        Turn::new(&fields, &each("HSET hash field:07 other-{}"))
    }

    /// A packed sorted set whose members change places.
    pub fn zadd() -> Turn {
        let members = each("ZADD zset 10{} member:{}");
        Turn::new(&members, &each("ZADD zset 20{} member:07"))
    }

    pub fn sadd() -> Turn {
        let members = each("SADD set member:{}");
        Turn::new(&members, &members)
    }

    pub fn push_and_pop() -> Turn {
        let push = each("LPUSH list element:{}");
        let mixed = push.iter().flat_map(|push| [push.clone(), "RPOP list".into()]);
        Turn::new(&push, &mixed.take(PIPELINE).collect::<Vec<_>>())
    }

    pub fn mixed() -> Turn {
        let lines = [
            each("SET key:{} a-value-of-16-by"),
            each("SET number:{} 1000000000"),
        ]
        .concat();
        let kinds = ["GET key:{}", "SET key:{} another-value-{}", "INCR number:{}"];
        let requests = (0..PIPELINE).map(|place| each(kinds[place % 3])[place].clone());
        Turn::new(&lines, &requests.collect::<Vec<_>>())
    }
}
