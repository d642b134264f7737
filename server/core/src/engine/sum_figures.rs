//! `INFO` of several shards and owners as one text: numbers that each counts for itself are added, the rest is
//! as the first says.

use std::collections::HashMap;

use crate::command::server::human;

/// What the parts are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Shards of one owner: what the owner counts is the same in all.
    Shards,
    Owners,
}

/// Counted by each shard.
const OF_SHARDS: &[&str] = &[
    "expired_keys",
    "expired_fields",
    "evicted_keys",
    "keyspace_hits",
    "keyspace_misses",
    "total_watched_keys",
    "total_blocking_keys",
    "rdb_changes_since_last_save",
];

/// Counted by each owner.
const OF_OWNERS: &[&str] = &[
    "connected_clients",
    "blocked_clients",
    "pubsub_clients",
    "watching_clients",
    "clients_in_timeout_table",
    "used_memory",
    "used_memory_peak",
    "used_memory_overhead",
    "used_memory_startup",
    "used_memory_dataset",
    "allocator_allocated",
    "allocator_active",
    "mem_clients_normal",
    "total_connections_received",
    "total_commands_processed",
    "instantaneous_ops_per_sec",
    "total_net_input_bytes",
    "total_net_output_bytes",
    "instantaneous_input_kbps",
    "instantaneous_output_kbps",
    "rejected_connections",
    "client_query_buffer_limit_disconnections",
    "client_output_buffer_limit_disconnections",
    "total_error_replies",
    "total_reads_processed",
    "total_writes_processed",
    "eventloop_cycles",
    "eventloop_duration_sum",
    "eventloop_duration_cmd_sum",
    "instantaneous_eventloop_cycles_per_sec",
    "eventloop_duration_cron_sum",
    "acl_access_denied_auth",
    "acl_access_denied_cmd",
    "acl_access_denied_key",
    "acl_access_denied_channel",
    "acl_access_denied_db",
];

/// The greatest of the owners is the node's.
const GREATEST: &[&str] = &[
    "loading",
    "eventloop_duration_max",
    "eventloop_cmd_per_cycle_max",
    "client_recent_max_input_buffer",
    "client_recent_max_output_buffer",
];

struct Section<'a> {
    title: &'a str,
    lines: Vec<(&'a str, String)>,
}

/// The parts' texts as one.
pub fn sum(parts: &[String], level: Level) -> String {
    let mut whole: Vec<Section<'_>> = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let mut at = None;
        for line in part.lines() {
            if line.starts_with('#') {
                let place = whole.iter().position(|section| section.title == line);
                at = Some(place.unwrap_or_else(|| {
                    whole.push(Section {
                        title: line,
                        lines: Vec::new(),
                    });
                    whole.len() - 1
                }));
            } else if let (Some(at), Some((name, value))) = (at, line.split_once(':')) {
                if number == 0 {
                    whole[at].lines.push((name, value.to_string()));
                } else {
                    whole[at].add(name, value, level);
                }
            }
        }
    }
    let mut text = String::new();
    for mut section in whole {
        section.say_again();
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        text.push_str(section.title);
        text.push_str("\r\n");
        for (name, value) in section.lines {
            text.push_str(&format!("{name}:{value}\r\n"));
        }
    }
    text
}

impl<'a> Section<'a> {
    fn add(&mut self, name: &'a str, value: &str, level: Level) {
        let Some((_, known)) = self.lines.iter_mut().find(|(known, _)| *known == name) else {
            // What an owner counts was as the first shard says when it was asked.
            if level == Level::Owners || is_database(name) {
                self.lines.push((name, value.to_string()));
            }
            return;
        };
        let by_owner = level == Level::Owners;
        if OF_SHARDS.contains(&name) || (by_owner && OF_OWNERS.contains(&name)) {
            *known = add(known, value);
        } else if by_owner && GREATEST.contains(&name) {
            let number = |text: &str| text.parse::<u64>().unwrap_or(0);
            *known = number(known).max(number(value)).to_string();
        } else if is_database(name)
            || (by_owner && (name.starts_with("cmdstat_") || name.starts_with("errorstat_")))
        {
            *known = add_fields(known, value);
        }
    }

