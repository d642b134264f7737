//! A log under test, and beside it a client that keeps what it sent and what it was promised.
//!
//! The threads' work is done by hand, so that the same seed makes the same calls. What a lane's records
//! leave is a function of how many of them are there; so after a crash the recovered state has to be that
//! of some number of records between the promised and the sent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::disk::Disk;
use super::super::disk::simulated::{Dice, Simulated};
use super::super::log::Parts;
use super::super::record::Record;
use super::super::*;

pub const CLUSTER: ClusterId = ClusterId([7; 16]);

/// What is read back of a shard.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Image {
    pub state: ShardState,
    pub entries: BTreeMap<u64, (LogId, Kind, Vec<u8>)>,
}

pub type Images = BTreeMap<ShardId, Image>;

#[derive(Clone, Debug)]
pub struct Sent {
    pub shard: ShardId,
    pub kind: Kind,
    pub id: LogId,
    pub payload: Vec<u8>,
}

struct Silent;

impl Wake for Silent {
    fn wake(&self) {}
}

/// What a client knows of one lane.
#[derive(Clone, Default)]
pub struct Book {
    pub sent: Vec<Sent>,
    /// How many records were promised to survive a power cut, and the end of the process.
    pub durable: usize,
    pub written: usize,
    /// Records that were there when this run began, all durable by then.
    base: usize,
}

impl Book {
    pub fn apply(images: &mut Images, sent: &Sent) {
        let image = images.entry(sent.shard).or_default();
        let record = Record {
            kind: sent.kind,
            shard: sent.shard,
            id: sent.id,
            lag: 0,
            payload: &sent.payload,
        };
        image.state.apply(&record).expect("the client keeps the order");
        match sent.kind {
            Kind::Leave if sent.id.index.0 > 0 => image.entries.clear(),
            Kind::Truncate => {
                image.entries.split_off(&sent.id.index.0);
            }
            Kind::Purge => image.entries = image.entries.split_off(&(sent.id.index.0 + 1)),
            kind if kind.is_entry() => {
                let entry = (sent.id, kind, sent.payload.clone());
                image.entries.insert(sent.id.index.0, entry);
            }
            _ => {}
        }
    }

    /// The state after the first `count` records.
    pub fn images(&self, count: usize) -> Images {
        let mut images = Images::new();
        self.sent[..count]
            .iter()
            .for_each(|sent| Self::apply(&mut images, sent));
        images
    }

    /// How many records `found` is the state of, which has to be at least `promised`. `unfinished`: shards whose last parts
    /// have no end, where that matters.
    pub fn place(&self, found: &Images, unfinished: Option<&[ShardId]>, promised: usize) -> Option<usize> {
        let mut images = self.images(promised);
        for count in promised..=self.sent.len() {
            let is_open = |(shard, image): (&ShardId, &Image)| {
                unfinished.is_none_or(|all| image.state.open.is_some() == all.contains(shard))
            };
            if same(&without_unfinished(&images), found) && images.iter().all(is_open) {
                return Some(count);
            }
            if let Some(sent) = self.sent.get(count) {
                Self::apply(&mut images, sent);
            }
        }
        None
    }
}

/// What a start makes of it: parts count with their end alone.
pub fn without_unfinished(images: &Images) -> Images {
    let mut images = images.clone();
    for image in images.values_mut() {
        if let Some(first) = image.state.take_unfinished() {
            image.entries.split_off(&first.0);
        }
    }
    images
}

/// A shard that nothing is known of is as good as one that was never heard of.
fn same(a: &Images, b: &Images) -> bool {
    let nothing = Image::default();
    let shards = a.keys().chain(b.keys());
    shards
        .into_iter()
        .all(|shard| a.get(shard).unwrap_or(&nothing) == b.get(shard).unwrap_or(&nothing))
}

pub fn settings(sync: SyncMode) -> Settings {
    Settings {
        sync,
        segment_bytes: 16 << 10,
        ahead_bytes: 4 << 10,
        reserve_bytes: 32 << 10,
        bounds: Bounds {
            records: 1000,
            bytes: 64 << 10,
        },
    }
}

/// Two lanes: shards 0 and 1, and shard 2.
pub struct Rig {
    pub disk: Simulated,
    pub settings: Settings,
    pub books: [Book; 2],
    parts: Option<Parts>,
    pub failure: Option<Fatal>,
    now: Duration,
}

const LANES: [&[u16]; 2] = [&[0, 1], &[2]];

