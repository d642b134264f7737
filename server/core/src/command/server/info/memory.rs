//! `INFO memory` and `INFO keyspace`.

use super::{Lines, human};
use crate::exec::Exec;
use crate::options::Id;

pub(super) fn memory(x: &mut Exec<'_>, lines: &mut Lines) {
    let usage = x.world.memory_usage(x.db.shard);
    let facts = x.world.host.facts();
    let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let percent = |part: u64, whole: u64| format!("{:.2}%", 100.0 * ratio(part, whole));
    lines.put_bytes("used_memory", usage.used);
    lines.put_bytes("used_memory_rss", usage.resident);
    lines.put_bytes("used_memory_peak", usage.peak);
    lines.put("used_memory_peak_perc", percent(usage.used, usage.peak));
    lines.put("used_memory_overhead", usage.overhead);
    lines.put("used_memory_startup", usage.startup);
    lines.put("used_memory_dataset", usage.dataset());
    lines.put(
        "used_memory_dataset_perc",
        percent(usage.dataset(), usage.used.saturating_sub(usage.startup)),
    );
    lines.put("allocator_allocated", usage.used);
    lines.put("allocator_active", usage.mapped);
    lines.put("allocator_resident", usage.resident);
    lines.put("total_system_memory", facts.memory_total);
    lines.put("total_system_memory_human", human(facts.memory_total));
    for none in ["lua", "vm_eval"] {
        lines.put(&format!("used_memory_{none}"), 0);
    }
    lines.put("used_memory_lua_human", human(0));
    lines.put("used_memory_scripts_eval", 0);
    lines.put("number_of_cached_scripts", 0);
    lines.put("number_of_functions", 0);
    lines.put("number_of_libraries", 0);
    lines.put("used_memory_vm_functions", 0);
    lines.put("used_memory_vm_total", 0);
    lines.put("used_memory_functions", 0);
    lines.put_bytes("used_memory_scripts", 0);
    lines.put_bytes("maxmemory", x.world.options.max_memory() as u64);
    lines.put("maxmemory_policy", x.world.options.shown_by(Id::MaxMemoryPolicy));
    lines.put(
        "allocator_frag_ratio",
        format!("{:.2}", ratio(usage.mapped, usage.used)),
    );
    lines.put("allocator_frag_bytes", usage.mapped.saturating_sub(usage.used));
    lines.put(
        "mem_fragmentation_ratio",
        format!("{:.2}", ratio(usage.resident, usage.used)),
    );
    lines.put(
        "mem_fragmentation_bytes",
        usage.resident as i64 - usage.used as i64,
    );
    lines.put("mem_not_counted_for_evict", 0);
    lines.put("mem_replication_backlog", 0);
    lines.put("mem_total_replication_buffers", 0);
    lines.put("mem_clients_slaves", 0);
    lines.put("mem_clients_normal", usage.clients);
    lines.put("mem_cluster_links", 0);
    lines.put("mem_aof_buffer", 0);
    lines.put("mem_allocator", &facts.allocator);
    lines.put(
        "active_defrag_running",
        u64::from(x.db.shard.compaction.is_running()),
    );
    let shard = &*x.db.shard;
    lines.put(
        "lazyfree_pending_objects",
        shard.graveyard.len() + shard.flushed.iter().map(|table| table.len()).sum::<usize>(),
    );
}

pub(super) fn keyspace(x: &mut Exec<'_>, lines: &mut Lines) {
    let shard = &*x.db.shard;
    for (index, table) in shard.databases.iter().enumerate() {
        if !table.is_empty() {
            lines.put(
                &format!("db{index}"),
                format_args!(
                    "keys={},expires={},avg_ttl=0,keys_with_volatile_items={}",
                    table.len(),
                    table.expiring(),
                    shard.field_times.len(index as u16)
                ),
            );
        }
    }
}
