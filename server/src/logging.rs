//! Logs go to the standard error; how much is logged may change while the process runs.

use std::io::IsTerminal;
use std::sync::OnceLock;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

static LEVEL: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Begins to log. Called once.
pub fn start(level: &str) {
    let (filter, handle) = reload::Layer::new(filter(level));
    tracing_subscriber::registry()
        .with(filter)
        .with(fmt::layer().with_writer(std::io::stderr).with_ansi(colours()))
        .init();
    // A second start would have panicked above.
    let _ = LEVEL.set(handle);
}

pub fn set_level(level: &str) {
    if let Some(handle) = LEVEL.get() {
        // Fails only when the subscriber is gone, and then nobody logs.
        let _ = handle.reload(filter(level));
    }
}

/// Only for somebody who looks: what collects logs takes colours for text. `NO_COLOR` is heeded.
fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Libraries that tell of each attempt to reach a peer that is away: what matters of it we say ourselves.
const TALKATIVE: [&str; 5] = ["openraft", "h2", "hyper_util", "tonic", "tower"];

/// From Valkey's names of levels.
fn filter(level: &str) -> Targets {
    let (ours, theirs) = match level {
        "debug" => (LevelFilter::TRACE, LevelFilter::DEBUG),
        "verbose" => (LevelFilter::DEBUG, LevelFilter::WARN),
        "warning" => (LevelFilter::WARN, LevelFilter::ERROR),
        "nothing" => (LevelFilter::OFF, LevelFilter::OFF),
        _ => (LevelFilter::INFO, LevelFilter::ERROR),
    };
    let talkative = TALKATIVE.map(|target| (target, theirs));
    Targets::new().with_default(ours).with_targets(talkative)
}
