//! Are the command tables of two servers the same? What clients build on (arity, flags, key positions, ACL
//! categories, since, group) is compared for every command that both have; the order of sets is not.
//!
//! Texts for people (summaries, notes, names of choices) are each server's own and are not compared.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::client::Client;
use crate::resp::Value;

/// A fact's name and its value, printed.
type Facts = BTreeMap<&'static str, String>;

/// Every difference in one line each, and how many commands both have.
pub fn differences(ours: &mut Client, theirs: &mut Client) -> Result<(Vec<String>, usize)> {
    let (ours, theirs) = (table(ours)?, table(theirs)?);
    let mut lines = Vec::new();
    let mut common = 0;
    for (command, own) in &ours {
        let Some(other) = theirs.get(command) else {
            continue;
        };
        common += 1;
        for (fact, value) in own {
            let expected = other.get(fact).map_or("", String::as_str);
            if value != expected {
                lines.push(format!("{command}: {fact} is {value}, not {expected}"));
            }
        }
    }
    Ok((lines, common))
}

/// The facts of every command and sub-command by its full name. The connection must speak RESP2.
pub fn table(client: &mut Client) -> Result<BTreeMap<String, Facts>> {
    let mut table = BTreeMap::new();
    for command in elements(client.call(&["COMMAND"])?)? {
        add_command(command, &mut table)?;
    }
    add_docs(client.call(&["COMMAND", "DOCS"])?, &mut table)?;
    Ok(table)
}

fn elements(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(elements) => Ok(elements),
        other => bail!("an array was expected, not {other}"),
    }
}

fn text(value: &Value) -> Result<String> {
    let bytes = value
        .text()
        .with_context(|| format!("a text was expected, not {value}"))?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// A set as text, in one order.
fn sorted(value: Value) -> Result<String> {
    let mut texts = elements(value)?.iter().map(text).collect::<Result<Vec<_>>>()?;
    texts.sort();
    Ok(texts.join(" "))
}

fn add_command(command: Value, table: &mut BTreeMap<String, Facts>) -> Result<()> {
    let fields: [Value; 10] = elements(command)?
        .try_into()
        .map_err(|fields: Vec<Value>| anyhow::anyhow!("a command has {} fields", fields.len()))?;
    let [
        name,
        arity,
        flags,
        first,
        last,
        step,
        categories,
        tips,
        specs,
        subcommands,
    ] = fields;
    let specs = elements(specs)?
        .into_iter()
        .map(key_spec)
        .collect::<Result<Vec<_>>>()?;
    let facts = Facts::from([
        ("arity", arity.to_string()),
        ("flags", sorted(flags)?),
        ("range of keys", format!("{first} {last} {step}")),
        ("categories", sorted(categories)?),
        ("tips", sorted(tips)?),
        ("key specs", specs.join("; ")),
    ]);
    table.insert(text(&name)?, facts);
    elements(subcommands)?
        .into_iter()
        .try_for_each(|command| add_command(command, table))
}

/// One key spec, without its notes.
fn key_spec(spec: Value) -> Result<String> {
    let mut parts = Vec::new();
    let mut fields = elements(spec)?.into_iter();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        match text(&name)?.as_str() {
            "notes" => {}
            "flags" => parts.push(sorted(value)?),
            name => parts.push(format!("{name} {value}")),
        }
    }
    Ok(parts.join(", "))
}

fn add_docs(docs: Value, table: &mut BTreeMap<String, Facts>) -> Result<()> {
    let mut docs = elements(docs)?.into_iter();
    while let (Some(name), Some(fields)) = (docs.next(), docs.next()) {
        let name = text(&name)?;
        let mut fields = elements(fields)?.into_iter();
        while let (Some(field), Some(value)) = (fields.next(), fields.next()) {
            let fact = match text(&field)?.as_str() {
                "since" => "since",
                "group" => "group",
                "subcommands" => {
                    add_docs(value, table)?;
                    continue;
                }
                _ => continue,
            };
            let facts = table
                .get_mut(&name)
                .with_context(|| format!("{name} has docs only"))?;
            facts.insert(fact, text(&value)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::parse;

    fn value(text: &str) -> Value {
        parse(text.replace(' ', "\r\n").as_bytes())
            .expect("RESP")
            .expect("whole")
            .0
    }

    #[test]
    fn facts_are_read_and_sets_have_no_order() {
        let mut table = BTreeMap::new();
        let get = "*10 $3 get :2 *2 +readonly +fast :1 :1 :1 *2 +@read +@fast *0 *1 *4 $5 notes $1 x $5 flags \
                   *2 +RO +access *1 *10 $5 get|a :2 *0 :0 :0 :0 *0 *0 *0 *0 ";
        add_command(value(get), &mut table).expect("a command");
        add_docs(
            value("*2 $3 get *4 $5 since $5 1.0.0 $7 summary $1 x "),
            &mut table,
        )
        .expect("docs");
        let facts = &table["get"];
        assert_eq!(facts["arity"], value(":2 ").to_string());
        assert_eq!(facts["flags"], "fast readonly");
        assert_eq!(facts["key specs"], "RO access");
        assert_eq!(facts["since"], "1.0.0");
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        let mut table = BTreeMap::new();
        assert!(add_command(value("*1 $3 get "), &mut table).is_err());
        assert!(add_command(value(":1 "), &mut table).is_err());
        assert!(add_docs(value("*2 $1 x *2 $5 since $1 1 "), &mut table).is_err());
    }
}
