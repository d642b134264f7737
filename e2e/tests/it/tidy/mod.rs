//! The rules of this repository that a compiler does not know, read from its sources.
//!
//! Each rule is a function from a file to its complaints, so that each is also shown to complain.

mod arrows;
mod source;

use source::{Source, sources};

const LINES_MAX: usize = 800;

/// Every complaint of every rule over every file, so that one run shows all there is to mend.
#[test]
fn the_sources_are_tidy() {
    let sources = sources();
    assert!(
        sources.iter().any(|s| s.path == "server/core/src/lib.rs"),
        "the sources are not found"
    );
    let mut complaints = Vec::new();
    for source in &sources {
        complaints.extend(machine_paths(source));
        if source.is_rust() {
            complaints.extend(shape(source));
            complaints.extend(words(source));
            complaints.extend(unsafe_code(source));
            complaints.extend(arrows::of_source(source));
        }
        if source.path.ends_with("Cargo.toml") {
            complaints.extend(arrows::of_manifest(source));
        }
    }
    assert!(
        complaints.is_empty(),
        "{} complaints:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

/// A file says what it is before anything else, and stays short enough to read.
fn shape(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    if !source.text.starts_with("//!") {
        complaints.push(format!("{}: does not open with //!", source.path));
    }
    let lines = source.text.lines().count();
    if lines > LINES_MAX {
        complaints.push(format!("{}: {lines} lines, more than {LINES_MAX}", source.path));
    }
    complaints
}

/// What may not stand in code, with the reason. Written in halves so as not to find themselves.
const BANNED: [(&str, &str); 9] = [
    (concat!("todo", "!("), "finish it or leave it out"),
    (concat!("unimplemented", "!("), "finish it or leave it out"),
    (concat!("dbg", "!("), "a trace left behind"),
    (concat!("#[ign", "ore"), "a test runs or does not exist"),
    (concat!("unbounded", "_channel"), "every queue is bounded"),
    (concat!("unbounded", "_async"), "every queue is bounded"),
    (concat!("mpsc::", "unbounded"), "every queue is bounded"),
    (
        concat!("mpsc::", "channel()"),
        "every queue is bounded: sync_channel",
    ),
    (concat!("channel::", "unbounded"), "every queue is bounded"),
];

fn words(source: &Source) -> Vec<String> {
    let found = |(at, line): (usize, String)| {
        BANNED
            .iter()
            .filter(|(word, _)| line.contains(word))
            .map(|(word, why)| format!("{}:{}: {word} ({why})", source.path, at + 1))
            .collect::<Vec<_>>()
    };
    source.code_lines().enumerate().flat_map(found).collect()
}

/// Unsafe code lives in core's memory module alone; in the server a file header has to argue for it.
fn unsafe_code(source: &Source) -> Vec<String> {
    let free = source.path.starts_with("server/core/src/memory/")
        || (["server/src/", "server/core/tests/"]
            .iter()
            .any(|place| source.path.starts_with(place))
            && source.header().contains("unsafe"));
    if free {
        return Vec::new();
    }
    let keyword = concat!("uns", "afe ");
    source
        .code_lines()
        .enumerate()
        .filter(|(_, line)| line.trim_start().starts_with(keyword) || line.contains(&format!(" {keyword}{{")))
        .map(|(at, _)| {
            format!(
                "{}:{}: unsafe code outside the memory module",
                source.path,
                at + 1
            )
        })
        .collect()
}

/// Nothing in the repository knows the machine that it was written on.
fn machine_paths(source: &Source) -> Vec<String> {
    let roots = ["work", "root", "tmp", "home"];
    let mut complaints = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        for root in roots {
            let root = format!("/{root}/");
            let hit = line.match_indices(&root).any(|(start, _)| {
                let before = line[..start].chars().next_back();
                let after = line[start + root.len()..].chars().next();
                before.is_none_or(|c| !c.is_alphanumeric() && !"_-.}*".contains(c))
                    && after.is_some_and(|c| c.is_ascii_lowercase())
            });
            if hit {
                complaints.push(format!(
                    "{}:{}: a path of one machine: {}",
                    source.path,
                    at + 1,
                    line.trim()
                ));
            }
        }
    }
    complaints
}

#[test]
fn each_rule_complains_of_its_fault() {
    let rust = |text: &str| Source {
        path: "server/src/main.rs".into(),
        text: text.into(),
    };
    assert_eq!(shape(&rust("use a;\n")).len(), 1);
    assert_eq!(
        shape(&rust(&format!("//! A\n{}", "\n".repeat(LINES_MAX)))).len(),
        1
    );
    assert!(shape(&rust("//! A\n")).is_empty());
    for (word, _) in BANNED {
        assert!(
            !words(&rust(&format!("//! A\nfn f() {{ {word} }}\n"))).is_empty(),
            "{word}"
        );
        assert!(
            words(&rust(&format!("//! A\n// {word}\n"))).is_empty(),
            "{word} in a comment"
        );
    }
    let block = format!("fn f() {{ let a = {} {{ 1 }}; }}\n", concat!("uns", "afe"));
    assert_eq!(unsafe_code(&rust(&format!("//! A\n{block}"))).len(), 1);
    assert!(unsafe_code(&rust(&format!("//! Why unsafe is needed\n{block}"))).is_empty());
    let path = ["see /", "home", "/me/x"].concat();
    assert_eq!(machine_paths(&rust(&path)).len(), 1);
    assert!(
        machine_paths(&rust(&["a", &path[4..]].concat())).is_empty(),
        "part of a longer path"
    );
}
