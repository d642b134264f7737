//! What the core asks of the process: a clock for statistics, and memory figures.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use ruvio_core::engine::{
    Certificate, CpuTimes, Host, ImageRuns, LoadingFigures, LogFigures, MemoryFigures, ProcessFacts,
};
use ruvio_core::options::{Durability, Options};
use ruvio_server::tls;
use ruvio_server::wal::{SyncMode, Watch};
use tikv_jemalloc_ctl::thread::{ThreadLocal, allocatedp, deallocatedp};
use tokio::sync::Notify;

use super::keeper::Request;
use super::loading::Loading;
use super::runs::Runs;

/// What all threads of the process share.
pub struct Node {
    pub facts: ProcessFacts,
    /// A client asked for the end.
    pub stop: Notify,
    /// Why the node has to end, if it is not because somebody asked.
    trouble: OnceLock<String>,
    pub loading: Loading,
    /// The log's figures, once it is at work.
    pub log: OnceLock<Watch>,
    /// Every write is to be synced before it is acknowledged.
    syncs_always: AtomicBool,
    /// The image takes in what the log has.
    pub runs: Runs,
    /// At its end the node is to have an image of everything.
    pub ends_with_image: AtomicBool,
    /// Where it is spoken.
    pub tls: OnceLock<Arc<tls::Tls>>,
    /// Bytes a second of a snapshot that is sent; 0: as many as go.
    pub snapshot_rate: Arc<AtomicU64>,
    /// Who loads, where the node keeps its data.
    pub keeper: OnceLock<SyncSender<Request>>,
}

impl Node {
    pub fn new(port: u16, listeners: Vec<String>, run_id: String) -> Self {
        let executable = std::env::current_exe().unwrap_or_default();
        Self {
            facts: ProcessFacts {
                pid: std::process::id(),
                executable: executable.to_string_lossy().into_owned(),
                os: system_name(),
                memory_total: memory_total().unwrap_or(0),
                run_id,
                port,
                listeners,
                allocator: "jemalloc".into(),
            },
            stop: Notify::new(),
            trouble: OnceLock::new(),
            loading: Loading::default(),
            log: OnceLock::new(),
            syncs_always: AtomicBool::new(false),
            runs: Runs::default(),
            ends_with_image: AtomicBool::new(false),
            tls: OnceLock::new(),
            snapshot_rate: Arc::default(),
            keeper: OnceLock::new(),
        }
    }
}

impl Node {
    /// From now on the log is synced so. One that is not at work yet will be.
    pub fn keep(&self, durability: Durability) {
        let always = durability == Durability::Always;
        self.syncs_always.store(always, Ordering::SeqCst);
        self.set_sync_mode();
    }

    /// The log is at work.
    pub fn note_log(&self, watch: Watch) {
        // There is one.
        let _ = self.log.set(watch);
        self.set_sync_mode();
    }

    fn set_sync_mode(&self) {
        if let Some(log) = self.log.get() {
            log.set_sync_mode(match self.syncs_always.load(Ordering::SeqCst) {
                true => SyncMode::Always,
                false => SyncMode::EverySecond,
            });
        }
    }

    /// Ends the node because of a fault that no thread of its own would tell of.
    pub fn end_with(&self, why: String) {
        tracing::error!(why, "the node ends");
        // The first one counts.
        let _ = self.trouble.set(why);
        self.stop.notify_one();
    }

    pub fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }
}

/// The process as one owner thread sees it. Made on that thread: the allocator counts by thread.
pub struct Process {
    node: Arc<Node>,
    started: Instant,
    allocated: ThreadLocal<u64>,
    deallocated: ThreadLocal<u64>,
    /// Taken by other threads for what this one has now.
    adopted: Cell<usize>,
}

/// What this thread took from the allocator and did not give back.
pub fn allocated_here() -> anyhow::Result<usize> {
    let fail = |error| anyhow::anyhow!("the allocator does not count by thread: {error}");
    let allocated = allocatedp::read().map_err(fail)?;
    let deallocated = deallocatedp::read().map_err(fail)?;
    Ok(allocated.get().saturating_sub(deallocated.get()) as usize)
}

impl Process {
    pub fn new(node: Arc<Node>) -> anyhow::Result<Self> {
        let fail = |error| anyhow::anyhow!("the allocator does not count by thread: {error}");
        Ok(Self {
            node,
            started: Instant::now(),
            allocated: allocatedp::read().map_err(fail)?,
            deallocated: deallocatedp::read().map_err(fail)?,
            adopted: Cell::new(0),
        })
    }
}

impl Host for Process {
    fn facts(&self) -> ProcessFacts {
        self.node.facts.clone()
    }

    fn cpu(&self) -> CpuTimes {
        let (user, system) = cpu_times("/proc/self/stat").unwrap_or_default();
        let (thread_user, thread_system) = cpu_times("/proc/thread-self/stat").unwrap_or_default();
        CpuTimes {
            user,
            system,
            thread_user,
            thread_system,
        }
    }

