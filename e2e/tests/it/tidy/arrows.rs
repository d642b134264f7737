//! Who may know whom: arrows between crates, and the one place in the server for each big
//! dependency. Read from `use` lines, from paths in the code and from the manifests.

use super::source::Source;

/// A crate's folder, and those of ours that it may import. The longest folder that fits counts.
const CRATES: [(&str, &[&str]); 7] = [
    ("server/core/", &[]),
    ("server/", &["ruvio_core", "ruvio_proto"]),
    ("proto/", &[]),
    ("operator/", &["ruvio_proto"]),
    ("e2e/model/", &[]),
    ("e2e/", &["ruvio_e2e", "ruvio_proto"]),
    ("bench/", &["ruvio_bench", "ruvio_core", "ruvio_e2e"]),
];

/// What core never touches: it gets time, randomness and bytes as arguments.
const NOT_IN_CORE: [&str; 13] = [
    "std::time::Instant",
    "std::time::SystemTime",
    "std::fs",
    "std::net",
    "std::thread",
    "std::process",
    "std::env",
    "tokio",
    "socket2",
    "rustix::fs",
    "rustix::net",
    "getrandom",
    "rand",
];

/// A dependency of the server and the modules that may name it.
const ONE_PLACE: [(&str, &[&str]); 12] = [
    ("openraft", &["raft"]),
    ("openraft_rt_tokio", &["raft"]),
    ("rocksdb", &["image"]),
    ("opentelemetry", &["telemetry"]),
    ("opentelemetry_sdk", &["telemetry"]),
    ("opentelemetry_otlp", &["telemetry"]),
    ("tracing_opentelemetry", &["telemetry"]),
    ("tonic", &["raft", "admin"]),
    ("prost", &["raft", "admin"]),
    ("ruvio_proto", &["raft", "admin"]),
    ("rustls", &["tls"]),
    ("tokio_rustls", &["tls"]),
];

/// A module of the server and the modules that it may not know.
const STRANGERS: [(&str, &str); 2] = [("connection", "crate::raft"), ("raft", "crate::connection")];

pub fn of_source(source: &Source) -> Vec<String> {
    let paths = paths(&source.code());
    let mut complaints = Vec::new();
    let mut complain = |path: &str, why: &str| {
        let text = format!("{}: {path}: {why}", source.path);
        if !complaints.contains(&text) {
            complaints.push(text);
        }
    };
    for path in &paths {
        if let Some(ours) = path
            .split("::")
            .next()
            .filter(|first| first.starts_with("ruvio_"))
            && let Some((home, allowed)) = home(&source.path)
            && !allowed.contains(&ours)
            && ours != home
        {
            complain(path, "an arrow between crates that is not drawn");
        }
        if source.path.starts_with("server/core/src/")
            && NOT_IN_CORE.iter().any(|banned| within(path, banned))
        {
            complain(path, "core has no IO, clock, threads or randomness");
        }
        let Some(module) = source.path.strip_prefix("server/src/") else {
            continue;
        };
        let module = module.split(['/', '.']).next().unwrap_or_default();
        for (dependency, places) in ONE_PLACE {
            if within(path, dependency) && !places.contains(&module) {
                complain(path, "this dependency has its own module");
            }
        }
        for (from, to) in STRANGERS {
            if module == from && within(path, to) {
                complain(path, "these modules do not know each other");
            }
        }
    }
    complaints
}

/// The same arrows in `[dependencies]`: an import that no `use` shows yet.
pub fn of_manifest(source: &Source) -> Vec<String> {
    let Some((_, allowed)) = home(&source.path) else {
        return Vec::new();
    };
    let mut complaints = Vec::new();
    let mut section = "";
    for line in source.text.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let name = line
            .split(['=', '.', ' '])
            .next()
            .unwrap_or_default()
            .replace('-', "_");
        let counts = section == "[dependencies]" || section == "[dev-dependencies]";
        if counts && name.starts_with("ruvio_") && !allowed.contains(&name.as_str()) {
            complaints.push(format!(
                "{}: depends on {name}, an arrow that is not drawn",
                source.path
            ));
        }
        let core = source.path == "server/core/Cargo.toml" && section == "[dependencies]";
        if core && NOT_IN_CORE.contains(&name.as_str()) {
            complaints.push(format!("{}: core depends on {name}", source.path));
        }
    }
    complaints
}

