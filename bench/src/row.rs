//! The rows of the promise of speed. Each runs both sides and answers a [`Report`].
//!
//! A workload that one side cannot do becomes a failed line, and the row goes on.

mod durable;
mod failover;
mod idem_limit;
mod image;
mod memory;
mod quick;
mod replicated;
mod restart;
mod scaling;
mod throughput;

use anyhow::Result;
use clap::ValueEnum;

use crate::contest::Settings;
use crate::report::Report;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Row {
    /// SET/GET of 16 bytes, pipeline 16, 50 connections; lean load and redis-benchmark.
    P1,
    /// The same with pipeline 1.
    P2,
    /// INCR, lists, sets, hashes, sorted sets, MSET, LRANGE, 1 KiB and 64 KiB values.
    Families,
    /// SET with a log: always and everysec.
    P3,
    /// IDEM and LIMIT against the same in Lua.
    P4,
    /// Three replicas, each write durable on two of them: beside Valkey with WAIT, and beside etcd.
    P5,
    /// A leader that is killed or hands over, and what a cluster costs that does nothing.
    P6,
    /// Bytes a key, growth and deletion.
    P7,
    /// A start with what was kept.
    P8,
    /// Cost a request with more keys and with more connections.
    P9,
    /// CPU and memory of the image, and pauses beside it.
    Image,
    /// Log and image on the disk under a long load; with a `--nice` of 0, for the image shares the server's core.
    Disk,
    /// All of the above.
    All,
    /// A minute at most: P1 small, no targets, answers checked.
    Quick,
}

impl Row {
    /// The rows that this one stands for, in order.
    pub fn parts(self) -> Vec<Self> {
        match self {
            Self::All => vec![
                Self::P1,
                Self::P2,
                Self::P3,
                Self::Families,
                Self::P4,
                Self::P5,
                Self::P6,
                Self::P7,
                Self::P8,
                Self::P9,
                Self::Image,
                Self::Disk,
            ],
            row => vec![row],
        }
    }

    /// Runs one part.
    pub fn run(self, settings: &Settings) -> Result<Report> {
        match self {
            Self::P1 => throughput::pipelined(settings),
            Self::P2 => throughput::unpipelined(settings),
            Self::P3 => durable::run(settings),
            Self::Families => throughput::families(settings),
            Self::P4 => idem_limit::run(settings),
            Self::P5 => replicated::run(settings),
            Self::P6 => failover::run(settings),
            Self::P7 => memory::run(settings),
            Self::P8 => restart::run(settings),
            Self::P9 => scaling::run(settings),
            Self::Image => image::run(settings),
            Self::Disk => image::run_disk(settings),
            Self::Quick | Self::All => quick::run(settings),
        }
    }
}
