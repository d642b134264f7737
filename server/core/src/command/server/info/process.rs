//! What `INFO` says of the process: server, CPU, replication.

use super::Lines;
use crate::engine::product;
use crate::exec::Exec;
use crate::options::Id;

const DAY_SECONDS: u64 = 24 * 3600;

pub(super) fn server(x: &mut Exec<'_>, lines: &mut Lines) {
    let facts = x.world.host.facts();
    let uptime_seconds = x.world.host.clock_us() / 1_000_000;
    lines.put("redis_version", product::COMPATIBLE_VERSION);
    lines.put("server_name", "ruvio");
    lines.put("ruvio_version", env!("CARGO_PKG_VERSION"));
    lines.put("redis_git_sha1", "00000000");
    lines.put("redis_git_dirty", 0);
    lines.put("redis_build_id", "0");
    let mode = x.world.mode_for(x.caller.client);
    lines.put("redis_mode", mode);
    lines.put("server_mode", mode);
    lines.put("os", &facts.os);
    lines.put("arch_bits", usize::BITS);
    lines.put("multiplexing_api", "epoll");
    lines.put("process_id", facts.pid);
    lines.put("process_supervised", "no");
    lines.put("run_id", &facts.run_id);
    lines.put("tcp_port", facts.port);
    lines.put("server_time_usec", x.now.us);
    lines.put("uptime_in_seconds", uptime_seconds);
    lines.put("uptime_in_days", uptime_seconds / DAY_SECONDS);
    let hz = x.world.options.number(Id::Hz);
    lines.put("hz", hz);
    lines.put("configured_hz", hz);
    lines.put("lru_clock", (x.now.ms() / 1000) & 0x1F_FFFF);
    lines.put("executable", &facts.executable);
    lines.put("config_file", x.world.options.file.as_deref().unwrap_or(""));
    lines.put("io_threads_active", 0);
    lines.put(
        "availability_zone",
        x.world.options.shown_by(Id::AvailabilityZone),
    );
    for (index, listener) in facts.listeners.iter().enumerate() {
        lines.put(&format!("listener{index}"), listener);
    }
}

/// By Valkey's names; `none` where there is no such certificate.
pub(super) fn tls(x: &mut Exec<'_>, lines: &mut Lines) {
    let known = x.world.host.certificates();
    for (name, known) in ["server", "client", "ca"].iter().zip(known) {
        let serial = known.as_ref().map_or("none", |known| &known.serial);
        lines.put(&format!("tls_{name}_cert_serial"), serial);
        let left = known.as_ref().map_or(0, |known| known.left_seconds);
        lines.put(&format!("tls_{name}_cert_expires_in_seconds"), left);
    }
}

pub(super) fn cpu(x: &mut Exec<'_>, lines: &mut Lines) {
    let cpu = x.world.host.cpu();
    let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    lines.put("used_cpu_sys", seconds(cpu.system));
    lines.put("used_cpu_user", seconds(cpu.user));
    lines.put("used_cpu_sys_children", seconds(0));
    lines.put("used_cpu_user_children", seconds(0));
    lines.put("used_cpu_sys_main_thread", seconds(cpu.thread_system));
    lines.put("used_cpu_user_main_thread", seconds(cpu.thread_user));
}

pub(super) fn replication(x: &mut Exec<'_>, lines: &mut Lines) {
    lines.put("role", "master");
    lines.put("connected_slaves", 0);
    lines.put("replicas_waiting_psync", 0);
    lines.put("master_failover_state", "no-failover");
    lines.put("master_replid", &x.world.host.facts().run_id);
    lines.put("master_replid2", "0".repeat(40));
    lines.put("master_repl_offset", 0);
    lines.put("second_repl_offset", -1);
    lines.put("repl_backlog_active", 0);
    lines.put("repl_backlog_size", x.world.options.number(Id::ReplBacklogSize));
    lines.put("repl_backlog_first_byte_offset", 0);
    lines.put("repl_backlog_histlen", 0);
}
