//! How writes are kept: `durability`, and Valkey's two options for the same, so that configurations written
//! for it mean here what they meant there.
//!
//! Invariant: the three never contradict each other, whichever of them was given.

use super::kind::Value;
use super::{Id, Options};

/// When a write is acknowledged. In the order of the option's choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Once it is executed: it is kept nowhere.
    Memory,
    /// Once it survives the process.
    Everysec,
    /// Once it survives the machine.
    Always,
}

/// `appendfsync`, in the order of its choices.
const FSYNC_EVERYSEC: i64 = 0;
const FSYNC_ALWAYS: i64 = 1;

const FIXED: &str =
    "whether writes are kept is chosen at the start: restart the server with another durability";
const AGREED: &str =
    "nodes of a cluster agree by the durability that they were started with: restart them one by one";
const CONTRADICTION: &str = "durability says otherwise: give one of the two";

impl Options {
    pub fn durability(&self) -> Durability {
        match self.number(Id::Durability) {
            0 => Durability::Memory,
            1 => Durability::Everysec,
            _ => Durability::Always,
        }
    }

    /// Makes one of the three options that say the same. `durability` counts where it was given; else
    /// `appendonly` says whether writes are kept at all, and `appendfsync` how. Whoever wants snapshots wants to keep
    /// what is written, whatever `appendonly` says.
    pub(super) fn settle_durability(&mut self) {
        let told = |id: Id| self.told[id as usize];
        let always = self.number(Id::AppendFsync) == FSYNC_ALWAYS;
        let keeps = match told(Id::AppendOnly) {
            true => self.flag(Id::AppendOnly) || self.wants_snapshots(),
            false => self.durability() != Durability::Memory,
        };
        let durability = match (keeps, always) {
            _ if told(Id::Durability) => self.durability(),
            (false, _) => Durability::Memory,
            (true, true) => Durability::Always,
            (true, false) => Durability::Everysec,
        };
        self.put_number(Id::Durability, durability as i64);
        self.put_number(Id::AppendOnly, i64::from(durability != Durability::Memory));
        match durability {
            // Nothing is synced: what was said stays as it was said.
            Durability::Memory => {}
            Durability::Everysec => self.put_number(Id::AppendFsync, FSYNC_EVERYSEC),
            Durability::Always => self.put_number(Id::AppendFsync, FSYNC_ALWAYS),
        }
    }

    /// `save` names points.
    pub fn wants_snapshots(&self) -> bool {
        !self.shown_by(Id::Save).is_empty()
    }

    /// After `CONFIG SET` of these options, `before` being what held: the others follow. A log is neither begun nor
    /// left while the server runs.
    pub(super) fn follow_durability(
        &mut self,
        before: Durability,
        ids: &[Id],
    ) -> Result<(), (Id, &'static str)> {
        let kept = before != Durability::Memory;
        let durability = self.durability();
        if (durability != Durability::Memory) != kept {
            return Err((Id::Durability, FIXED));
        }
        if self.flag(Id::AppendOnly) != kept {
            return Err((Id::AppendOnly, FIXED));
        }
        if !kept {
            return Ok(());
        }
        let always = self.number(Id::AppendFsync) == FSYNC_ALWAYS;
        let said = if always {
            Durability::Always
        } else {
            Durability::Everysec
        };
        let durability = match (ids.contains(&Id::AppendFsync), ids.contains(&Id::Durability)) {
            (true, true) if said != durability => return Err((Id::AppendFsync, CONTRADICTION)),
            (true, _) => said,
            (false, _) => durability,
        };
        if durability != before && self.flag(Id::ClusterEnabled) {
            return Err((Id::Durability, AGREED));
        }
        self.put_number(Id::Durability, durability as i64);
        self.put_number(
            Id::AppendFsync,
            match durability {
                Durability::Always => FSYNC_ALWAYS,
                Durability::Memory | Durability::Everysec => FSYNC_EVERYSEC,
            },
        );
        Ok(())
    }

