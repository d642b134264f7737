//! P7: bytes a key by allocator and by RSS, pauses while growing and shrinking, and whether memory comes back.
//!
//! Every filling gets a fresh server, measured before and after with no connection open but ours.

mod life;
mod size;

use std::time::Duration;

use anyhow::Result;

use crate::contest::Settings;
use crate::report::Report;
use crate::server::Server;
use crate::server::usage::Memory;

/// Buffers of closed connections are given back by then.
const SETTLE: Duration = Duration::from_millis(500);

/// Who counts the bytes.
#[derive(Clone, Copy)]
enum By {
    Allocator,
    Rss,
}

impl By {
    const BOTH: [Self; 2] = [Self::Allocator, Self::Rss];

    fn name(self) -> &'static str {
        match self {
            Self::Allocator => "allocator",
            Self::Rss => "RSS",
        }
    }

    fn bytes(self, memory: &Memory) -> f64 {
        match self {
            Self::Allocator => memory.used_bytes as f64,
            Self::Rss => memory.rss_bytes as f64,
        }
    }
}

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let mut lines = size::lines(settings);
    lines.extend(life::lines(settings));
    Ok(Report {
        row: "p7",
        title: "memory",
        lines,
    })
}

fn settled(server: &Server) -> Result<Memory> {
    std::thread::sleep(SETTLE);
    server.memory()
}
