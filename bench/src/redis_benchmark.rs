//! Debian's `redis-benchmark` (package redis-tools) as the load, for figures that people know from elsewhere.
//!
//! It runs on the load's core. With one core it is often the limit itself: the busy column tells.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::contest::{Contest, Figure, Pair, Settings};
use crate::server::Server;
use crate::server::usage::Cpu;
use crate::workload::KEYS;

pub fn is_installed() -> bool {
    let status = Command::new("redis-benchmark")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok()
}

/// `test` (`set` or `get`, 16-byte values, 50 connections) on both sides in turn; medians.
pub fn contest(contest: &Contest, settings: &Settings, test: &str, depth: usize) -> Result<Pair<Figure>> {
    // About the same time as the lean runs at the reference's usual rate.
    let per_second = if depth == 1 { 60_000.0 } else { 400_000.0 };
    let requests = (settings.time.as_secs_f64() * per_second) as u64;
    let mut figures = [Vec::new(), Vec::new()];
    for _ in 0..settings.rounds {
        for (server, figures) in [&contest.reference, &contest.subject]
            .into_iter()
            .zip(&mut figures)
        {
            figures.push(run(server, test, depth, requests)?);
        }
    }
    let [reference, subject] = figures.map(|figures| Figure::median(&figures));
    Ok(Pair { reference, subject })
}

fn run(server: &Server, test: &str, depth: usize, requests: u64) -> Result<Figure> {
    let (port, requests_text) = (server.address.port().to_string(), requests.to_string());
    let (depth, keys) = (depth.to_string(), KEYS.to_string());
    let before = server.cpu()?;
    let started = Instant::now();
    let output = Command::new("redis-benchmark")
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-t",
            test,
            "-P",
            &depth,
            "-c",
            "50",
            "-d",
            "16",
        ])
        .args(["-r", &keys, "-n", &requests_text, "--csv"])
        .output()
        .context("redis-benchmark")?;
    let elapsed = started.elapsed();
    let cpu = server.cpu()? - before;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("redis-benchmark: {}", String::from_utf8_lossy(&output.stderr));
    }
    // Its own rate leaves out the process's start.
    let mut figure = Figure::new(requests, elapsed, cpu, Cpu::default());
    figure.requests_per_second = rate(&text).with_context(|| format!("no rate in {text:?}"))?;
    Ok(figure)
}

/// The second field of the last line: `"SET","123456.78",…`.
fn rate(csv: &str) -> Option<f64> {
    csv.lines()
        .rev()
        .find(|line| line.contains(','))?
        .split(',')
        .nth(1)?
        .trim_matches('"')
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_rate() {
        let csv = "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET\",\"632911.38\",\"0.618\"\n";
        assert_eq!(rate(csv), Some(632_911.38));
        assert_eq!(rate("\"test\",\"rps\"\n"), None);
    }
}