    fn shut_down(&self, with_image: bool) {
        self.node.ends_with_image.fetch_or(with_image, Ordering::Relaxed);
        self.node.stop.notify_one();
    }

    fn sleep_us(&self, us: u64) {
        std::thread::sleep(Duration::from_micros(us));
    }

    fn reserve_clients(&self, count: usize) -> Result<(), usize> {
        reserve_descriptors(count)
    }

    fn limit_snapshots(&self, bytes_per_second: u64) {
        self.node.snapshot_rate.store(bytes_per_second, Ordering::Relaxed);
    }

    fn set_log_level(&self, level: &str) {
        crate::logging::set_level(level);
    }

    fn certificates(&self) -> [Option<Certificate>; 3] {
        let Some(tls) = self.node.tls.get() else {
            return [const { None }; 3];
        };
        let of = |(serial, left_seconds)| Certificate { serial, left_seconds };
        tls.certificates().map(|known| known.map(of))
    }

    fn set_tls(&self, options: &Options) -> Result<(), String> {
        let Some(tls) = self.node.tls.get() else {
            return Ok(());
        };
        let settings = tls::Settings::read(options).map_err(|fault| fault.to_string())?;
        let applied = settings.map_or(Ok(()), |settings| tls.apply(settings));
        applied.map_err(|fault| fault.to_string())
    }

    fn clock_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn memory(&self) -> MemoryFigures {
        MemoryFigures {
            allocated: self.allocated(),
            resident: resident_bytes().unwrap_or(0),
        }
    }

    fn allocated(&self) -> usize {
        let taken = self.allocated.get() + self.adopted.get() as u64;
        taken.saturating_sub(self.deallocated.get()) as usize
    }

    fn adopt(&self, bytes: usize) {
        self.adopted.set(self.adopted.get() + bytes);
    }

    fn loading(&self) -> LoadingFigures {
        self.node.loading.figures()
    }

    fn keep(&self, durability: Durability) {
        self.node.keep(durability);
    }

    fn log(&self) -> Option<LogFigures> {
        let watch = self.node.log.get()?;
        let counts = watch.counts();
        Some(LogFigures {
            bytes: watch.size_bytes(),
            syncs: counts.syncs,
            sync_us: counts.sync_us,
            sync_us_max: counts.sync_us_max,
            writes: counts.writes,
            records: counts.records,
            entries: counts.entries,
            written_bytes: counts.bytes,
        })
    }

    fn make_image(&self, urgent: bool) -> u64 {
        let number = self.node.runs.want(urgent);
        if let Some(keeper) = self.node.keeper.get() {
            // Who has something else to do looks afterwards.
            let _ = keeper.try_send(Request::Look);
        }
        number
    }

    fn image_runs(&self) -> ImageRuns {
        self.node.runs.figures()
    }

    fn reload(&self) -> bool {
        let keeper = self.node.keeper.get();
        keeper.is_some_and(|keeper| keeper.try_send(Request::Reload).is_ok())
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(reason)
    }

    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), String> {
        replace_file(Path::new(path), bytes).map_err(reason)
    }

    fn secret(&self, len: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; len];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes))
            .map_err(reason)?;
        Ok(bytes)
    }
}

/// What clients are told: the words alone, without Rust's number behind them.
fn reason(error: io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// Writes beside the file, syncs, and moves it into its place, so that a crash leaves one or the other.
fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".tmp-{}", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| std::fs::rename(&beside, path)) {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&beside);
        return Err(error);
    }
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// The resident set from `/proc/self/statm`.
fn resident_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size())
}

/// User and system time out of a `stat` file, microseconds.
fn cpu_times(path: &str) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(path).ok()?;
    // The name in parentheses may hold blanks; the fields after it do not.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let tick_us = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let time = |at: usize| fields.get(at)?.parse::<u64>().ok().map(|ticks| ticks * tick_us);
    Some((time(11)?, time(12)?))
}

fn memory_total() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

fn system_name() -> String {
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        text.trim().to_string()
    };
    format!(
        "{} {} {}",
        read("ostype"),
        read("osrelease"),
        std::env::consts::ARCH
    )
}

/// Descriptors for everything but clients.
const OTHER_DESCRIPTORS: u64 = 64;

/// Raises the process's limit of open files so that `clients` fit, or says how many do.
pub fn reserve_descriptors(clients: usize) -> Result<(), usize> {
    let wanted = clients as u64 + OTHER_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current.unwrap_or(u64::MAX);
    if now >= wanted {
        return Ok(());
    }
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let raised = |current: u64, maximum: u64| {
        let limit = Rlimit {
            current: Some(current),
            maximum: Some(maximum),
        };
        setrlimit(Resource::Nofile, limit).is_ok()
    };
    if raised(wanted, hard.max(wanted)) {
        return Ok(());
    }
    let possible = if raised(hard.min(wanted), hard) {
        hard.min(wanted)
    } else {
        now
    };
    Err(possible.saturating_sub(OTHER_DESCRIPTORS) as usize)
}