    fn put_number(&mut self, id: Id, number: i64) {
        self.values[id as usize] = Value::Number(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ROWS;
    use crate::options::text::parse_file;

    fn shown(text: &str) -> String {
        let mut options = Options::default();
        // One after the other, as a file, the environment and flags are read.
        for line in text.split(';') {
            let directives = parse_file(line.as_bytes(), "node.conf").expect("words");
            options.load(&directives).expect("known options");
        }
        let ids = [Id::Durability, Id::AppendOnly, Id::AppendFsync];
        ids.map(|id| options.shown_by(id)).join(" ")
    }

    #[test]
    fn what_configurations_for_others_say_is_done() {
        assert_eq!(shown(""), "everysec yes everysec", "what is written is kept");
        assert_eq!(shown("appendfsync always"), "always yes always");
        assert_eq!(shown("appendonly no"), "memory no everysec");
        assert_eq!(shown("appendonly yes"), "everysec yes everysec");
        assert_eq!(shown("appendonly yes;appendfsync always"), "always yes always");
        assert_eq!(shown("appendfsync always;appendonly yes"), "always yes always");
        assert_eq!(shown("appendonly yes;appendfsync no"), "everysec yes everysec");
        assert_eq!(shown("appendonly no;appendfsync always"), "memory no always");
        assert_eq!(shown("appendonly yes;appendonly no"), "memory no everysec");
        assert_eq!(shown("appendonly no;save 900 1"), "everysec yes everysec");
        assert_eq!(shown("save 900 1;appendonly no"), "everysec yes everysec");
        assert_eq!(shown("appendonly no;save \"\""), "memory no everysec");
        assert_eq!(shown("save 900 1;durability memory"), "memory no everysec");
    }

    #[test]
    fn durability_counts_where_it_was_given() {
        assert_eq!(shown("durability always"), "always yes always");
        assert_eq!(
            shown("durability everysec;appendonly no;appendfsync always"),
            "everysec yes everysec"
        );
        assert_eq!(shown("appendonly yes;durability memory"), "memory no everysec");
    }

    /// What the three say after `CONFIG SET`, or why not.
    fn changed(start: &str, pairs: &str) -> String {
        let mut options = Options::default();
        let directives = parse_file(start.as_bytes(), "node.conf").expect("words");
        options.load(&directives).expect("known options");
        let pairs: Vec<&[u8]> = pairs.split(' ').map(str::as_bytes).collect();
        let before = options.clone();
        if let Err(error) = options.change(&pairs) {
            assert_eq!(options.values, before.values, "nothing has changed");
            return error.text().to_string();
        }
        let ids = [Id::Durability, Id::AppendOnly, Id::AppendFsync];
        ids.map(|id| options.shown_by(id)).join(" ")
    }

    #[test]
    fn between_modes_that_have_a_log_it_changes_while_the_server_runs() {
        assert_eq!(changed("", "appendfsync always"), "always yes always");
        assert_eq!(changed("", "durability always"), "always yes always");
        assert_eq!(
            changed("durability always", "appendfsync everysec"),
            "everysec yes everysec"
        );
        assert_eq!(
            changed("durability always", "appendfsync no"),
            "everysec yes everysec"
        );
        assert_eq!(
            changed("appendfsync always", "durability everysec"),
            "everysec yes everysec"
        );
        assert_eq!(
            changed("", "appendonly yes durability always appendfsync always"),
            "always yes always"
        );
        assert!(changed("", "durability always appendfsync everysec").ends_with(CONTRADICTION));
        for (start, pairs) in [
            ("", "durability memory"),
            ("", "appendonly no"),
            ("durability memory", "durability always"),
            ("durability memory", "appendonly yes"),
        ] {
            assert!(changed(start, pairs).ends_with(FIXED), "{pairs}");
        }
        assert_eq!(
            changed("durability memory", "appendfsync always"),
            "memory no always",
            "there is nothing to sync"
        );
    }

    #[test]
    fn defaults_say_the_same() {
        let mut options = Options::default();
        options.settle_durability();
        for row in ROWS {
            assert_eq!(options.shown(row), Options::default().shown(row), "{}", row.name);
        }
    }
}
