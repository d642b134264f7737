//! What `INFO` says of what was done: stats, commandstats, errorstats.

use super::Lines;
use crate::command::COMMANDS;
use crate::exec::Exec;

pub(super) fn stats(x: &mut Exec<'_>, lines: &mut Lines) {
    let world = &*x.world;
    let stats = &world.stats;
    let shard = &*x.db.shard;
    let moved = world.moved();
    lines.put("total_connections_received", stats.connections_received);
    lines.put("total_commands_processed", stats.commands_processed);
    lines.put("instantaneous_ops_per_sec", stats.rates.commands());
    lines.put("total_net_input_bytes", moved.bytes_in);
    lines.put("total_net_output_bytes", moved.bytes_out);
    lines.put("total_net_repl_input_bytes", 0);
    lines.put("total_net_repl_output_bytes", 0);
    let kib = |bytes: u64| format!("{:.2}", bytes as f64 / 1024.0);
    lines.put("instantaneous_input_kbps", kib(stats.rates.bytes_in()));
    lines.put("instantaneous_output_kbps", kib(stats.rates.bytes_out()));
    lines.put("rejected_connections", stats.connections_rejected);
    lines.put(
        "client_query_buffer_limit_disconnections",
        stats.query_limit_disconnections,
    );
    lines.put(
        "client_output_buffer_limit_disconnections",
        stats.output_limit_disconnections,
    );
    lines.put("sync_full", 0);
    lines.put("sync_partial_ok", 0);
    lines.put("sync_partial_err", 0);
    lines.put("expired_keys", shard.stats.expired);
    lines.put("expired_fields", shard.stats.expired_fields);
    lines.put("expired_stale_perc", "0.00");
    lines.put("expired_time_cap_reached_count", 0);
    lines.put("evicted_keys", shard.stats.evicted);
    lines.put("evicted_clients", 0);
    lines.put("evicted_scripts", 0);
    lines.put("total_eviction_exceeded_time", 0);
    lines.put("current_eviction_exceeded_time", 0);
    lines.put("keyspace_hits", shard.stats.hits);
    lines.put("keyspace_misses", shard.stats.misses);
    let [channels, patterns, shard_channels] = world.directory.counts();
    lines.put("pubsub_channels", channels);
    lines.put("pubsub_patterns", patterns);
    lines.put("pubsubshard_channels", shard_channels);
    lines.put("latest_fork_usec", 0);
    lines.put("total_forks", 0);
    lines.put("migrate_cached_sockets", 0);
    lines.put("slave_expires_tracked_keys", 0);
    lines.put("active_defrag_hits", 0);
    lines.put("active_defrag_misses", 0);
    lines.put("active_defrag_key_hits", 0);
    lines.put("active_defrag_key_misses", 0);
    lines.put("tracking_total_keys", 0);
    lines.put("tracking_total_items", 0);
    lines.put("tracking_total_prefixes", 0);
    lines.put("unexpected_error_replies", 0);
    lines.put("total_error_replies", stats.errors.values().sum::<u64>());
    lines.put("total_reads_processed", moved.reads);
    lines.put("total_writes_processed", moved.writes);
    let refused = world.acl_log.refused;
    lines.put("acl_access_denied_auth", refused.auth);
    lines.put("acl_access_denied_cmd", refused.command);
    lines.put("acl_access_denied_key", refused.key);
    lines.put("acl_access_denied_channel", refused.channel);
    lines.put("acl_access_denied_db", refused.database);
    let cycles = &stats.cycles;
    lines.put("eventloop_cycles", cycles.count);
    lines.put("eventloop_duration_sum", cycles.usec);
    lines.put("eventloop_duration_cmd_sum", world.command_us());
    lines.put("instantaneous_eventloop_cycles_per_sec", stats.rates.cycles());
    lines.put("instantaneous_eventloop_duration_usec", cycles.usec_recent());
}

/// The loop in more detail; shown only by its own name.
pub(super) fn debug(x: &mut Exec<'_>, lines: &mut Lines) {
    let cycles = &x.world.stats.cycles;
    lines.put("eventloop_duration_aof_sum", 0);
    lines.put("eventloop_duration_cron_sum", cycles.background_usec);
    lines.put("eventloop_duration_max", cycles.usec_max);
    lines.put("eventloop_cmd_per_cycle_max", cycles.commands_max);
    lines.put("io_threaded_reads_pending", 0);
    lines.put("io_threaded_writes_pending", 0);
}

pub(super) fn command_stats(x: &mut Exec<'_>, lines: &mut Lines) {
    for entry in COMMANDS.iter() {
        let stats = &x.world.stats.commands[entry.id as usize];
        if stats.calls + stats.rejected + stats.failed > 0 {
            let per_call = stats.usec as f64 / stats.calls.max(1) as f64;
            lines.put(
                &format!("cmdstat_{}", entry.full_name),
                format_args!(
                    "calls={},usec={},usec_per_call={per_call:.2},rejected_calls={},failed_calls={}",
                    stats.calls, stats.usec, stats.rejected, stats.failed
                ),
            );
        }
    }
}

pub(super) fn error_stats(x: &mut Exec<'_>, lines: &mut Lines) {
    for (prefix, count) in &x.world.stats.errors {
        lines.put(&format!("errorstat_{prefix}"), format_args!("count={count}"));
    }
}

pub(super) fn latency_stats(x: &mut Exec<'_>, lines: &mut Lines) {
    let percentiles = x.world.options.percentiles();
    for (entry, histogram) in COMMANDS.iter().zip(&x.world.observer.histograms) {
        if histogram.total() > 0 {
            let shown: Vec<String> = percentiles
                .iter()
                .map(|percent| {
                    let us = histogram.percentile_ns(*percent) as f64 / 1000.0;
                    format!("p{percent}={us:.3}")
                })
                .collect();
            lines.put(
                &format!("latency_percentiles_usec_{}", entry.full_name),
                shown.join(","),
            );
        }
    }
}