    /// What is derived from sums follows them.
    fn say_again(&mut self) {
        let bytes: HashMap<String, u64> = self
            .lines
            .iter()
            .filter_map(|(name, value)| Some((format!("{name}_human"), value.parse().ok()?)))
            .collect();
        for (name, value) in &mut self.lines {
            if let Some(bytes) = bytes.get(*name) {
                *value = human(*bytes);
            }
        }
    }
}

/// `db0` and its like.
fn is_database(name: &str) -> bool {
    name.strip_prefix("db")
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whole numbers stay whole.
fn add(one: &str, other: &str) -> String {
    if let (Ok(one), Ok(other)) = (one.parse::<u64>(), other.parse::<u64>()) {
        return one.saturating_add(other).to_string();
    }
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => format!("{:.2}", one + other),
        _ => one.to_string(),
    }
}

/// `calls=1,usec=2`: counts are added, averages are those of the whole.
fn add_fields(one: &str, other: &str) -> String {
    let others: HashMap<&str, &str> = other
        .split(',')
        .filter_map(|field| field.split_once('='))
        .collect();
    let mut fields: Vec<(&str, String)> = Vec::new();
    for (name, value) in one.split(',').filter_map(|field| field.split_once('=')) {
        let sum = match others.get(name) {
            Some(other) if name != "avg_ttl" => add(value, other),
            _ => value.to_string(),
        };
        fields.push((name, sum));
    }
    let number = |wanted: &str| {
        let field = fields.iter().find(|(name, _)| *name == wanted);
        field.and_then(|(_, value)| value.parse::<f64>().ok())
    };
    let average = number("usec")
        .zip(number("calls"))
        .map(|(usec, calls)| usec / calls.max(1.0));
    for (name, value) in &mut fields {
        if *name == "usec_per_call"
            && let Some(average) = average
        {
            *value = format!("{average:.2}");
        }
    }
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    fields.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "# Clients\r\nconnected_clients:2\r\nclient_recent_max_input_buffer:9\r\nmaxclients:100\r\n\r\n# Memory\r\nused_memory:1024\r\n\
                       used_memory_human:1.00K\r\n\r\n# Commandstats\r\ncmdstat_get:calls=1,usec=3,usec_per_call=3.00\r\n\
                       \r\n# Keyspace\r\ndb0:keys=1,expires=0,avg_ttl=5\r\n";
    const OTHER: &str = "# Clients\r\nconnected_clients:3\r\nclient_recent_max_input_buffer:11\r\nmaxclients:100\r\n\r\n# Memory\r\nused_memory:1024\r\n\
                         used_memory_human:1.00K\r\n\r\n# Commandstats\r\ncmdstat_get:calls=3,usec=1,usec_per_call=0.33\r\n\
                         cmdstat_set:calls=1,usec=1,usec_per_call=1.00\r\n\r\n# Keyspace\r\ndb0:keys=4,expires=2,avg_ttl=0\r\n\
                         db3:keys=1,expires=0,avg_ttl=0\r\n";

    #[test]
    fn owners_count_for_themselves() {
        let whole = sum(&[ONE.into(), OTHER.into()], Level::Owners);
        assert_eq!(
            whole,
            "# Clients\r\nconnected_clients:5\r\nclient_recent_max_input_buffer:11\r\nmaxclients:100\r\n\r\n# Memory\r\nused_memory:2048\r\n\
             used_memory_human:2.00K\r\n\r\n# Commandstats\r\ncmdstat_get:calls=4,usec=4,usec_per_call=1.00\r\n\
             cmdstat_set:calls=1,usec=1,usec_per_call=1.00\r\n\r\n# Keyspace\r\ndb0:keys=5,expires=2,avg_ttl=5\r\n\
             db3:keys=1,expires=0,avg_ttl=0\r\n"
        );
    }

    #[test]
    fn shards_of_one_owner_share_its_counts() {
        let whole = sum(&[ONE.into(), OTHER.into()], Level::Shards);
        assert!(whole.contains("connected_clients:2\r\n"));
        assert!(whole.contains("cmdstat_get:calls=1,usec=3,"));
        assert!(!whole.contains("cmdstat_set"));
        assert!(whole.contains("db0:keys=5,expires=2,"));
    }
}
