//! Options as those who use them want them.

use super::{ClassLimit, Id, Options, OutputClass, Value};
use crate::keyspace::evict::Policy;

/// Who may use `DEBUG`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DebugAccess {
    Nobody,
    Everybody,
    /// Connections from this machine.
    Local,
}

impl Options {
    pub fn number(&self, id: Id) -> i64 {
        match self.value(id) {
            Value::Number(number) => *number,
            _ => unreachable!("{id:?} is not a number"),
        }
    }

    /// A number that is never negative.
    pub fn count(&self, id: Id) -> usize {
        usize::try_from(self.number(id)).unwrap_or(0)
    }

    pub fn flag(&self, id: Id) -> bool {
        self.number(id) != 0
    }

    pub fn text(&self, id: Id) -> &[u8] {
        match self.value(id) {
            Value::Text(text) => text,
            _ => unreachable!("{id:?} is not a text"),
        }
    }

    pub fn words(&self, id: Id) -> &[Vec<u8>] {
        match self.value(id) {
            Value::Words(words) => words,
            _ => unreachable!("{id:?} is not a list of words"),
        }
    }

    pub fn output_limit(&self, class: OutputClass) -> ClassLimit {
        match self.value(Id::ClientOutputBufferLimit) {
            Value::OutputLimits(limits) => limits.of(class),
            _ => unreachable!("limits of output"),
        }
    }

    pub fn percentiles(&self) -> &[f64] {
        match self.value(Id::LatencyTrackingInfoPercentiles) {
            Value::Percentiles(list) => list,
            _ => unreachable!("percentiles"),
        }
    }

    pub fn port(&self) -> u16 {
        self.number(Id::Port) as u16
    }

    pub fn max_clients(&self) -> usize {
        self.count(Id::MaxClients)
    }

    /// Seconds without a command after which a client is closed; none for never.
    pub fn idle_seconds_max(&self) -> Option<u64> {
        Some(self.number(Id::Timeout) as u64).filter(|seconds| *seconds > 0)
    }

    pub fn keep_alive_seconds(&self) -> Option<u64> {
        Some(self.number(Id::TcpKeepalive) as u64).filter(|seconds| *seconds > 0)
    }

    pub fn max_bulk_len(&self) -> u64 {
        self.number(Id::ProtoMaxBulkLen) as u64
    }

    pub fn query_buffer_max(&self) -> usize {
        self.count(Id::ClientQueryBufferLimit)
    }

    /// Bytes; 0 is no limit.
    pub fn max_memory(&self) -> usize {
        self.count(Id::MaxMemory)
    }

    pub fn max_memory_policy(&self) -> Policy {
        Policy::NAMES[self.count(Id::MaxMemoryPolicy)].0
    }

    pub fn debug_access(&self) -> DebugAccess {
        match self.number(Id::EnableDebugCommand) {
            0 => DebugAccess::Nobody,
            1 => DebugAccess::Everybody,
            _ => DebugAccess::Local,
        }
    }
}
