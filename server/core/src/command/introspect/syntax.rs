//! The notation that the table's rows write arguments in, as a tree.
//!
//! `word` is a value, `WORD` is written as it stands, `[…]` may be left out, `<…>` groups, `a | b` is one of
//! both, and `…` at the end of a group says that what stands before it may come again.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node<'a> {
    /// Written as it stands.
    Token(&'a str),
    Value(&'a str),
    /// One of these sequences; a single one where there is no choice.
    Group {
        optional: bool,
        choices: Vec<Vec<Node<'a>>>,
        repeats: bool,
    },
}

/// The top sequence of nodes. What is open at the end is taken as closed.
pub(super) fn parse(syntax: &str) -> Vec<Node<'_>> {
    let mut words = words(syntax);
    let (choices, _) = choices(&mut words);
    if choices.len() == 1 {
        choices.into_iter().next().unwrap_or_default()
    } else {
        vec![Node::Group {
            optional: false,
            choices,
            repeats: false,
        }]
    }
}

fn words(syntax: &str) -> std::vec::IntoIter<&str> {
    let mut words = Vec::new();
    for word in syntax.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find(['[', ']', '<', '>', '|']) {
            let (before, from) = rest.split_at(at);
            let (bracket, after) = from.split_at(1);
            words.extend([before, bracket].into_iter().filter(|part| !part.is_empty()));
            rest = after;
        }
        if !rest.is_empty() {
            words.push(rest);
        }
    }
    words.into_iter()
}

/// Up to the closing bracket: the sequences, and whether the last of them ends in `...`.
fn choices<'a>(words: &mut std::vec::IntoIter<&'a str>) -> (Vec<Vec<Node<'a>>>, bool) {
    let mut choices = Vec::new();
    let mut sequence = Vec::new();
    let mut repeats = false;
    while let Some(word) = words.next() {
        match word {
            "[" | "<" => {
                let (choices, repeats) = self::choices(words);
                sequence.push(Node::Group {
                    optional: word == "[",
                    choices,
                    repeats,
                });
            }
            "]" | ">" => break,
            "|" => choices.push(std::mem::take(&mut sequence)),
            "..." => repeats = true,
            _ if is_token(word) => sequence.push(Node::Token(word)),
            _ => sequence.push(Node::Value(word)),
        }
    }
    choices.push(sequence);
    (choices, repeats)
}

fn is_token(word: &str) -> bool {
    !word.bytes().any(|byte| byte.is_ascii_lowercase())
}
