//! The table of options as a file for those who may not know this crate: the operator checks `spec.config` by it, also
//! while no node runs. `UPDATE=1` writes it.

use ruvio_core::options::{Kind, ROWS};

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../operator/src/validate/options.tsv"
);
const HEAD: &str = "# name\talias\twhen it may change\tkind\tvalues\twhy no others\n";

#[test]
fn the_operator_has_the_table_of_this_server() {
    let mut text = HEAD.to_owned();
    for row in ROWS {
        let (kind, values, why) = kind(row.kind);
        let when = if row.facts.live { "live" } else { "start" };
        let alias = row.facts.alias.unwrap_or("");
        text.push_str(&format!(
            "{}\t{alias}\t{when}\t{kind}\t{values}\t{why}\n",
            row.name
        ));
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, &text).expect("the table is written");
    }
    let there = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        there == text,
        "operator/src/validate/options.tsv is not this table: UPDATE=1 cargo test -p ruvio-core --test option_table"
    );
}

fn kind(kind: Kind) -> (&'static str, String, &'static str) {
    let range = |min: i64, max: i64| format!("{min} {max}");
    let names = |names: &[&str]| names.join("|");
    match kind {
        Kind::Flag => ("one of", "yes|no".to_owned(), ""),
        Kind::Integer { min, max } => ("integer", range(min, max), ""),
        Kind::Memory { min, max } => ("memory", range(min, max), ""),
        Kind::Choice(choices) => ("one of", names(choices), ""),
        Kind::Only(choices, why) => ("one of", names(choices), why),
        Kind::Choices(choices) => ("some of", names(choices), ""),
        Kind::Octal { .. } => ("text", String::new(), ""),
        Kind::Text
        | Kind::Words
        | Kind::OutputLimits
        | Kind::SavePoints
        | Kind::Events
        | Kind::Percentiles => ("text", String::new(), ""),
    }
}