pub fn recover(disk: &Simulated) -> Result<Recovery, RecoverError> {
    Recovery::read(Arc::new(disk.clone()) as Arc<dyn Disk>, CLUSTER)
}

/// Everything that a recovery yields, of the shards of one lane.
pub fn images(recovery: &Recovery, lane: usize) -> Images {
    let mut images = Images::new();
    for shard in LANES[lane].iter().map(|shard| ShardId(*shard)) {
        if let Some(state) = recovery.shards().get(&shard) {
            images.entry(shard).or_default().state = state.clone();
        }
    }
    let mut scan = recovery.entries();
    while let Some(entry) = scan.next_entry().expect("a recovered log is readable") {
        if LANES[lane].contains(&entry.shard.0) {
            let image = images.entry(entry.shard).or_default();
            let before = image
                .entries
                .insert(entry.id.index.0, (entry.id, entry.kind, entry.payload.to_vec()));
            assert_eq!(before, None, "an entry is yielded once");
        }
    }
    images
}

impl Rig {
    pub fn new(disk: Simulated, sync: SyncMode) -> Self {
        Self::with(disk, settings(sync))
    }

    pub fn with(disk: Simulated, settings: Settings) -> Self {
        Self {
            disk,
            settings,
            books: Default::default(),
            parts: None,
            failure: None,
            now: Duration::ZERO,
        }
    }

