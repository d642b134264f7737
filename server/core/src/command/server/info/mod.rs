//! `INFO`: sections of `name:value` lines, for people and for dashboards.

mod activity;
mod clients;
mod memory;
mod process;

use std::fmt::Write;

use crate::command::Args;
use crate::exec::{Exec, Outcome};

/// Where a section's lines go. Writing to it cannot fail.
pub struct Lines(String);

impl Lines {
    pub fn put(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = write!(self.0, "{name}:{value}\r\n");
    }

    /// Bytes as a number, and as people read them.
    pub fn put_bytes(&mut self, name: &str, bytes: u64) {
        self.put(name, bytes);
        self.put(&format!("{name}_human"), human(bytes));
    }
}

struct Section {
    name: &'static str,
    title: &'static str,
    /// Shown when no section is named.
    default: bool,
    write: fn(&mut Exec<'_>, &mut Lines),
}

const fn section(
    name: &'static str,
    title: &'static str,
    default: bool,
    write: fn(&mut Exec<'_>, &mut Lines),
) -> Section {
    Section {
        name,
        title,
        default,
        write,
    }
}

/// In the order in which they are shown.
const SECTIONS: &[Section] = &[
    section("server", "Server", true, process::server),
    section("clients", "Clients", true, clients::clients),
    section("memory", "Memory", true, memory::memory),
    section("persistence", "Persistence", true, process::persistence),
    section("stats", "Stats", true, activity::stats),
    section("replication", "Replication", true, process::replication),
    section("cpu", "CPU", true, process::cpu),
    section("modules", "Modules", true, |_, _| {}),
    section("commandstats", "Commandstats", false, activity::command_stats),
    section("errorstats", "Errorstats", true, activity::error_stats),
    section("latencystats", "Latencystats", false, activity::latency_stats),
    section("cluster", "Cluster", true, |_, lines| {
        lines.put("cluster_enabled", 0)
    }),
    section("keyspace", "Keyspace", true, memory::keyspace),
];

pub(super) fn info(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let named = |name: &str| {
        args.iter_from(1)
            .any(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    let everything = named("all") || named("everything");
    let default = args.len() == 1 || named("default");
    let mut lines = Lines(String::with_capacity(4096));
    for section in SECTIONS {
        if everything || (default && section.default) || named(section.name) {
            if !lines.0.is_empty() {
                lines.0.push_str("\r\n");
            }
            let _ = write!(lines.0, "# {}\r\n", section.title);
            (section.write)(x, &mut lines);
        }
    }
    x.reply.verbatim(b"txt", lines.0.as_bytes());
    Ok(())
}

/// `512B`, `1.50K`, `2.00G`.
pub(crate) fn human(bytes: u64) -> String {
    const UNITS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2}{}", UNITS[unit])
}
