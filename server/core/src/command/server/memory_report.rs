//! Where memory is, as figures that can be added up over shards and owners, and the three answers made of them.

use crate::engine::World;
use crate::keyspace::Shard;
use crate::resp::{Protocol, Reply};

/// What is made of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Stats,
    Doctor,
    Malloc,
}

/// Bytes, of one shard and its owner, or of several.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct MemoryReport {
    /// `maxmemory`, and the resident set of the process: the same for all owners.
    pub node: [u64; 2],
    /// At the start, at the peak, in use, held by clients, taken from the allocator.
    pub owner: [u64; 5],
    /// Indexes of the tables, keys and values, their share of the system's memory, and how many keys.
    pub shard: [u64; 4],
    /// Databases that are used, with the bytes of their indexes.
    pub databases: Vec<(u64, u64)>,
}

/// Memory of this size tells nothing yet.
const LITTLE_BYTES: u64 = 5 << 20;

impl MemoryReport {
    pub(super) fn of(world: &mut World, shard: &Shard) -> Self {
        let usage = world.memory_usage(shard);
        let tables = shard.databases.iter().enumerate();
        let used = tables.filter(|(_, table)| !table.is_empty());
        let sum = |of: fn(&crate::keyspace::KeyTable) -> usize| {
            shard.databases.iter().map(of).sum::<usize>() as u64
        };
        Self {
            node: [world.options.max_memory() as u64, usage.resident],
            owner: [
                usage.startup,
                usage.peak,
                usage.used,
                usage.clients,
                world.host.allocated() as u64,
            ],
            shard: [
                sum(|table| table.index_bytes()),
                shard.heap.slab_bytes() as u64,
                shard.heap.mapped_bytes() as u64,
                sum(|table| table.len()),
            ],
            databases: used
                .map(|(index, table)| (index as u64, table.index_bytes() as u64))
                .collect(),
        }
    }

    /// Adds a shard of the same owner.
    pub fn add_shard(&mut self, other: &Self) {
        add(&mut self.shard, &other.shard);
        for (database, bytes) in &other.databases {
            match self.databases.iter_mut().find(|(known, _)| known == database) {
                Some((_, known)) => *known += bytes,
                None => self.databases.push((*database, *bytes)),
            }
        }
        self.databases.sort_unstable();
    }

    /// Adds another owner, with its shards.
    pub fn add_owner(&mut self, other: &Self) {
        self.node[1] = self.node[1].max(other.node[1]);
        add(&mut self.owner, &other.owner);
        self.add_shard(other);
    }

    /// As one part of an answer: numbers in a row, after the protocol that the client speaks.
    pub fn write_part(&self, reply: &mut Reply) {
        let protocol = if reply.proto() == Protocol::Resp3 { 3 } else { 2 };
        let databases = self
            .databases
            .iter()
            .flat_map(|(database, bytes)| [database, bytes]);
        let numbers = self
            .node
            .iter()
            .chain(&self.owner)
            .chain(&self.shard)
            .chain(databases);
        reply.array(1 + numbers.clone().count());
        reply.integer(protocol);
        numbers.for_each(|number| reply.integer(*number as i64));
    }

    /// What [`write_part`](Self::write_part) wrote, without the protocol.
    pub fn of_part(numbers: &[u64]) -> Option<Self> {
        let (node, rest) = numbers.split_first_chunk()?;
        let (owner, rest) = rest.split_first_chunk()?;
        let (shard, rest) = rest.split_first_chunk()?;
        let (databases, _) = rest.as_chunks::<2>();
        Some(Self {
            node: *node,
            owner: *owner,
            shard: *shard,
            databases: databases
                .iter()
                .map(|[database, bytes]| (*database, *bytes))
                .collect(),
        })
    }

    pub fn show(&self, answer: Answer, reply: &mut Reply) {
        match answer {
            Answer::Stats => self.show_stats(reply),
            Answer::Doctor => reply.verbatim(b"txt", self.diagnosis().as_bytes()),
            Answer::Malloc => reply.verbatim(b"txt", self.allocator().as_bytes()),
        }
    }

