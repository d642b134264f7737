//! `INFO`: sections of `name:value` lines, for people and for dashboards.

mod activity;
mod clients;
mod memory;
mod persistence;
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

/// When a section is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Also when no section is named.
    Always,
    /// With `all` or `everything`, or when it is named.
    WithAll,
    /// Only when it is named.
    ByName,
}

struct Section {
    name: &'static str,
    title: &'static str,
    shown: Shown,
    write: fn(&mut Exec<'_>, &mut Lines),
}

const fn section(
    name: &'static str,
    title: &'static str,
    shown: Shown,
    write: fn(&mut Exec<'_>, &mut Lines),
) -> Section {
    Section {
        name,
        title,
        shown,
        write,
    }
}

/// In the order in which they are shown.
const SECTIONS: &[Section] = &[
    section("server", "Server", Shown::Always, process::server),
    section("tls", "TLS", Shown::WithAll, process::tls),
    section("clients", "Clients", Shown::Always, clients::clients),
    section("memory", "Memory", Shown::Always, memory::memory),
    section(
        "persistence",
        "Persistence",
        Shown::Always,
        persistence::persistence,
    ),
    section("stats", "Stats", Shown::Always, activity::stats),
    section("replication", "Replication", Shown::Always, process::replication),
    section("cpu", "CPU", Shown::Always, process::cpu),
    section("modules", "Modules", Shown::Always, |_, _| {}),
    section(
        "commandstats",
        "Commandstats",
        Shown::WithAll,
        activity::command_stats,
    ),
    section("errorstats", "Errorstats", Shown::Always, activity::error_stats),
    section(
        "latencystats",
        "Latencystats",
        Shown::WithAll,
        activity::latency_stats,
    ),
    section("cluster", "Cluster", Shown::Always, |x, lines| {
        let is_enabled = x.world.cluster_of(x.caller.client).is_some();
        lines.put("cluster_enabled", u8::from(is_enabled))
    }),
    section("keyspace", "Keyspace", Shown::Always, memory::keyspace),
    section("debug", "Debug", Shown::ByName, activity::debug),
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
        let is_shown = match section.shown {
            Shown::Always => everything || default,
            Shown::WithAll => everything,
            Shown::ByName => false,
        };
        if is_shown || named(section.name) {
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
