//! What an owner has for other owners besides the commands of clients: events that all publish, and what is kept
//! by one of them for the whole node, or shown by one to its client.
//!
//! The command logs, the latency monitor and the ACL log are the first owner's. Whoever sees something worth
//! keeping sends it there; what was seen of a client of another owner goes by that owner, who knows its name.

use super::observe::{LatencyMonitor, LogEntry, LogKind};
use super::session::ClientId;
use super::world::World;
use crate::acl::Reason;
use crate::acl::log::{Context, Refusal};
use crate::command::{Args, OwnedArgs};
use crate::text::number::parse_u64;

/// Who is to hear of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// All other owners, as a command.
    Others,
    /// All other nodes, as a message to channels.
    Nodes,
    First,
    /// The owner of this client, which is one that monitors.
    Monitor(ClientId),
    /// The owner of this client.
    Home(ClientId),
}

pub struct Errand {
    pub to: To,
    pub words: OwnedArgs,
}

const LOG: &[u8] = b"log";
const LATENCY: &[u8] = b"latency";
const REFUSAL: &[u8] = b"refusal";
const LINE: &[u8] = b"line";
/// Words of an entry of a command log before those of its command.
const LOG_HEAD: usize = 6;

impl World {
    fn is_first(&self) -> bool {
        self.topology.me == 0
    }