fn home(path: &str) -> Option<(&'static str, &'static [&'static str])> {
    let (folder, allowed) = CRATES.iter().find(|(folder, _)| path.starts_with(folder))?;
    let own = match *folder {
        "server/core/" => "ruvio_core",
        "server/" => "ruvio_server",
        "proto/" => "ruvio_proto",
        "operator/" => "ruvio_operator",
        "e2e/model/" => "ruvio_model",
        "e2e/" => "ruvio_e2e",
        _ => "ruvio_bench",
    };
    Some((own, allowed))
}

fn within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Every path that the code names: each leaf of its `use` trees, and each `a::b::c` elsewhere.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in code.split(';') {
        let Some(start) = use_start(statement) else {
            continue;
        };
        flatten("", statement[start..].trim(), &mut found);
    }
    let mut word = String::new();
    for c in code.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' || c == ':' {
            word.push(c);
            continue;
        }
        if let Some(path) = Some(word.trim_matches(':')).filter(|p| p.contains("::")) {
            found.push(path.to_owned());
        }
        word.clear();
    }
    found
}

/// Where the tree of a `use` begins in a statement, if the statement is one.
fn use_start(statement: &str) -> Option<usize> {
    let start = statement.rfind("use ")?;
    let line = statement[..start].lines().next_back().unwrap_or_default().trim();
    (line.is_empty() || line.starts_with("pub") || line.ends_with('{')).then_some(start + 4)
}

fn flatten(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let name = tree.split(" as ").next().unwrap_or_default().trim();
        found.push(format!("{prefix}{name}").trim_end_matches("::self").to_owned());
        return;
    };
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let inside = tree[open + 1..]
        .trim_end()
        .strip_suffix('}')
        .unwrap_or(&tree[open + 1..]);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                flatten(&prefix, &inside[start..at], found);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !inside[start..].trim().is_empty() {
        flatten(&prefix, &inside[start..], found);
    }
}

#[test]
fn use_trees_are_read_to_their_leaves() {
    let code = "pub use a::{b, c::{d as e, self}};\nfn f() { use std::{fs, io};\n g::h(1) }";
    let found = paths(code);
    for wanted in ["a::b", "a::c::d", "a::c", "std::fs", "std::io", "g::h"] {
        assert!(
            found.iter().any(|p| p == wanted),
            "{wanted} is missing in {found:?}"
        );
    }
}

#[test]
fn each_arrow_rule_complains_of_its_fault() {
    let faults = |path: &str, text: &str| {
        of_source(&Source {
            path: path.into(),
            text: text.into(),
        })
        .len()
    };
    assert_eq!(faults("server/core/src/a.rs", "use std::{fs, io};"), 1);
    assert_eq!(
        faults("server/core/src/a.rs", "fn f() { std::time::Instant::now(); }"),
        1
    );
    assert_eq!(
        faults("server/core/src/a.rs", "use std::time::Duration; // std::fs"),
        0
    );
    assert_eq!(faults("operator/src/main.rs", "use ruvio_server::a;"), 1);
    assert_eq!(faults("server/src/main.rs", "use ruvio_core::a;"), 0);
    assert_eq!(
        faults(
            "server/src/connection/read.rs",
            "use crate::{raft::Group, openraft_like};"
        ),
        1
    );
    assert_eq!(faults("server/src/log.rs", "use openraft::Raft;"), 1);
    assert_eq!(faults("server/src/raft/log.rs", "use openraft::Raft;"), 0);
    let manifest = |path: &str, text: &str| {
        of_manifest(&Source {
            path: path.into(),
            text: text.into(),
        })
        .len()
    };
    assert_eq!(
        manifest("server/core/Cargo.toml", "[dependencies]\ntokio = \"1\"\n"),
        1
    );
    assert_eq!(
        manifest(
            "operator/Cargo.toml",
            "[dependencies]\nruvio-core = { workspace = true }\n"
        ),
        1
    );
    assert_eq!(
        manifest(
            "server/Cargo.toml",
            "[dependencies]\nruvio-core = { workspace = true }\n"
        ),
        0
    );
}
