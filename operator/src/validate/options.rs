//! Options of the server in `spec.config`, checked by the server's own table.
//!
//! The operator may not know the server's code, and has to answer while no node runs. So the table is a file here,
//! which a test of the server's keeps as that server is. Values that it does not describe (lists, texts) are checked
//! by the nodes, which are asked with a dry run before any is told.

use std::collections::BTreeMap;

use super::Invalid;
use crate::api::Reason;

const TABLE: &str = include_str!("options.tsv");

/// What the spec's other fields say, or the operator alone: and where.
const RESERVED: [(&str, &str); 25] = [
    ("shards", "spec.shards"),
    ("durability", "spec.durability"),
    ("appendonly", "spec.durability"),
    ("appendfsync", "spec.durability"),
    ("maxmemory", "spec.memory.max"),
    ("maxmemory-policy", "spec.memory.policy"),
    ("requirepass", "spec.auth"),
    ("aclfile", "spec.auth"),
    ("tls-port", "spec.tls"),
    ("routed-tls-port", "spec.tls"),
    ("tls-cluster", "spec.tls"),
    ("tls-replication", "spec.tls"),
    ("tls-cert-file", "spec.tls"),
    ("tls-key-file", "spec.tls"),
    ("tls-ca-cert-file", "spec.tls"),
    ("port", ""),
    ("bind", ""),
    ("dir", ""),
    ("unixsocket", ""),
    ("protected-mode", ""),
    ("cluster-enabled", ""),
    ("routed-port", ""),
    ("peer-port", ""),
    ("admin-port", ""),
    ("cluster-token-file", ""),
];

/// A row of the table.
struct Row {
    name: &'static str,
    live: bool,
    kind: &'static str,
    values: &'static str,
    why: &'static str,
}

/// Options that the server takes, by their first name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// May change while a node runs.
    pub live: BTreeMap<String, String>,
    /// Count from a start on.
    pub start: BTreeMap<String, String>,
}

pub fn check(config: &BTreeMap<String, String>) -> Result<Options, Invalid> {
    let mut options = Options::default();
    for (given, value) in config {
        let name = given.to_ascii_lowercase();
        let Some(row) = find(&name) else {
            return Err(Invalid::new(Reason::UnknownOption, unknown(&name)));
        };
        if let Some((_, place)) = RESERVED.iter().find(|(reserved, _)| *reserved == row.name) {
            let says = match *place {
                "" => format!("config has {name}, which the operator sets for every node: remove it"),
                place => format!("config has {name}, which {place} says: remove it there or set {place}"),
            };
            return Err(Invalid::new(Reason::ReservedOption, says));
        }
        if value.contains(['\n', '\r', '\0']) {
            let says = format!("config has {name} with more than one line: give it in one");
            return Err(Invalid::new(Reason::InvalidOption, says));
        }
        row.check(value).map_err(|why| {
            Invalid::new(
                Reason::InvalidOption,
                format!("config has {name} \"{value}\": {why}"),
            )
        })?;
        let options = if row.live {
            &mut options.live
        } else {
            &mut options.start
        };
        if options.insert(row.name.to_owned(), value.clone()).is_some() {
            let says = format!("config has {} under two names: remove one", row.name);
            return Err(Invalid::new(Reason::InvalidOption, says));
        }
    }
    Ok(options)
}

/// Whether the server takes this value of an option.
pub fn accepts(name: &str, value: &str) -> bool {
    find(name).is_some_and(|row| row.check(value).is_ok())
}

fn rows() -> impl Iterator<Item = (Row, &'static str)> {
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut columns = line.split('\t');
            let mut next = || columns.next();
            let (name, alias, when) = (next()?, next()?, next()?);
            let row = Row {
                name,
                live: when == "live",
                kind: next()?,
                values: next()?,
                why: next()?,
            };
            Some((row, alias))
        })
}

fn find(name: &str) -> Option<Row> {
    let found = rows().find(|(row, alias)| row.name == name || !alias.is_empty() && *alias == name);
    found.map(|(row, _)| row)
}

