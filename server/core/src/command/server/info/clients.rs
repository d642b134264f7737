//! `INFO clients`.

use super::Lines;
use crate::engine::Scope;
use crate::exec::Exec;

pub(super) fn clients(x: &mut Exec<'_>, lines: &mut Lines) {
    let world = &*x.world;
    let (mut input_max, mut output_max) = (0, 0);
    let (mut listening, mut watching, mut held_back) = (0, 0, 0);
    for session in world.sessions.iter() {
        input_max = input_max.max(session.traffic.query_buffer);
        output_max = output_max.max(session.traffic.output_pending);
        listening += usize::from(session.subscriptions() != [0; 3]);
        watching += usize::from(session.watched_keys() > 0);
        held_back += usize::from(session.paused.is_some());
    }
    let (watched_keys, blocking_keys) = x.db.shard.interest.counts();
    lines.put("connected_clients", world.sessions.len());
    lines.put("cluster_connections", 0);
    lines.put("maxclients", world.options.max_clients());
    lines.put("client_recent_max_input_buffer", input_max);
    lines.put("client_recent_max_output_buffer", output_max);
    lines.put("blocked_clients", world.blocked_count + held_back);
    lines.put("tracking_clients", 0);
    lines.put("pubsub_clients", listening);
    lines.put("watching_clients", watching);
    lines.put("clients_in_timeout_table", world.deadlines.len());
    lines.put("total_watched_keys", watched_keys);
    lines.put("total_blocking_keys", blocking_keys);
    lines.put("total_blocking_keys_on_nokey", 0);
    let pause = world.pause.left(x.now);
    let actions = match pause {
        None => "none",
        Some((_, Scope::Writes)) => "write",
        Some((_, Scope::All)) => "all",
    };
    lines.put(
        "paused_reason",
        if pause.is_some() { "client_pause" } else { "none" },
    );
    lines.put("paused_actions", actions);
    lines.put(
        "paused_timeout_milliseconds",
        pause.map_or(0, |(left_ms, _)| left_ms),
    );
}
