//! What is known of an option.

use super::{Id, Kind, ROWS};

/// For whom an option is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Someone here reads it.
    Used,
    /// Nothing here does what it is about; kept so that configurations written for others work.
    Kept,
}

#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// `CONFIG SET` may change it.
    pub live: bool,
    pub alias: Option<&'static str>,
    /// Its value is kept out of logs.
    pub secret: bool,
    pub place: Place,
    /// Valkey does not have it.
    pub ours: bool,
    /// `CONFIG GET` shows it only by its whole name.
    pub hidden: bool,
    /// `CONFIG SET` may name it with the value that it has.
    pub restated: bool,
}

pub(super) const FIXED: Facts = Facts {
    live: false,
    alias: None,
    secret: false,
    place: Place::Used,
    ours: false,
    hidden: false,
    restated: false,
};
pub(super) const LIVE: Facts = Facts { live: true, ..FIXED };

impl Facts {
    pub(super) const fn alias(mut self, name: &'static str) -> Self {
        self.alias = Some(name);
        self
    }
    pub(super) const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
    pub(super) const fn kept(mut self) -> Self {
        self.place = Place::Kept;
        self
    }
    pub(super) const fn ours(mut self) -> Self {
        self.ours = true;
        self.restated = true;
        self
    }
    pub(super) const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
    pub(super) const fn restated(mut self) -> Self {
        self.restated = true;
        self
    }
}

impl Id {
    /// Certificates, and who has to show one.
    pub fn is_of_tls(self) -> bool {
        let row = &ROWS[self as usize];
        row.name.starts_with("tls-") && row.facts.live && row.facts.place == Place::Used
    }
}

pub struct Row {
    pub id: Id,
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub facts: Facts,
    pub summary: &'static str,
}

impl Row {
    /// By name or alias, in any case.
    pub fn find(name: &[u8]) -> Option<&'static Row> {
        Self::find_name(name).map(|(row, _)| row)
    }

    /// The row, and which of its names was given.
    pub fn find_name(name: &[u8]) -> Option<(&'static Row, &'static str)> {
        ROWS.iter().find_map(|row| {
            row.names()
                .find(|known| known.as_bytes().eq_ignore_ascii_case(name))
                .map(|known| (row, known))
        })
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.name].into_iter().chain(self.facts.alias)
    }
}
