//! A transcript file as a list of steps. Reading it needs no server.

use anyhow::{Context, Result, bail, ensure};

use super::pattern::Pattern;

#[derive(Debug)]
pub struct Script {
    /// Options that the server is started with.
    pub flags: Vec<String>,
    /// Expectations that Valkey does not share, so it cannot prove them.
    pub ruvio_only: bool,
    pub steps: Vec<Line>,
}

#[derive(Debug)]
pub struct Line {
    pub number: usize,
    /// The name of the client that the step belongs to; empty for the first one.
    pub client: String,
    pub step: Step,
}

#[derive(Debug)]
pub enum Step {
    /// A command line, still with its quotes and substitutions.
    Command(String),
    /// Raw bytes, still with their escapes and substitutions.
    Raw(String),
    Expect(Pattern, String),
    ExpectClose,
    Sleep(u64),
    NoReplyWithin(u64),
    /// The next reply may take at most this long.
    ReplyWithin(u64),
    /// The next reply may not come before this time since the client last sent something.
    ReplyAfter(u64),
    /// Keeps the last reply's text under a name.
    Save(String),
    /// Waits until so many clients of the server are blocked.
    WaitBlocked(u64),
    Connect,
    Close,
}

impl Script {
    pub fn parse(text: &str) -> Result<Script> {
        let mut script = Script {
            flags: Vec::new(),
            ruvio_only: false,
            steps: Vec::new(),
        };
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line))
            .peekable();
        while let Some((number, line)) = lines.next() {
            let line = line.trim_end();
            if line.is_empty() {
                continue;
            }
            if let Some(comment) = line.strip_prefix('#') {
                script.header(comment.trim());
                continue;
            }
            let (client, sign, rest) = head(line).with_context(|| format!("line {number}: {line}"))?;
            let mut rest = rest.to_owned();
            if sign == "<" {
                // An aggregate may go on over the following lines.
                while open_brackets(&rest) > 0 {
                    let (_, more) = lines
                        .next()
                        .context("an unclosed bracket at the end of the file")?;
                    let more = head(more).ok().filter(|(c, s, _)| *s == "<" && c.is_empty());
                    let (_, _, more) =
                        more.with_context(|| format!("line {number}: a bracket stays open"))?;
                    rest.push(' ');
                    rest.push_str(more);
                }
            }
            let step = step(sign, &rest).with_context(|| format!("line {number}: {line}"))?;
            script.steps.push(Line {
                number,
                client: client.to_owned(),
                step,
            });
        }
        ensure!(
            script
                .steps
                .iter()
                .any(|l| matches!(l.step, Step::Expect(..) | Step::ExpectClose)),
            "a transcript that expects nothing"
        );
        Ok(script)
    }

    fn header(&mut self, comment: &str) {
        if let Some(flags) = comment.strip_prefix("server:") {
            self.flags.extend(flags.split_whitespace().map(str::to_owned));
        } else if comment.starts_with("ruvio-only") {
            self.ruvio_only = true;
        }
    }
}

/// `NAME SIGN rest`, where the name may be empty.
fn head(line: &str) -> Result<(&str, &'static str, &str)> {
    let name = line
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(line.len());
    let (client, rest) = line.split_at(name);
    for sign in [">!", ">", "<", "@"] {
        if let Some(rest) = rest.strip_prefix(sign) {
            return Ok((client, sign, rest.strip_prefix(' ').unwrap_or(rest)));
        }
    }
    bail!("neither a comment nor a step")
}

fn step(sign: &str, rest: &str) -> Result<Step> {
    Ok(match sign {
        ">" => Step::Command(rest.to_owned()),
        ">!" => Step::Raw(rest.to_owned()),
        "<" => Step::Expect(Pattern::parse(rest)?, rest.to_owned()),
        _ => {
            let (verb, value) = rest.split_once(' ').unwrap_or((rest, ""));
            let number = || {
                value
                    .parse::<u64>()
                    .with_context(|| format!("{verb} needs a number"))
            };
            match verb {
                "sleep" => Step::Sleep(number()?),
                "no-reply-within" => Step::NoReplyWithin(number()?),
                "reply-within" => Step::ReplyWithin(number()?),
                "reply-after" => Step::ReplyAfter(number()?),
                "wait-blocked" => Step::WaitBlocked(number()?),
                "save" if !value.is_empty() => Step::Save(value.to_owned()),
                "expect-close" => Step::ExpectClose,
                "connect" => Step::Connect,
                "close" => Step::Close,
                _ => bail!("unknown directive {verb}"),
            }
        }
    })
}

/// How many brackets of an expectation stay open, quoted text and regular expressions left out.
fn open_brackets(text: &str) -> i64 {
    if text.starts_with(['+', '-']) {
        return 0;
    }
    let mut depth = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            '"' => {
                while let Some(inner) = chars.next() {
                    match inner {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '~' if chars.peek() == Some(&'/') => {
                chars.next();
                chars.by_ref().find(|c| *c == '/');
            }
            _ => {}
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_belong_to_their_clients() {
        let text = "# server: --requirepass pw\n> PING\n< [\n<   :1,\n<   \"]\"\n< ]\nB>! *1\\r\\n\nB@ expect-close\n";
        let script = Script::parse(text).expect("valid");
        assert_eq!(script.flags, ["--requirepass", "pw"]);
        let clients: Vec<_> = script
            .steps
            .iter()
            .map(|l| (l.number, l.client.as_str()))
            .collect();
        assert_eq!(clients, [(2, ""), (3, ""), (7, "B"), (8, "B")]);
    }

    #[test]
    fn mistakes_are_found_before_anything_runs() {
        for bad in [
            "> PING\n",
            "PING\n< +PONG\n",
            "> PING\n< PONG\n",
            "> A\n< [:1\n",
            "@ sleep\n",
            "@ nap 1\n",
        ] {
            assert!(Script::parse(bad).is_err(), "{bad}");
        }
    }
}
