//! What the core asks of the process around it. The server answers; tests answer with what they like.

use crate::options::{Durability, Options};

/// Memory of this owner thread, in bytes.
#[derive(Clone, Copy, Default, Debug)]
pub struct MemoryFigures {
    /// Taken from the general allocator by this thread and not given back.
    pub allocated: usize,
    /// Resident set of the process.
    pub resident: usize,
}

/// What does not change while the process lives.
#[derive(Clone, Default, Debug)]
pub struct ProcessFacts {
    pub pid: u32,
    /// The program's path.
    pub executable: String,
    /// Name, release and machine, as `uname` tells.
    pub os: String,
    /// Bytes of the machine's memory.
    pub memory_total: u64,
    /// Made up at the start: tells one life of the process from the next. 40 hexadecimal digits.
    pub run_id: String,
    pub port: u16,
    /// Where clients are listened for, as `INFO` shows it: `name=tcp,bind=127.0.0.1,port=6379`.
    pub listeners: Vec<String>,
    /// The allocator's name.
    pub allocator: String,
}

/// Time on processors so far, in microseconds.
#[derive(Clone, Copy, Default, Debug)]
pub struct CpuTimes {
    pub user: u64,
    pub system: u64,
    /// The same of this owner thread alone.
    pub thread_user: u64,
    pub thread_system: u64,
}

/// A load of what the node kept.
#[derive(Clone, Copy, Default, Debug)]
pub struct LoadingFigures {
    /// Unix seconds.
    pub began_seconds: u64,
    pub took_seconds: u64,
    pub total_bytes: u64,
    pub done_bytes: u64,
}

/// What the log of writes counts since the start. Times in microseconds.
#[derive(Clone, Copy, Default, Debug)]
pub struct LogFigures {
    /// What it holds now.
    pub bytes: u64,
    pub syncs: u64,
    pub sync_us: u64,
    pub sync_us_max: u64,
    pub writes: u64,
    pub records: u64,
    pub entries: u64,
    pub written_bytes: u64,
}

/// A certificate of TLS.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// In hexadecimal digits.
    pub serial: String,
    pub left_seconds: i64,
}

/// Runs of the image, each of which takes in what the log has. They are numbered from one.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ImageRuns {
    /// The last that began, and the last that ended.
    pub begun: u64,
    pub ended: u64,
    /// The last that did what it was to do.
    pub succeeded: u64,
    /// Of the last that ended.
    pub took_seconds: u64,
    /// Of the one under way.
    pub runs_seconds: u64,
}

impl ImageRuns {
    pub fn is_under_way(&self) -> bool {
        self.begun > self.ended
    }
}

/// The process around the core. What a test has no use for does nothing unless it says otherwise.
pub trait Host {
    fn facts(&self) -> ProcessFacts {
        ProcessFacts::default()
    }

    fn cpu(&self) -> CpuTimes {
        CpuTimes::default()
    }

    /// Ends the process as a signal would; with an image of all that was executed, if that is asked for.
    fn shut_down(&self, _with_image: bool) {}

    /// Makes room for that many connections, or says how many are possible.
    fn reserve_clients(&self, _count: usize) -> Result<(), usize> {
        Ok(())
    }

    /// `debug`, `verbose`, `notice`, `warning` or `nothing`.
    fn set_log_level(&self, _level: &str) {}

    /// Those of TLS: the node's own, the one that it shows as a client if that is another, and its authority's.
    fn certificates(&self) -> [Option<Certificate>; 3] {
        [const { None }; 3]
    }

    /// TLS is to go by these options from now on, its files read anew. On an error all stays as it was.
    fn set_tls(&self, _options: &Options) -> Result<(), String> {
        Ok(())
    }

    /// Stands still: `DEBUG SLEEP`.
    fn sleep_us(&self, _us: u64) {}

    /// A monotonic clock, microseconds. Read once a command, for statistics only.
    fn clock_us(&self) -> u64;

    fn memory(&self) -> MemoryFigures;

    /// `memory().allocated` alone: asked for before each command that needs memory, so it must be cheap.
    fn allocated(&self) -> usize {
        self.memory().allocated
    }

    /// Memory that another thread took is this one's from now on: it gives it back.
    fn adopt(&self, _bytes: usize) {}

    /// The last load, or the one under way.
    fn loading(&self) -> LoadingFigures {
        LoadingFigures::default()
    }

    /// From now on the log is synced as this wants it. It wants that there is a log.
    fn keep(&self, _durability: Durability) {}

    /// From now on a snapshot on its way to another node takes no more than so many bytes a second; 0: as many as go.
    fn limit_snapshots(&self, _bytes_per_second: u64) {}

    /// The log, where writes are kept.
    fn log(&self) -> Option<LogFigures> {
        None
    }

    /// Has the image take in what the log has beyond it, in the background. The number of a run that begins after
    /// this. `urgent`: somebody waits for it.
    fn make_image(&self, _urgent: bool) -> u64 {
        0
    }

    fn image_runs(&self) -> ImageRuns {
        ImageRuns::default()
    }

    /// Has the keyspace made anew from what is kept. `false`: there is nothing, or that is under way.
    fn reload(&self) -> bool {
        false
    }

    /// A whole small file: configuration, never data. The error is told to the client.
    fn read_file(&self, path: &str) -> Result<Vec<u8>, String>;

    /// Replaces the file at once and durably: after a crash it is the old one or the new one.
    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), String>;

    /// Random bytes that nobody can guess, for passwords.
    fn secret(&self, len: usize) -> Result<Vec<u8>, String>;
}