    fn send_errand<'w>(&mut self, to: To, words: impl IntoIterator<Item = &'w [u8]>) {
        let words = OwnedArgs::from_words(words.into_iter());
        self.errands.push(Errand { to, words });
    }

    /// What is worth keeping in a command log, of this client's command.
    pub(super) fn keep_log_entry(&mut self, client: ClientId, kind: LogKind, found: LogEntry) {
        let session = self.sessions.get(client);
        let to = match session.and_then(|session| session.home) {
            Some(home) => To::Home(home),
            None if self.is_first() => {
                self.observer.log_mut(kind).push(found);
                return;
            }
            None => To::First,
        };
        let numbers = [kind as u64, found.at_seconds, found.value].map(|number| number.to_string());
        let numbers = numbers.iter().map(String::as_bytes);
        let head = std::iter::once(LOG).chain(numbers);
        let texts = [found.addr.as_slice(), &found.name];
        let words = head.chain(texts).chain(found.words.iter().map(Vec::as_slice));
        self.send_errand(to, words);
    }

    pub(super) fn keep_latency(&mut self, name: &'static str, at_seconds: u64, took_ms: u64) {
        if !self.observer.latency.is_long(took_ms) {
            return;
        }
        if self.is_first() {
            self.observer.latency.note(name, at_seconds, took_ms);
            return;
        }
        let numbers = [at_seconds, took_ms].map(|number| number.to_string());
        let words = [
            LATENCY,
            name.as_bytes(),
            numbers[0].as_bytes(),
            numbers[1].as_bytes(),
        ];
        self.send_errand(To::First, words);
    }

    pub(super) fn keep_refusal(&mut self, refusal: Refusal, now_ms: u64) {
        if self.is_first() {
            self.acl_log.add(refusal, now_ms);
            return;
        }
        let now_ms = now_ms.to_string();
        let words = [
            REFUSAL,
            refusal.reason.name().as_bytes(),
            refusal.context.name().as_bytes(),
            &refusal.object,
            &refusal.username,
            &refusal.client_info,
            now_ms.as_bytes(),
        ];
        self.send_errand(To::First, words);
    }

    /// A line for a client that monitors.
    pub(super) fn show_line(&mut self, monitor: ClientId, line: &[u8]) {
        let Some(session) = self.sessions.get(monitor).filter(|session| !session.closing) else {
            return;
        };
        match session.home {
            Some(home) => self.send_errand(To::Monitor(home), [LINE, line]),
            None => self.send(monitor, |reply| reply.raw(line)),
        }
    }

    /// Does what another owner sent; `client` is whom it is about. Nothing comes of what it does not know.
    pub fn take_errand(&mut self, client: ClientId, words: Args<'_>) {
        let number = |at: usize| words.try_get(at).and_then(parse_u64).unwrap_or(0);
        let text = |at: usize| words.try_get(at).unwrap_or_default().to_vec();
        match words.get(0) {
            LOG => {
                let Some(kind) = LogKind::ALL.into_iter().find(|kind| *kind as u64 == number(1)) else {
                    return;
                };
                let mut found = LogEntry {
                    id: 0,
                    at_seconds: number(2),
                    value: number(3),
                    addr: text(4),
                    name: text(5),
                    words: words.iter_from(LOG_HEAD).map(<[u8]>::to_vec).collect(),
                };
                if let Some(session) = self.sessions.get(client) {
                    found.addr = session.addr.clone().into_bytes();
                    found.name = session.identity.name.clone();
                }
                self.keep_log_entry(ClientId::NONE, kind, found);
            }
            LATENCY => {
                if let Some(name) = LatencyMonitor::name_of(&text(1)) {
                    self.keep_latency(name, number(2), number(3));
                }
            }
            REFUSAL => {
                let reason = Reason::ALL
                    .into_iter()
                    .find(|reason| reason.name().as_bytes() == text(1));
                let context = [Context::TopLevel, Context::Multi];
                let context = context
                    .into_iter()
                    .find(|context| context.name().as_bytes() == text(2));
                if let (Some(reason), Some(context)) = (reason, context) {
                    let refusal = Refusal {
                        reason,
                        context,
                        object: text(3),
                        username: text(4),
                        client_info: text(5),
                    };
                    self.keep_refusal(refusal, number(6));
                }
            }
            LINE if self.sessions.get(client).is_some_and(|session| session.monitors) => {
                self.show_line(client, &text(1));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{NOW_MS, TestHost, run};
    use crate::engine::{Engine, Topology};
    use crate::exec::Now;
    use crate::keyspace::Shard;

    fn owner(me: u16) -> Engine {
        let topology = Topology {
            shards: 2,
            owners: 2,
            me,
        };
        let mut engine = Engine::spread(vec![Shard::new(1, 2)], topology, Box::new(TestHost::default()));
        let client = engine.connect(
            "10.0.0.7:50000".into(),
            "127.0.0.1:6379".into(),
            7,
            Now::from_ms(NOW_MS),
        );
        run(
            &mut engine,
            client,
            "CONFIG SET slowlog-log-slower-than 10 latency-monitor-threshold 1",
        );
        engine
    }

    /// Has each errand done by the owner that it is for, until none is left; how many there were.
    fn carry(owners: &mut [Engine; 2]) -> usize {
        let mut carried = 0;
        while let Some(from) = owners.iter().position(|owner| !owner.world.errands.is_empty()) {
            for Errand { to, words } in std::mem::take(&mut owners[from].world.errands) {
                let (place, client) = match to {
                    To::Others | To::Nodes | To::First => (0, ClientId::NONE),
                    To::Home(client) | To::Monitor(client) => {
                        (owners[from].world.topology.owner_of_client(client), client)
                    }
                };
                owners[usize::from(place)].world.take_errand(client, words.view());
                carried += 1;
            }
        }
        carried
    }

    #[test]
    fn the_first_owner_keeps_what_any_sees() {
        let mut owners = [owner(0), owner(1)];
        let of_second = owners[1].connect("10.0.0.8:1".into(), String::new(), 8, Now::from_ms(NOW_MS));
        run(&mut owners[1], of_second, "CLIENT SETNAME ann");
        // A command of the second owner's client that ran slowly on the first.
        let shadow = owners[0].shadow_of(of_second, Now::from_ms(NOW_MS));
        let found = LogEntry {
            id: 0,
            at_seconds: 5,
            value: 11,
            words: vec![b"GET".to_vec(), b"".to_vec()],
            addr: Vec::new(),
            name: Vec::new(),
        };
        owners[0].world.keep_log_entry(shadow, LogKind::Slow, found);
        owners[1].world.keep_latency("command", 5, 1);
        owners[1].world.keep_latency("command", 6, 0);
        assert!(run(&mut owners[1], of_second, "AUTH nobody pw").starts_with("-WRONGPASS"));
        // The entry goes to the second owner and back, a moment under the threshold nowhere.
        assert_eq!(carry(&mut owners), 4);

        let world = &owners[0].world;
        let entry = world.observer.log(LogKind::Slow).iter().next().expect("an entry");
        assert_eq!((entry.at_seconds, entry.value), (5, 11));
        assert_eq!(entry.words, [b"GET".to_vec(), Vec::new()]);
        assert_eq!(
            (entry.addr.as_slice(), entry.name.as_slice()),
            (&b"10.0.0.8:1"[..], &b"ann"[..])
        );
        let event = world.observer.latency.get(b"command").expect("an event");
        assert_eq!((event.count, event.max_ms), (1, 1));
        let refused = world.acl_log.iter().next().expect("a refusal");
        assert_eq!(refused.refusal.reason, Reason::Auth);
        assert_eq!(refused.refusal.username, b"nobody");
        assert_eq!(refused.updated_ms, NOW_MS);
        assert!(owners[1].world.observer.log(LogKind::Slow).is_empty());
        assert_eq!(owners[1].world.acl_log.iter().len(), 0);
    }

    #[test]
    fn what_is_not_known_is_let_go() {
        let mut owner = owner(0);
        for words in [
            &b"log 9 1 1 a b"[..],
            b"latency nosuch 1 99",
            b"refusal x y a b c 1",
            b"line x",
            b"",
        ] {
            let words = OwnedArgs::from_words(words.split(|byte| *byte == b' '));
            owner.world.take_errand(ClientId::NONE, words.view());
        }
        assert!(owner.world.errands.is_empty() && owner.world.outbox.is_empty());
        assert_eq!(owner.world.observer.latency.iter().len(), 0);
        assert_eq!(owner.world.acl_log.iter().len(), 0);
    }
}
