//! From the notation's tree to the arguments of `COMMAND DOCS`: names, types, tokens, what may be left out
//! and what may come again.

use super::syntax::{Node, parse};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    String,
    Integer,
    Double,
    Key,
    Pattern,
    UnixTime,
    PureToken,
    OneOf,
    Block,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::Key => "key",
            Self::Pattern => "pattern",
            Self::UnixTime => "unix-time",
            Self::PureToken => "pure-token",
            Self::OneOf => "oneof",
            Self::Block => "block",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) key_spec: Option<usize>,
    pub(super) token: Option<String>,
    pub(super) optional: bool,
    pub(super) multiple: bool,
    pub(super) token_repeats: bool,
    pub(super) arguments: Vec<Argument>,
}

/// The arguments that `syntax` describes, of a command with so many key specs.
pub(super) fn arguments(syntax: &str, key_specs: usize) -> Vec<Argument> {
    Reader {
        key_specs,
        keys_seen: 0,
    }
    .sequence(&parse(syntax))
}

struct Reader {
    key_specs: usize,
    keys_seen: usize,
}

impl Reader {
    fn sequence(&mut self, nodes: &[Node<'_>]) -> Vec<Argument> {
        let mut arguments: Vec<Argument> = Vec::new();
        // Where the arguments of each node begin.
        let mut starts: Vec<usize> = Vec::new();
        let mut at = 0;
        while at < nodes.len() {
            if let Node::Group {
                choices,
                repeats: true,
                ..
            } = &nodes[at]
                && let [again] = choices.as_slice()
                && !again.is_empty()
                && again.len() <= at
                && nodes[at - again.len()..at] == again[..]
            {
                let start = starts.get(at - again.len()).copied().unwrap_or(0);
                repeat(&mut arguments, start);
                starts.push(arguments.len());
                at += 1;
                continue;
            }
            starts.push(arguments.len());
            match &nodes[at] {
                Node::Value(name) => arguments.push(self.value(name)),
                Node::Group {
                    optional,
                    choices,
                    repeats,
                } => {
                    arguments.push(self.group(*optional, choices, *repeats));
                }
                Node::Token(token) => {
                    // A token takes the values that follow it, up to the next thing that is none.
                    let taken = self.values_after(nodes, at + 1);
                    let inner = self.sequence(&nodes[at + 1..taken]);
                    arguments.push(with_token(token, inner));
                    while starts.len() < taken {
                        starts.push(arguments.len() - 1);
                    }
                    at = taken;
                    continue;
                }
            }
            at += 1;
        }
        arguments
    }

    /// Behind the values from `from` on, with the groups that only repeat them.
    fn values_after(&self, nodes: &[Node<'_>], from: usize) -> usize {
        let mut end = from;
        while let Some(node) = nodes.get(end) {
            match node {
                Node::Value(_) => {}
                Node::Group {
                    choices,
                    repeats: true,
                    ..
                } if end > from
                    && matches!(choices.as_slice(), [again] if nodes[from..end].ends_with(again)) => {}
                _ => break,
            }
            end += 1;
        }
        end
    }

    fn group(&mut self, optional: bool, choices: &[Vec<Node<'_>>], repeats: bool) -> Argument {
        let mut argument = if let [only] = choices {
            block(self.sequence(only))
        } else {
            let arguments: Vec<Argument> = choices
                .iter()
                .map(|choice| block(self.sequence(choice)))
                .collect();
            let names: Vec<&str> = arguments.iter().map(|a| a.name.as_str()).collect();
            Argument {
                arguments: arguments.clone(),
                ..plain(names.join("-or-"), Kind::OneOf)
            }
        };
        argument.optional |= optional;
        argument.multiple |= repeats;
        argument
    }

    fn value(&mut self, name: &str) -> Argument {
        let kind = kind(name, self.key_specs > 0);
        let key_spec = (kind == Kind::Key).then(|| {
            let spec = self.keys_seen.min(self.key_specs - 1);
            self.keys_seen += 1;
            spec
        });
        Argument {
            key_spec,
            ..plain(name.to_string(), kind)
        }
    }
}

fn plain(name: String, kind: Kind) -> Argument {
    Argument {
        name,
        kind,
        key_spec: None,
        token: None,
        optional: false,
        multiple: false,
        token_repeats: false,
        arguments: Vec::new(),
    }
}

/// The arguments from `start` on may come again: the one, or all of them together.
fn repeat(arguments: &mut Vec<Argument>, start: usize) {
    let mut again = block(arguments.split_off(start.min(arguments.len())));
    again.token_repeats = again.token.is_some();
    again.multiple = true;
    arguments.push(again);
}

/// Several arguments as one.
fn block(mut arguments: Vec<Argument>) -> Argument {
    if arguments.len() == 1 {
        return arguments.remove(0);
    }
    let name = arguments
        .iter()
        .map(|a| a.name.as_str())
        .collect::<Vec<_>>()
        .join("-");
    Argument {
        arguments,
        ..plain(name, Kind::Block)
    }
}

fn with_token(token: &str, mut inner: Vec<Argument>) -> Argument {
    match inner.len() {
        0 => Argument {
            token: Some(token.to_string()),
            ..plain(token.to_lowercase(), Kind::PureToken)
        },
        1 if inner[0].token.is_none() => {
            let mut argument = inner.remove(0);
            argument.token = Some(token.to_string());
            argument
        }
        _ => Argument {
            token: Some(token.to_string()),
            arguments: inner,
            ..plain(token.to_lowercase(), Kind::Block)
        },
    }
}

const INTEGERS: &[&str] = &[
    "bits",
    "bit",
    "client-id",
    "count",
    "cursor",
    "db",
    "decrement",
    "end",
    "idle",
    "increment",
    "index",
    "len",
    "length",
    "limit",
    "maxage",
    "maxlen",
    "milliseconds",
    "min-match-len",
    "not-client-id",
    "not-db",
    "numfields",
    "numkeys",
    "numreplicas",
    "numlocal",
    "offset",
    "port",
    "protover",
    "rank",
    "seconds",
    "start",
    "stop",
    "destination-db",
    "index1",
    "index2",
    "max-burst",
    "period",
    "quantity",
];
const DOUBLES: &[&str] = &[
    "score",
    "weight",
    "timeout",
    "longitude",
    "latitude",
    "radius",
    "width",
    "height",
];
const KEYS: &[&str] = &[
    "key",
    "key1",
    "key2",
    "source",
    "destination",
    "newkey",
    "destkey",
    "srckey",
    "sourcekey",
];

fn kind(name: &str, has_keys: bool) -> Kind {
    if has_keys && KEYS.contains(&name) {
        Kind::Key
    } else if name.starts_with("unix-time") {
        Kind::UnixTime
    } else if name == "pattern" || name.ends_with("-pattern") {
        Kind::Pattern
    } else if INTEGERS.contains(&name) {
        Kind::Integer
    } else if DOUBLES.contains(&name) {
        Kind::Double
    } else {
        Kind::String
    }
}
