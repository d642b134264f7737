//! What the core asks of the process around it. The server answers; tests answer with what they like.

/// Memory of this owner thread, in bytes.
#[derive(Clone, Copy, Default, Debug)]
pub struct MemoryFigures {
    /// Taken from the general allocator by this thread and not given back.
    pub allocated: usize,
    /// Resident set of the process.
    pub resident: usize,
}

/// The process around the core.
pub trait Host {
    /// A monotonic clock, microseconds. Read once a command, for statistics only.
    fn clock_us(&self) -> u64;

    fn memory(&self) -> MemoryFigures;

    /// `memory().allocated` alone: asked for before each command that needs memory, so it must be cheap.
    fn allocated(&self) -> usize {
        self.memory().allocated
    }

    /// A whole small file: configuration, never data. The error is told to the client.
    fn read_file(&self, path: &str) -> Result<Vec<u8>, String>;

    /// Replaces the file at once and durably: after a crash it is the old one or the new one.
    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), String>;

    /// Random bytes that nobody can guess, for passwords.
    fn secret(&self, len: usize) -> Result<Vec<u8>, String>;
}
