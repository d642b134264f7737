//! The options of a node: one table of rows, and the values they have now.
//!
//! Invariants: a value is always one that its row accepts, so that readers check nothing. `Options` knows
//! neither files nor flags: [`text`] makes directives of them, [`Options::load`] takes them in. What a
//! change means to the keyspace and the sessions is `engine/configure.rs`.

pub(crate) mod change;
mod durability;
mod kind;
mod output_limits;
mod percentiles;
mod rewrite;
mod row;
mod table;
#[cfg(test)]
mod tests;
pub mod text;
mod typed;

pub use durability::Durability;
pub use kind::{Kind, Value, parse_memory as memory_value};
pub use output_limits::{ClassLimit, OutputClass, OutputLimits};
pub use row::{Facts, Place, Row};
pub use table::{Id, ROWS};
pub use typed::DebugAccess;

/// Why a set of directives was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("{origin}: there is no option '{name}' (--help lists them)")]
    Unknown { origin: String, name: String },
    #[error("{origin}: option '{name}': {why}")]
    Refused {
        origin: String,
        name: String,
        why: String,
    },
}

/// The values of all options.
#[derive(Clone, Debug)]
pub struct Options {
    values: Vec<Value>,
    /// Which of them a directive gave.
    told: Vec<bool>,
    /// Where `CONFIG REWRITE` writes; none without a file.
    pub file: Option<String>,
    /// `user` lines of the file: rules of `ACL SETUSER`, in order.
    pub users: Vec<Vec<Vec<u8>>>,
}

impl Default for Options {
    fn default() -> Self {
        let parse = |row: &Row| {
            row.kind
                .parse(&[row.default.as_bytes()], None)
                .unwrap_or_else(|why| unreachable!("default of {}: {why}", row.name))
        };
        Self {
            values: ROWS.iter().map(parse).collect(),
            told: vec![false; ROWS.len()],
            file: None,
            users: Vec::new(),
        }
    }
}

impl Options {
    pub fn value(&self, id: Id) -> &Value {
        &self.values[id as usize]
    }

    /// As `CONFIG GET` shows it.
    pub fn shown(&self, row: &Row) -> Vec<u8> {
        row.kind.show(self.value(row.id))
    }

    /// The same by the option's place.
    pub fn shown_by(&self, id: Id) -> String {
        String::from_utf8_lossy(&self.shown(&ROWS[id as usize])).into_owned()
    }

    /// Takes directives in their order; of one name given twice the last wins.
    pub fn load(&mut self, directives: &[text::Directive]) -> Result<(), LoadError> {
        for directive in directives {
            if directive.name.eq_ignore_ascii_case("user") {
                self.users.push(directive.words.clone());
                continue;
            }
            let origin = || directive.origin.to_string();
            let row = Row::find(directive.name.as_bytes()).ok_or_else(|| LoadError::Unknown {
                origin: origin(),
                name: directive.name.clone(),
            })?;
            let words: Vec<&[u8]> = directive.words.iter().map(Vec::as_slice).collect();
            let value =
                row.kind
                    .parse(&words, Some(self.value(row.id)))
                    .map_err(|why| LoadError::Refused {
                        origin: origin(),
                        name: directive.name.clone(),
                        why: why.into_owned(),
                    })?;
            self.values[row.id as usize] = value;
            self.told[row.id as usize] = true;
        }
        self.settle_durability();
        Ok(())
    }
}
