//! Directives out of a `redis.conf`-style text, of a command line's `--name value …` and of the environment.
//! Pure: the caller reads the file and the environment.

use std::fmt;

use crate::resp::{Span, inline};

/// Where a directive was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    File { path: String, line: usize },
    Flag,
    Environment(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(out, "{path}, line {line}"),
            Self::Flag => out.write_str("command line"),
            Self::Environment(name) => write!(out, "environment variable {name}"),
        }
    }
}

/// A name and the words after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directive {
    pub name: String,
    pub words: Vec<Vec<u8>>,
    pub origin: Origin,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextError {
    #[error("{path}, line {line}: unbalanced quotes")]
    Unbalanced { path: String, line: usize },
    #[error("command line: '{0}' stands before any --option")]
    Stray(String),
    #[error("command line: option '{0}' needs a value")]
    NoValue(String),
}

/// Reads a file's text: a directive a line, words quoted as in the protocol's inline commands. Empty lines
/// and those that begin with `#` say nothing.
pub fn parse_file(text: &[u8], path: &str) -> Result<Vec<Directive>, TextError> {
    let mut directives = Vec::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let line_number = index + 1;
        let words = split(line).ok_or_else(|| TextError::Unbalanced {
            path: path.to_string(),
            line: line_number,
        })?;
        let origin = Origin::File {
            path: path.to_string(),
            line: line_number,
        };
        directives.extend(directive(words, origin));
    }
    Ok(directives)
}

/// Reads what follows the file's name on a command line: `--name value …`, or `--name=value`.
pub fn parse_flags(arguments: &[String]) -> Result<Vec<Directive>, TextError> {
    let mut directives: Vec<Directive> = Vec::new();
    for argument in arguments {
        if let Some(name) = argument.strip_prefix("--") {
            check_value(directives.last())?;
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            directives.push(Directive {
                name: name.to_string(),
                words: value.iter().map(|value| value.as_bytes().to_vec()).collect(),
                origin: Origin::Flag,
            });
        } else {
            let last = directives
                .last_mut()
                .ok_or_else(|| TextError::Stray(argument.clone()))?;
            last.words.push(argument.as_bytes().to_vec());
        }
    }
    check_value(directives.last())?;
    Ok(directives)
}

fn check_value(last: Option<&Directive>) -> Result<(), TextError> {
    match last {
        Some(directive) if directive.words.is_empty() => Err(TextError::NoValue(directive.name.clone())),
        _ => Ok(()),
    }
}

const PREFIX: &str = "RUVIO_";

/// Reads the variables that begin with `RUVIO_`: `RUVIO_MAXMEMORY_POLICY` is `maxmemory-policy`. Names that
/// are no option are left alone: Kubernetes sets such variables for every Service (`RUVIO_PORT_6379_TCP`),
/// and `RUVIO_PORT=tcp://…` among them.
pub fn parse_environment<'v>(variables: impl Iterator<Item = (&'v str, &'v str)>) -> Vec<Directive> {
    let mut directives = Vec::new();
    for (variable, value) in variables {
        let Some(name) = variable.strip_prefix(PREFIX) else {
            continue;
        };
        let name = name.to_ascii_lowercase().replace('_', "-");
        if super::Row::find(name.as_bytes()).is_none() || value.starts_with("tcp://") {
            continue;
        }
        directives.push(Directive {
            name,
            words: vec![value.as_bytes().to_vec()],
            origin: Origin::Environment(variable.to_string()),
        });
    }
    directives
}

fn directive(mut words: Vec<Vec<u8>>, origin: Origin) -> Option<Directive> {
    if words.is_empty() {
        return None;
    }
    let name = String::from_utf8_lossy(&words.remove(0)).into_owned();
    Some(Directive { name, words, origin })
}

fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut line = line.to_vec();
    let mut spans: Vec<Span> = Vec::new();
    inline::split(&mut line, 0, &mut spans).ok()?;
    Some(spans.iter().map(|span| span.of(&line).to_vec()).collect())
}