/// With the names that begin or end as this one does, since most unknown names are misspelt.
fn unknown(name: &str) -> String {
    let near = |known: &&str| {
        let same = known
            .bytes()
            .zip(name.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        same * 2 >= name.len().max(4) && known.len().abs_diff(name.len()) <= 6
    };
    let names: Vec<&str> = rows().map(|(row, _)| row.name).filter(near).take(3).collect();
    match names.is_empty() {
        true => format!("config has {name}, and the server has no such option: remove it"),
        false => format!(
            "config has {name}, and the server has no such option: perhaps {} was meant",
            names.join(" or ")
        ),
    }
}

impl Row {
    fn check(&self, value: &str) -> Result<(), String> {
        let choices = || self.values.split('|');
        let fits = match self.kind {
            "one of" => choices().any(|choice| choice.eq_ignore_ascii_case(value)),
            "some of" => value
                .split(' ')
                .all(|word| choices().any(|choice| choice.eq_ignore_ascii_case(word))),
            "integer" => value.parse().is_ok_and(|number| self.holds(number)),
            "memory" => memory(value).is_some_and(|number| self.holds(number)),
            _ => true,
        };
        match (fits, self.kind) {
            (true, _) => Ok(()),
            (false, "one of") if !self.why.is_empty() => Err(format!("{}; remove it", self.why)),
            (false, "one of" | "some of") => Err(format!(
                "it is one of {}",
                choices().collect::<Vec<_>>().join(", ")
            )),
            (false, _) => {
                let (min, max) = self.range();
                let of = if self.kind == "memory" { "bytes" } else { "number" };
                Err(match max {
                    i64::MAX => {
                        format!("it is a {of} of at least {min}").replace("a bytes", "an amount of bytes")
                    }
                    max => {
                        format!("it is a {of} from {min} to {max}").replace("a bytes", "an amount of bytes")
                    }
                })
            }
        }
    }

    fn range(&self) -> (i64, i64) {
        let (min, max) = self.values.split_once(' ').unwrap_or_default();
        (min.parse().unwrap_or(i64::MIN), max.parse().unwrap_or(i64::MAX))
    }

    fn holds(&self, number: i64) -> bool {
        let (min, max) = self.range();
        (min..=max).contains(&number)
    }
}

/// As in redis.conf: `100mb` is of 1024, `100m` of 1000.
fn memory(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: i64 = match text[end..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    text[..end].parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, value: &str) -> String {
        let config = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        match check(&config) {
            Ok(options) => format!("live {:?} start {:?}", options.live, options.start),
            Err(invalid) => format!("{}: {}", invalid.reason, invalid.says),
        }
    }

    #[test]
    fn options_are_told_apart_by_when_they_count() {
        assert_eq!(said("Timeout", "5"), r#"live {"timeout": "5"} start {}"#);
        assert_eq!(said("databases", "4"), r#"live {} start {"databases": "4"}"#);
        assert_eq!(
            said("client-query-buffer-limit", "2mb"),
            r#"live {"client-query-buffer-limit": "2mb"} start {}"#
        );
        assert_eq!(
            said("lua-time-limit", "5"),
            r#"live {"busy-reply-threshold": "5"} start {}"#
        );
    }

    #[test]
    fn what_the_server_does_not_take_is_said_before_it_is_asked() {
        for (name, value, says) in [
            (
                "slowlog-log-slower",
                "5",
                "UnknownOption: config has slowlog-log-slower, and the server has no such option: perhaps slowlog-log-slower-than was meant",
            ),
            (
                "zzz",
                "5",
                "UnknownOption: config has zzz, and the server has no such option: remove it",
            ),
            (
                "port",
                "1",
                "ReservedOption: config has port, which the operator sets for every node: remove it",
            ),
            (
                "maxmemory",
                "1gb",
                "ReservedOption: config has maxmemory, which spec.memory.max says: remove it there or set spec.memory.max",
            ),
            (
                "timeout",
                "soon",
                "InvalidOption: config has timeout \"soon\": it is a number from 0 to 2147483647",
            ),
            (
                "slowlog-log-slower-than",
                "-2",
                "InvalidOption: config has slowlog-log-slower-than \"-2\": it is a number of at least -1",
            ),
            (
                "proto-max-bulk-len",
                "1kb",
                "InvalidOption: config has proto-max-bulk-len \"1kb\": it is an amount of bytes from 1048576 to 536870912",
            ),
            (
                "loglevel",
                "loud",
                "InvalidOption: config has loglevel \"loud\": it is one of debug, verbose, notice, warning, nothing",
            ),
            (
                "daemonize",
                "yes",
                "InvalidOption: config has daemonize \"yes\": the server stays in the foreground: a supervisor starts and ends it; remove it",
            ),
            (
                "proc-title-template",
                "a\nuser b on",
                "InvalidOption: config has proc-title-template with more than one line: give it in one",
            ),
        ] {
            assert_eq!(said(name, value), says);
        }
    }

    #[test]
    fn what_is_reserved_is_in_the_table() {
        for (name, _) in RESERVED {
            assert!(find(name).is_some(), "{name}");
        }
        assert!(rows().count() > 200);
    }
}
