//! Options of all nodes that are named: first each says what would come of them, then each takes them. And files that
//! each reads again.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{bail, ensure};
use ruvio_proto::admin::v1::{ApplyConfigRequest, ApplyConfigResponse, ConfigOption, ReloadRequest};

use super::address::Address;
use super::arguments::{Applying, Reloading};
use super::call::{Caller, Client};

pub async fn apply(caller: &Caller, nodes: &[Address], wish: &Applying) -> anyhow::Result<String> {
    let request = ApplyConfigRequest {
        revision: wish.revision.clone(),
        options: wish.options.clone(),
        dry_run: true,
    };
    let ask = |node, dry_run| {
        let request = ApplyConfigRequest {
            dry_run,
            ..request.clone()
        };
        let call = |mut client: Client, request| async move { client.apply_config(request).await };
        caller.call(node, request, Duration::ZERO, call)
    };
    // One that refuses is found before any has changed.
    for node in nodes {
        check(node, &ask(node, true).await?)?;
    }
    let mut said = String::new();
    for node in nodes {
        let answer = if wish.dry_run {
            ask(node, true).await?
        } else {
            ask(node, false).await?
        };
        check(node, &answer)?;
        let _ = writeln!(said, "{}", describe(node, &answer, wish.dry_run));
    }
    Ok(said)
}

fn check(node: &Address, answer: &ApplyConfigResponse) -> anyhow::Result<()> {
    let why: Vec<String> = answer
        .refused
        .iter()
        .map(|refused| format!("{}: {}", refused.name, refused.reason))
        .collect();
    ensure!(why.is_empty(), "{node} takes none of them: {}", why.join("; "));
    Ok(())
}

fn describe(node: &Address, answer: &ApplyConfigResponse, dry_run: bool) -> String {
    let list = |names: &[String]| match names.len() {
        0 => "nothing".to_owned(),
        _ => names.join(" "),
    };
    let verb = if dry_run { "would change" } else { "has changed" };
    let mut said = format!("{node} {verb} {}", list(&answer.applied));
    if !answer.needs_restart.is_empty() {
        let names = list(&answer.needs_restart);
        let _ = write!(said, "; {names} only with its flags or file, and a restart");
    }
    said
}

pub async fn reload(caller: &Caller, nodes: &[Address], wish: &Reloading) -> anyhow::Result<String> {
    ensure!(
        wish.acl || wish.certificates,
        "say what to read again: --acl, --certificates or both"
    );
    let request = ReloadRequest {
        acl: wish.acl,
        tls: wish.certificates,
    };
    let (mut said, mut failed) = (String::new(), false);
    for node in nodes {
        let call = |mut client: Client, request| async move { client.reload(request).await };
        let answer = caller.call(node, request, Duration::ZERO, call).await?;
        failed |= !answer.errors.is_empty();
        match answer.errors.is_empty() {
            true => {
                let _ = writeln!(said, "{node} has read them again");
            }
            false => {
                let _ = writeln!(
                    said,
                    "{node} goes on with the old ones: {}",
                    answer.errors.join("; ")
                );
            }
        }
    }
    if failed {
        bail!("{}", said.trim_end());
    }
    Ok(said)
}

/// `NAME=VALUE`.
pub fn option(text: &str) -> Result<ConfigOption, String> {
    let (name, value) = text.split_once('=').ok_or("write an option as NAME=VALUE")?;
    Ok(ConfigOption {
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use ruvio_proto::admin::v1::RefusedOption;

    use super::super::samples::at;
    use super::*;

    #[test]
    fn what_a_node_does_with_options_is_one_line() {
        let answer = ApplyConfigResponse {
            applied: vec!["maxmemory".to_owned(), "snapshot-rate".to_owned()],
            needs_restart: vec!["shards".to_owned()],
            refused: vec![],
        };
        assert_eq!(
            describe(&at("a"), &answer, false),
            "a:7380 has changed maxmemory snapshot-rate; shards only with its flags or file, and a restart"
        );
        let nothing = ApplyConfigResponse::default();
        assert_eq!(describe(&at("a"), &nothing, true), "a:7380 would change nothing");
        let refused = ApplyConfigResponse {
            refused: vec![RefusedOption {
                name: "x".to_owned(),
                reason: "there is no such option".to_owned(),
            }],
            ..ApplyConfigResponse::default()
        };
        let said = check(&at("a"), &refused).expect_err("it refuses");
        assert_eq!(
            said.to_string(),
            "a:7380 takes none of them: x: there is no such option"
        );
    }
}
