//! `… HELP`: made from the table's own rows.

use super::spec::Command;
use crate::resp::Reply;

/// Writes the sub-commands of a container with their arguments and summaries, one simple string a line.
pub fn write(reply: &mut Reply, container: &Command) {
    let lines = container.subcommands.iter().filter(|sub| sub.name != "help");
    reply.array(lines.clone().count() * 2 + 3);
    let name = container.name.to_uppercase();
    reply.simple(&format!(
        "{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    ));
    for sub in lines {
        reply.simple(format!("{} {}", sub.name.to_uppercase(), sub.syntax).trim_end());
        reply.simple(&format!("    {}", sub.summary));
    }
    reply.simple("HELP");
    reply.simple("    Shows this text.");
}
