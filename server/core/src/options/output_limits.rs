//! `client-output-buffer-limit`: how many bytes of replies may wait for a client, by its class.

use std::borrow::Cow;

use super::kind::{Refusal, parse_memory};
use crate::text::number::parse_i64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputClass {
    Normal,
    Replica,
    PubSub,
}

/// A client is dropped at once above `hard_bytes`, and above `soft_bytes` once that has lasted for
/// `soft_seconds`. Zero bytes are no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassLimit {
    pub hard_bytes: u64,
    pub soft_bytes: u64,
    pub soft_seconds: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputLimits([ClassLimit; 3]);

const NAMES: [&str; 3] = ["normal", "slave", "pubsub"];

const fn limit(hard_mib: u64, soft_mib: u64, soft_seconds: u64) -> ClassLimit {
    ClassLimit {
        hard_bytes: hard_mib << 20,
        soft_bytes: soft_mib << 20,
        soft_seconds,
    }
}

impl Default for OutputLimits {
    /// Valkey lets normal clients grow without end; here a client that never reads is dropped before it
    /// takes the node's memory.
    fn default() -> Self {
        Self([limit(1024, 256, 60), limit(256, 64, 60), limit(32, 8, 60)])
    }
}

impl OutputLimits {
    pub fn of(&self, class: OutputClass) -> ClassLimit {
        self.0[class as usize]
    }

    /// Changes the classes that the words name: class, hard, soft, seconds, and again.
    pub(super) fn change(&mut self, words: &[&[u8]]) -> Result<(), Refusal> {
        if words.is_empty() || !words.len().is_multiple_of(4) {
            return Err(fault("Wrong number of arguments in"));
        }
        for group in words.chunks_exact(4) {
            let class = match group[0].to_ascii_lowercase().as_slice() {
                b"normal" => OutputClass::Normal,
                b"slave" | b"replica" => OutputClass::Replica,
                b"pubsub" => OutputClass::PubSub,
                _ => return Err(fault("Invalid client class specified in")),
            };
            let seconds = parse_i64(group[3]).and_then(|seconds| u64::try_from(seconds).ok());
            let (Some(hard_bytes), Some(soft_bytes), Some(soft_seconds)) =
                (parse_memory(group[1]), parse_memory(group[2]), seconds)
            else {
                return Err(fault("Error in hard, soft or soft_seconds setting in"));
            };
            self.0[class as usize] = ClassLimit {
                hard_bytes,
                soft_bytes,
                soft_seconds,
            };
        }
        Ok(())
    }

    pub(super) fn show(&self) -> String {
        let one = |(name, limit): (&&str, &ClassLimit)| {
            format!(
                "{name} {} {} {}",
                limit.hard_bytes, limit.soft_bytes, limit.soft_seconds
            )
        };
        NAMES.iter().zip(&self.0).map(one).collect::<Vec<_>>().join(" ")
    }
}

fn fault(start: &str) -> Refusal {
    Cow::Owned(format!("{start} buffer limit configuration."))
}
