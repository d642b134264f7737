//! P4: the native commands against the same semantics in Lua (`bench/lua`) on the reference.
//!
//! Before anything is timed, both sides have to show that they answer the same: a fast wrong script proves nothing.

use anyhow::{Context, Result, ensure};

use crate::client::{Client, Reply};
use crate::contest::{Contest, Pair, Settings, Shape};
use crate::report::{Line, Report, Target, contest_lines};
use crate::server::{Kind, Server};
use crate::workload::{Workload, limit_allowed, limit_denied, native_idempotency, scripted_idempotency};

const IDEM_BEGIN: &str = include_str!("../../lua/idem_begin.lua");
const IDEM_COMPLETE: &str = include_str!("../../lua/idem_complete.lua");
const LIMIT: &str = include_str!("../../lua/limit.lua");

/// A bucket of ten million a second never denies; one a day denies all but the first.
const ALLOWING: (&str, &str) = ("10000000", "1000");
const DENYING: (&str, &str) = ("1", "86400000");

/// How one side spells the commands.
struct Dialect {
    begin: Vec<String>,
    complete: Vec<String>,
    limit: Vec<String>,
    native: bool,
}

impl Dialect {
    fn of(server: &Server) -> Result<Self> {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        if server.kind == Kind::Ruvio {
            let (begin, complete) = (words("IDEM BEGIN"), words("IDEM COMPLETE"));
            return Ok(Self {
                begin,
                complete,
                limit: words("LIMIT"),
                native: true,
            });
        }
        let mut client = server.client()?;
        let mut load = |script: &str, keys: usize| -> Result<Vec<String>> {
            let reply = client.call(&["SCRIPT", "LOAD", script])?;
            let sha = reply.text().context("SCRIPT LOAD answers a SHA-1")?;
            Ok(words(&format!("EVALSHA {sha} {keys}")))
        };
        Ok(Self {
            begin: load(IDEM_BEGIN, 2)?,
            complete: load(IDEM_COMPLETE, 1)?,
            limit: load(LIMIT, 1)?,
            native: false,
        })
    }

    fn begin(&self, client: &mut Client, key: &str, fingerprint: &str, token: &str) -> Result<Reply> {
        let arguments = match self.native {
            true => vec![key, fingerprint, "LEASE", "30000", "TTL", "60000", "OWNER", token],
            false => vec![key, "fences", fingerprint, token, "30000", "60000"],
        };
        self.ask(client, &self.begin, &arguments)
    }

    fn complete(
        &self,
        client: &mut Client,
        key: &str,
        token: &str,
        fence: &str,
        result: &str,
    ) -> Result<Reply> {
        let arguments = match self.native {
            true => vec![key, token, fence, result, "TTL", "60000"],
            false => vec![key, token, fence, result, "60000"],
        };
        self.ask(client, &self.complete, &arguments)
    }

    fn limit(&self, client: &mut Client, key: &str, rate: (&str, &str)) -> Result<Reply> {
        let after = self.limit_words(rate);
        let arguments: Vec<&str> = [key].into_iter().chain(after.split(' ')).collect();
        self.ask(client, &self.limit, &arguments)
    }

    fn limit_words(&self, (count, per_ms): (&str, &str)) -> String {
        match self.native {
            true => format!("RATE {count} PER {per_ms}"),
            false => format!("{count} {per_ms} 1"),
        }
    }

    fn ask(&self, client: &mut Client, before: &[String], arguments: &[&str]) -> Result<Reply> {
        let all: Vec<&str> = before
            .iter()
            .map(String::as_str)
            .chain(arguments.iter().copied())
            .collect();
        client.ask(&all)
    }

    fn idempotency(&self) -> Workload {
        match self.native {
            true => native_idempotency(),
            false => scripted_idempotency(&self.begin[1], &self.complete[1]),
        }
    }
}

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let contest = Contest::start(settings)?;
    let mut lines = Vec::new();
    match (ready(&contest.reference), ready(&contest.subject)) {
        (Ok(reference), Ok(subject)) => lines.extend(timed(&contest, &reference, &subject)),
        (reference, subject) => {
            let errors = [reference.err(), subject.err()];
            lines.extend(
                errors
                    .iter()
                    .flatten()
                    .map(|error| Line::failed("answers before timing", error)),
            );
        }
    }
    Ok(Report {
        row: "p4",
        title: "IDEM and LIMIT against the same in Lua, 50 connections",
        lines,
    })
}

