//! For tests: an engine without a server around it, driven by lines as a person would type them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::session::ClientId;
use super::{Engine, Host, MemoryFigures};
use crate::command::OwnedArgs;
use crate::exec::Now;
use crate::keyspace::Shard;
use crate::resp::{Reply, Span, inline};

/// The time of commands that are not told another.
pub(crate) const NOW_MS: u64 = 1_700_000_000_000;

/// Files in memory, a clock that stands, secrets that are none.
#[derive(Clone, Default)]
pub(crate) struct TestHost {
    pub(crate) files: Rc<RefCell<HashMap<String, Vec<u8>>>>,
}

impl Host for TestHost {
    fn reserve_clients(&self, count: usize) -> Result<(), usize> {
        if count > 1_000_000 { Err(1_000_000) } else { Ok(()) }
    }

    fn clock_us(&self) -> u64 {
        0
    }

    fn memory(&self) -> MemoryFigures {
        MemoryFigures::default()
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files
            .borrow()
            .get(path)
            .cloned()
            .ok_or("No such file or directory".to_string())
    }

    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), String> {
        self.files.borrow_mut().insert(path.to_string(), bytes.to_vec());
        Ok(())
    }

    fn secret(&self, len: usize) -> Result<Vec<u8>, String> {
        Ok((0..len).map(|at| at as u8).collect())
    }
}

pub(crate) fn engine() -> Engine {
    engine_on(TestHost::default())
}

pub(crate) fn engine_on(host: TestHost) -> Engine {
    Engine::new(Shard::new(1, 2), Box::new(host))
}

pub(crate) fn connect(engine: &mut Engine) -> ClientId {
    engine.connect(
        "127.0.0.1:50000".into(),
        "127.0.0.1:6379".into(),
        7,
        Now::from_ms(NOW_MS),
    )
}

/// The answer as it goes over the wire; nothing if the client waits or its replies are off.
pub(crate) fn run(engine: &mut Engine, client: ClientId, line: &str) -> String {
    run_at(engine, client, line, NOW_MS)
}

pub(crate) fn run_at(engine: &mut Engine, client: ClientId, line: &str, now_ms: u64) -> String {
    let mut line = line.as_bytes().to_vec();
    let mut spans: Vec<Span> = Vec::new();
    inline::split(&mut line, 0, &mut spans).expect("balanced quotes");
    let args = OwnedArgs::from_words(spans.iter().map(|span| span.of(&line)));
    let mut reply = Reply::default();
    engine.execute(client, args.view(), Now::from_ms(now_ms), &mut reply);
    String::from_utf8_lossy(reply.as_slice()).into_owned()
}

/// What was sent to the client besides, by commands of others and by the passing of time.
pub(crate) fn received(engine: &mut Engine, client: ClientId) -> String {
    let mut bytes = Vec::new();
    engine.world.outbox.retain(|parcel| {
        if parcel.client == client {
            bytes.extend_from_slice(&parcel.bytes);
        }
        parcel.client != client
    });
    String::from_utf8_lossy(&bytes).into_owned()
}