    fn overhead(&self) -> u64 {
        let [startup, _, _, clients, _] = self.owner;
        startup + clients + self.shard[0]
    }

    fn show_stats(&self, reply: &mut Reply) {
        let [_, resident] = self.node;
        let [startup, peak, used, clients, allocated] = self.owner;
        let [_, _, mapped, keys] = self.shard;
        let active = allocated + mapped;
        let dataset = used.saturating_sub(self.overhead());
        let net = used.saturating_sub(startup);
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let integers = |reply: &mut Reply, rows: &[(&str, u64)]| {
            for (name, count) in rows {
                reply.bulk_str(name);
                reply.integer(*count as i64);
            }
        };
        let doubles = |reply: &mut Reply, rows: &[(&str, f64)]| {
            for (name, value) in rows {
                reply.bulk_str(name);
                reply.double(*value);
            }
        };
        let first = [
            ("peak.allocated", peak),
            ("total.allocated", used),
            ("startup.allocated", startup),
            ("replication.backlog", 0),
            ("clients.slaves", 0),
            ("clients.normal", clients),
            ("cluster.links", 0),
            ("aof.buffer", 0),
            ("lua.caches", 0),
            ("functions.caches", 0),
        ];
        let second = [
            ("overhead.total", self.overhead()),
            ("keys.count", keys),
            ("keys.bytes-per-key", net.checked_div(keys).unwrap_or(0)),
            ("dataset.bytes", dataset),
        ];
        let shares = [
            ("dataset.percentage", 100.0 * ratio(dataset, net)),
            ("peak.percentage", 100.0 * ratio(used, peak)),
        ];
        let third = [
            ("allocator.allocated", used),
            ("allocator.active", active),
            ("allocator.resident", resident),
        ];
        let ratios = [
            ("allocator-fragmentation.ratio", ratio(active, used)),
            ("fragmentation", ratio(resident, used)),
        ];
        let rows = first.len() + second.len() + shares.len() + third.len() + ratios.len() + 1;
        reply.map(rows + self.databases.len());
        integers(reply, &first);
        for (database, bytes) in &self.databases {
            reply.bulk_str(&format!("db.{database}"));
            reply.map(2);
            // Expiries stand in the entries.
            integers(
                reply,
                &[
                    ("overhead.hashtable.main", *bytes),
                    ("overhead.hashtable.expires", 0),
                ],
            );
        }
        integers(reply, &second);
        doubles(reply, &shares);
        integers(reply, &third);
        doubles(reply, &ratios);
        reply.bulk(b"fragmentation.bytes");
        reply.integer(resident as i64 - used as i64);
    }

    fn diagnosis(&self) -> String {
        let [limit, resident] = self.node;
        let [_, peak, used, clients, _] = self.owner;
        if used < LITTLE_BYTES {
            return "Too little memory is in use to say anything of it.\n".to_string();
        }
        let advice = [
            (
                peak > used / 2 * 3,
                "Much more memory was in use once: what was freed since is kept for reuse or given back.\n",
            ),
            (
                resident > used / 2 * 3,
                "Much more memory is resident than in use: values of other sizes than before, or a time of many \
                 deletions.\n",
            ),
            (
                limit > 0 && used > limit / 10 * 9,
                "Nearly all of maxmemory is in use.\n",
            ),
            (
                clients > used / 4,
                "Clients hold more than a quarter of the memory: look at CLIENT LIST for those who do not read.\n",
            ),
        ];
        let text: String = advice
            .iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, text)| *text)
            .collect();
        if text.is_empty() {
            return "Memory is fine.\n".to_string();
        }
        text
    }

    fn allocator(&self) -> String {
        let [_, resident] = self.node;
        let [.., allocated] = self.owner;
        let [_, slab, mapped, _] = self.shard;
        format!(
            "Taken from the allocator: {allocated} bytes\nKeys and values: {slab} bytes used of {mapped} \
             mapped\nResident: {resident} bytes\n"
        )
    }
}

fn add(to: &mut [u64], numbers: &[u64]) {
    for (to, number) in to.iter_mut().zip(numbers) {
        *to += number;
    }
}