fn timed(contest: &Contest, reference: &Dialect, subject: &Dialect) -> Vec<Line> {
    let allowed = |side: &Dialect| limit_allowed(&side.limit.join(" "), &side.limit_words(ALLOWING));
    let denied = |side: &Dialect| limit_denied(&side.limit.join(" "), &side.limit_words(DENYING));
    let workloads = [
        (reference.idempotency(), subject.idempotency(), 2.0),
        (allowed(reference), allowed(subject), 2.0),
        (denied(reference), denied(subject), 3.0),
    ];
    let mut lines = Vec::new();
    for depth in [16, 1] {
        for (reference, subject, least) in &workloads {
            // Without a pipeline the sockets cost more than the commands: told, not asked.
            let rate = (depth > 1).then_some(Target::RatioAtLeast(*least));
            let what = format!("{}, P={depth}", subject.name);
            match contest.lean(
                Pair { reference, subject },
                Shape {
                    connections: 50,
                    depth,
                },
            ) {
                Ok(pair) => lines.extend(contest_lines(&what, pair, rate, None)),
                Err(error) => lines.push(Line::failed(&what, &error)),
            }
        }
    }
    lines
}

/// The side's dialect, once it has answered as the semantics say.
fn ready(server: &Server) -> Result<Dialect> {
    let dialect = Dialect::of(server)?;
    let mut client = server.client()?;
    check_idempotency(&dialect, &mut client).with_context(|| format!("IDEM on {:?}", server.kind))?;
    check_limit(&dialect, &mut client).with_context(|| format!("LIMIT on {:?}", server.kind))?;
    Ok(dialect)
}

fn check_idempotency(dialect: &Dialect, client: &mut Client) -> Result<()> {
    let first = dialect.begin(client, "order", "f1", "alice")?;
    let fence = match first.elements() {
        [word, fence, token] if word.text() == Some("NEW") && token.text() == Some("alice") => {
            fence.integer()
        }
        _ => None,
    };
    let fence = fence.with_context(|| format!("BEGIN answered {first:?}"))?;
    let again = dialect.begin(client, "order", "f1", "alice")?;
    ensure!(again == first, "a repeated BEGIN answered {again:?}");
    let busy = dialect.begin(client, "order", "f1", "bob")?;
    ensure!(
        word_of(&busy) == Some("BUSY"),
        "BEGIN of another owner answered {busy:?}"
    );
    let other = dialect.begin(client, "order", "f2", "bob")?;
    ensure!(
        is_error(&other, "MISMATCH"),
        "BEGIN with another fingerprint answered {other:?}"
    );
    let stale = dialect.complete(client, "order", "bob", &fence.to_string(), "r")?;
    ensure!(
        is_error(&stale, "STALE"),
        "COMPLETE by another owner answered {stale:?}"
    );
    for _ in 0..2 {
        let ok = dialect.complete(client, "order", "alice", &fence.to_string(), "r")?;
        ensure!(ok.text() == Some("OK"), "COMPLETE answered {ok:?}");
    }
    let done = dialect.begin(client, "order", "f1", "bob")?;
    ensure!(
        word_of(&done) == Some("DONE") && done.elements()[1].text() == Some("r"),
        "then BEGIN: {done:?}"
    );
    let next = dialect.begin(client, "other", "f1", "bob")?;
    let higher = next
        .elements()
        .get(1)
        .and_then(Reply::integer)
        .is_some_and(|next| next > fence);
    ensure!(higher, "the next NEW has no higher fence: {next:?}");
    Ok(())
}

fn check_limit(dialect: &Dialect, client: &mut Client) -> Result<()> {
    let integers = |reply: &Reply| {
        reply
            .elements()
            .iter()
            .filter_map(Reply::integer)
            .collect::<Vec<_>>()
    };
    let allowed = integers(&dialect.limit(client, "bucket", DENYING)?);
    ensure!(
        allowed == [1, 1, 0, 0, 86_400_000],
        "the first call answered {allowed:?}"
    );
    let denied = dialect.limit(client, "bucket", DENYING)?;
    let row = integers(&denied);
    let right = row.len() == 5
        && row[..3] == [0, 1, 0]
        && row[3..].iter().all(|ms| (86_390_000..=86_400_000).contains(ms));
    ensure!(right, "the second call answered {denied:?}");
    Ok(())
}

fn word_of(reply: &Reply) -> Option<&str> {
    reply.elements().first().and_then(Reply::text)
}

fn is_error(reply: &Reply, prefix: &str) -> bool {
    matches!(reply, Reply::Error(text) if text.trim_start_matches("ERR ").starts_with(prefix))
}
