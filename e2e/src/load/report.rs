//! What a run came to.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::Counts;

#[derive(Debug, Default)]
pub struct Report {
    pub asked: Counts,
    /// Objects whose history was judged.
    pub objects: u64,
    pub violations: Vec<Violation>,
    /// Replies that no documentation knows, and how often they came.
    pub odd: BTreeMap<String, u64>,
    /// The longest time in which nobody was answered.
    pub silent: Duration,
    pub lasted: Duration,
}

#[derive(Debug)]
pub struct Violation {
    pub key: String,
    pub what: String,
    pub saved: PathBuf,
}

impl Violation {
    /// Keeps the history where it can be read later.
    pub fn save(key: &str, what: String, history: &str) -> Violation {
        let name: String = key
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let saved = std::env::temp_dir().join(format!("ruvio-history-{}-{name}", std::process::id()));
        let text = format!("{key}: {what}\n\ninvoked us, returned us\n{history}");
        if let Err(error) = std::fs::write(&saved, text) {
            eprintln!("the history of {key} cannot be saved: {error}\n{history}");
        }
        Violation {
            key: key.to_owned(),
            what,
            saved,
        }
    }
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty() && self.odd.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} operations answered, {} refused, {} of unknown outcome, on {} objects in {:.0} s; \
             nobody was answered for {:.1} s at the most",
            self.asked.done,
            self.asked.refused,
            self.asked.unknown,
            self.objects,
            self.lasted.as_secs_f64(),
            self.silent.as_secs_f64()
        )?;
        for (reply, count) in &self.odd {
            writeln!(f, "{count} times an odd reply: {reply}")?;
        }
        for violation in &self.violations {
            writeln!(
                f,
                "VIOLATION of {}, its history is in {}: {}",
                violation.key,
                violation.saved.display(),
                violation.what
            )?;
        }
        Ok(())
    }
}
