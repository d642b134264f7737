//! `INFO persistence`: Valkey's names for what is kept on disk, and the log's own figures.
//!
//! There is no fork and no rewrite: what is asked of them is answered with that.

use super::Lines;
use crate::engine::Obstacle;
use crate::exec::Exec;
use crate::options::{Durability, Id};

pub(super) fn persistence(x: &mut Exec<'_>, lines: &mut Lines) {
    let world = &*x.world;
    let is_loading = world.obstacles.has(Obstacle::Loading);
    let keeps = world.options.durability() != Durability::Memory;
    lines.put("loading", u8::from(is_loading));
    lines.put("async_loading", 0);
    lines.put("current_cow_peak", 0);
    lines.put("current_cow_size", 0);
    lines.put("current_fork_perc", "0.00");
    lines.put("current_save_keys_processed", 0);
    lines.put("current_save_keys_total", 0);
    let stats = &x.db.shard.stats;
    lines.put(
        "rdb_changes_since_last_save",
        stats.changes.saturating_sub(stats.kept.saved),
    );
    let runs = world.host.image_runs();
    let (runs_now, status) = (
        u8::from(runs.is_under_way()),
        if runs.succeeded < runs.ended { "err" } else { "ok" },
    );
    let took = if runs.ended > 0 {
        runs.took_seconds as i64
    } else {
        -1
    };
    let running = if runs.is_under_way() {
        runs.runs_seconds as i64
    } else {
        -1
    };
    lines.put("rdb_bgsave_in_progress", runs_now);
    lines.put("rdb_last_save_time", world.saves.last_seconds);
    lines.put("rdb_last_bgsave_status", status);
    lines.put("rdb_last_bgsave_time_sec", took);
    lines.put("rdb_current_bgsave_time_sec", running);
    lines.put("rdb_saves", world.saves.count);
    lines.put("rdb_last_cow_size", 0);
    lines.put("rdb_last_load_keys_expired", 0);
    lines.put("rdb_last_load_keys_loaded", 0);
    lines.put("aof_enabled", u8::from(keeps));
    lines.put("aof_rewrite_in_progress", runs_now);
    lines.put("aof_rewrite_scheduled", 0);
    lines.put("aof_last_rewrite_time_sec", took);
    lines.put("aof_current_rewrite_time_sec", running);
    lines.put("aof_last_bgrewrite_status", status);
    let is_full = world.obstacles.has(Obstacle::LogFull);
    lines.put("aof_last_write_status", if is_full { "err" } else { "ok" });
    lines.put("aof_last_cow_size", 0);
    log(x, lines);
    lines.put("durability", x.world.options.shown_by(Id::Durability));
    if is_loading {
        loading(x, lines);
    }
}

fn log(x: &Exec<'_>, lines: &mut Lines) {
    let Some(log) = x.world.host.log() else { return };
    lines.put("aof_current_size", log.bytes);
    lines.put("aof_pending_rewrite", 0);
    lines.put("log_bytes", log.bytes);
    lines.put("log_written_bytes", log.written_bytes);
    lines.put("log_records", log.records);
    lines.put("log_entries", log.entries);
    lines.put("log_writes", log.writes);
    lines.put("log_fsyncs", log.syncs);
    lines.put("log_fsyncs_per_sec", x.world.stats.rates.syncs());
    let ratio = |part: u64, whole: u64| format!("{:.2}", part as f64 / whole.max(1) as f64);
    lines.put("log_writes_per_fsync", ratio(log.writes, log.syncs));
    lines.put("log_entries_per_fsync", ratio(log.entries, log.syncs));
    lines.put("log_fsync_usec_avg", log.sync_us / log.syncs.max(1));
    lines.put("log_fsync_usec_max", log.sync_us_max);
}

fn loading(x: &Exec<'_>, lines: &mut Lines) {
    let load = x.world.host.loading();
    lines.put("loading_start_time", load.began_seconds);
    lines.put("loading_total_bytes", load.total_bytes);
    lines.put("loading_loaded_bytes", load.done_bytes);
    let percent = 100.0 * load.done_bytes as f64 / load.total_bytes.max(1) as f64;
    lines.put("loading_loaded_perc", format!("{:.2}", percent.min(100.0)));
    let left = load.total_bytes.saturating_sub(load.done_bytes);
    let eta = (load.took_seconds * left).checked_div(load.done_bytes);
    lines.put("loading_eta_seconds", eta.unwrap_or(1));
}
