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
}