    /// Starts on what the disk holds: by the books, all that was sent. A failure is kept as that of a running log.
    pub fn start(&mut self) {
        let recovery = match recover(&self.disk) {
            Ok(recovery) => recovery,
            Err(RecoverError::Io { source, .. } | RecoverError::Folder(source)) => {
                self.failure = Some(Fatal::io("read", "the log")(source));
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let seatings = LANES.map(|shards| Seating {
            shards: shards.iter().map(|shard| ShardId(*shard)).collect(),
            wake: Arc::new(Silent),
        });
        let unfinished = recovery.unfinished.clone();
        match recovery.assemble(&self.settings, seatings.into()) {
            Ok(parts) => self.parts = Some(parts),
            Err(StartError::Fatal(fatal)) => self.failure = Some(fatal),
            Err(error) => panic!("{error}"),
        }
        // Tickets are of one run: what was sent before it is settled.
        for book in &mut self.books {
            book.base = book.sent.len();
            (book.durable, book.written) = (book.base, book.base);
        }
        // The log itself says that they are void.
        for (shard, first) in unfinished {
            let lane = usize::from(!LANES[0].contains(&shard.0));
            self.books[lane].sent.push(Sent {
                shard,
                kind: Kind::Truncate,
                id: LogId::new(0, 0, first.0),
                payload: vec![],
            });
        }
    }

    pub fn parts(&self) -> &Parts {
        self.parts.as_ref().expect("the log was started")
    }

    pub fn lane(&self, lane: usize) -> Arc<Lane> {
        Arc::clone(&self.parts().shared.lanes[lane].lane)
    }

    pub fn running(&self) -> bool {
        self.parts.is_some() && self.failure.is_none()
    }

    /// The state of a lane's shard as it was sent.
    pub fn sent_state(&self, lane: usize, shard: ShardId) -> ShardState {
        let images = self.books[lane].images(self.books[lane].sent.len());
        images.get(&shard).cloned().unwrap_or_default().state
    }

    pub fn send(&mut self, lane: usize, sent: Sent) -> Result<Ticket, Why> {
        let to = self.lane(lane);
        let (shard, id, payload) = (sent.shard, sent.id, sent.payload.clone());
        let result = match sent.kind {
            Kind::Entry => to.append(shard, id, payload),
            Kind::Part => to.append_part(shard, id, payload),
            Kind::RaftEntry => to.append_raft(shard, id, payload),
            Kind::Vote => {
                let vote = Vote {
                    term: id.term,
                    node: id.node,
                    committed: payload == [1],
                };
                to.save_vote(shard, vote)
            }
            Kind::Truncate => to.truncate(shard, id.index),
            Kind::Purge => to.purge(shard, id),
            Kind::Committed => to.save_committed(shard, id),
            Kind::Membership => to.save_membership(shard, id, payload),
            Kind::Leave => to.leave(shard, payload == [1]),
            Kind::Open | Kind::Mark => unreachable!("the log's own"),
        };
        let ticket = result.map_err(|refused| refused.why)?;
        self.books[lane].sent.push(sent);
        Ok(ticket)
    }

    /// An entry of a shard with a payload of this length that names itself.
    pub fn send_entry(&mut self, lane: usize, shard: u16, len: usize) {
        let shard = ShardId(shard);
        let index = self.sent_state(lane, shard).last.0 + 1;
        let mut payload = format!("{}/{index}/{};", shard.0, self.books[lane].sent.len()).into_bytes();
        payload.resize(payload.len().max(len), b'.');
        let id = LogId::new(3, 1, index);
        let sent = Sent {
            shard,
            kind: Kind::Entry,
            id,
            payload,
        };
        self.send(lane, sent).expect("there is room in the lane");
    }

    /// Something of any kind, by the dice.
    pub fn send_any(&mut self, dice: &mut Dice) {
        let lane = dice.below(2) as usize;
        let shard = ShardId(LANES[lane][dice.below(LANES[lane].len() as u64) as usize]);
        let state = self.sent_state(lane, shard);
        let held = state.last.0 - state.purged.index.0;
        // The image takes in nothing whose end is missing.
        let whole = state.whole().0.saturating_sub(state.purged.index.0);
        let id = LogId::new(3, 1, state.last.0);
        let kind = if dice.below(40) == 0 { 16 } else { dice.below(16) };
        let (kind, id, payload) = match kind {
            0 if held > 0 => {
                let from = state.last.0 - dice.below(held.min(4));
                (Kind::Truncate, LogId::new(0, 0, from), vec![])
            }
            1 | 2 if whole > 0 => {
                let up_to = state.purged.index.0 + 1 + dice.below(whole);
                (Kind::Purge, LogId::new(3, 1, up_to), vec![])
            }
            3 => (
                Kind::Vote,
                LogId::new(dice.below(9), 2, 0),
                vec![dice.below(2) as u8],
            ),
            4 => (Kind::Committed, id, vec![]),
            5 => (Kind::Membership, id, vec![dice.below(256) as u8; 40]),
            6 => (Kind::RaftEntry, LogId::new(4, 2, id.index.0 + 1), vec![1, 2, 3]),
            16 => match dice.below(2) {
                0 => (Kind::Leave, LogId::default(), vec![0]),
                _ => (Kind::Leave, LogId::new(0, 0, 1), vec![1]),
            },
            8 | 9 => (Kind::Part, LogId::new(3, 1, id.index.0 + 1), vec![b'p'; 300]),
            7 => return self.send_entry(lane, shard.0, 5000),
            _ => return self.send_entry(lane, shard.0, dice.below(900) as usize),
        };
        let sent = Sent {
            shard,
            kind,
            id,
            payload,
        };
        self.send(lane, sent).expect("there is room in the lane");
    }

    /// One turn of the writer; promises are written into the books.
    pub fn turn(&mut self) {
        self.act(|parts, now| parts.writer.turn(now).map(drop));
    }

    /// What the filler has to do.
    pub fn fill(&mut self) {
        for _ in 0..300 {
            let mut more = false;
            self.act(|parts, _| parts.ahead.step().map(|did| more = did));
            if !more {
                return;
            }
        }
        panic!("the filler finds no end");
    }

    pub fn close(&mut self) {
        self.act(|parts, now| parts.writer.close(now));
        self.parts = None;
    }

    pub fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn act(&mut self, act: impl FnOnce(&mut Parts, Duration) -> Result<(), Fatal>) {
        if !self.running() {
            return;
        }
        let Some(parts) = &mut self.parts else { return };
        if let Err(fatal) = act(parts, self.now) {
            self.failure = Some(fatal);
        }
        for (book, seat) in self.books.iter_mut().zip(&parts.shared.lanes) {
            book.durable = book.base + seat.lane.durable().0.0 as usize;
            book.written = book.base + seat.lane.written().0.0 as usize;
        }
    }

    /// The process is gone, whatever the disk says.
    pub fn die(&mut self) {
        self.parts = None;
        self.failure = None;
    }
}

/// A run over several segments with everything in it, up to a failure.
pub fn workload(rig: &mut Rig, seed: u64, turns: u32) {
    let mut dice = Dice(seed);
    for _ in 0..turns {
        for _ in 0..dice.below(6) {
            if rig.running() {
                rig.send_any(&mut dice);
            }
        }
        rig.turn();
        if dice.below(3) > 0 {
            rig.fill();
        }
        rig.pass(Duration::from_millis(dice.below(600)));
    }
}
