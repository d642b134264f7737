//! What the image costs a write, in CPU time of all threads: windows of SETs on keys that are there already,
//! each scanned, written as a file and ingested, compaction waited for and counted. Then what a start costs
//! a row.
//!
//! `cargo run --release -p ruvio-server --example image -- FOLDER [keys 1000000] [value bytes 16] [window MiB 256] [windows 4]`

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use ruvio_core::effect::{Effect, Effects};
use ruvio_core::image::At;
use ruvio_core::image::window::{Entries, Entry, Failure, Reach, gather};
use ruvio_core::keyspace::{Shard, kind};
use ruvio_server::image::{Image, priority};
use ruvio_server::wal::ShardId;

const SHARD: ShardId = ShardId(0);
const SEED: u64 = 0x00C0_FFEE;
/// Effects of an entry, and what a record of the log has besides.
const GATHERED: usize = 16;
const RECORD_BYTES: usize = 24;

/// Part of a log in memory.
struct Window {
    bytes: Vec<u8>,
    /// Where each entry begins and ends.
    spans: Vec<(u32, u32)>,
    first_index: u64,
    next: usize,
}

impl Entries for Window {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Failure> {
        let Some((start, end)) = self.spans.get(self.next).copied() else {
            return Ok(None);
        };
        let index = self.first_index + self.next as u64;
        self.next += 1;
        Ok(Some(Entry {
            at: At {
                term: 1,
                node: 1,
                index,
            },
            place: start,
            payload: &self.bytes[start as usize..end as usize],
        }))
    }

    fn bytes(&self, place: u32) -> (&[u8], usize) {
        (&self.bytes, place as usize)
    }
}

struct Writer {
    keys: u64,
    value: Vec<u8>,
    random: u64,
    next_index: u64,
}

impl Writer {
    /// SETs of these keys until the window is full.
    fn window(
        &mut self,
        bytes_max: usize,
        mut key: impl FnMut(&mut Self) -> Option<u64>,
        created: bool,
    ) -> Window {
        let mut effects = Effects::default();
        effects.switch(true);
        let mut window = Window {
            bytes: Vec::with_capacity(bytes_max),
            spans: Vec::new(),
            first_index: self.next_index,
            next: 0,
        };
        let mut more = true;
        while more && window.bytes.len() + GATHERED * (self.value.len() + 64) < bytes_max {
            for _ in 0..GATHERED {
                let Some(number) = key(self) else {
                    more = false;
                    break;
                };
                self.value[..8].copy_from_slice(&self.random.to_le_bytes());
                effects.push(
                    0,
                    &Effect::Put {
                        key: format!("k:{number:08}").as_bytes(),
                        kind: kind::STRING,
                        value: &self.value,
                        expire_at: None,
                        created,
                    },
                );
            }
            window.bytes.extend_from_slice(&[0; RECORD_BYTES]);
            let start = window.bytes.len() as u32;
            window.bytes.extend_from_slice(effects.bytes());
            effects.clear();
            window.spans.push((start, window.bytes.len() as u32));
            self.next_index += 1;
        }
        window
    }

    fn any_key(&mut self) -> Option<u64> {
        Some(Shard::mix(&mut self.random) % self.keys)
    }
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn resident_mib() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) >> 8
}

fn ns_each(time: Duration, count: u64) -> f64 {
    time.as_nanos() as f64 / count.max(1) as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("a folder is needed")?);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (keys, value_bytes) = (number(1_000_000)?, number(16)? as usize);
    let (window_bytes, windows) = ((number(256)? as usize) << 20, number(4)?);
    let path = folder.join(format!("image-example-{}", std::process::id()));
    std::fs::create_dir_all(&path)?;
    let resident_before = resident_mib();
    let image = Image::open(&path, &[SHARD])?;
    priority::lower_thread();
    let mut writer = Writer {
        keys,
        value: vec![b'v'; value_bytes.max(8)],
        random: 42,
        next_index: 1,
    };

    let mut filled = 0;
    while filled < keys {
        let mut fill = |_: &mut Writer| {
            filled += 1;
            (filled <= keys).then(|| filled - 1)
        };
        let mut window = writer.window(window_bytes, &mut fill, true);
        while image.advance(SHARD, SEED, &mut window)?.reach == Reach::Full {}
    }
    image.wait_for_compaction()?;
    println!(
        "{keys} keys of {value_bytes} bytes: {} MiB of image",
        image.bytes(SHARD)? >> 20
    );

    let (mut sets, mut total, mut own, mut scanning) = (0, Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let (mut files, mut rows) = (0, 0);
    for _ in 0..windows {
        let mut window = writer.window(window_bytes, Writer::any_key, false);
        let held = image.meta(SHARD)?.ok_or("an image")?;
        let before = thread_cpu();
        gather(&mut window, &held)?;
        scanning += thread_cpu() - before;
        window.next = 0;
        let (before, own_before) = (cpu(), thread_cpu());
        loop {
            let advanced = image.advance(SHARD, SEED, &mut window)?;
            let memory = resident_mib() - resident_before - (window.bytes.capacity() >> 20) as u64;
            println!(
                "  {:?} {:?}, {memory} MiB of memory",
                advanced.reach, advanced.counts
            );
            sets += advanced.counts.effects;
            files += advanced.file_bytes;
            rows += advanced.counts.puts;
            if advanced.reach == Reach::End {
                break;
            }
        }
        own += thread_cpu() - own_before;
        image.wait_for_compaction()?;
        total += cpu() - before;
    }
    println!(
        "ns of CPU a SET: {:.0} in all, {:.0} of the image's thread, {:.0} of it scanning; {:.2} rows a SET, {} MiB of files",
        ns_each(total, sets),
        ns_each(own, sets),
        ns_each(scanning, sets),
        rows as f64 / sets as f64,
        files >> 20,
    );

    let (before, started) = (cpu(), Instant::now());
    let mut shard = Shard::new(SEED, 7);
    let loaded = image.load(SHARD, &mut shard)?.ok_or("an image")?;
    println!(
        "load: {:.0} ns of CPU a row, {:.2} s for {} rows",
        ns_each(cpu() - before, loaded.rows),
        started.elapsed().as_secs_f64(),
        loaded.rows
    );
    drop(image);
    Ok(std::fs::remove_dir_all(&path)?)
}
