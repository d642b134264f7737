//! Lines of figures with their targets, as one markdown table and as JSON.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::contest::{Figure, Pair, Settings};

/// What a line has to reach.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// Subject divided by reference.
    RatioAtLeast(f64),
    RatioAtMost(f64),
    /// The subject's own figure.
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn text(self) -> String {
        match self {
            Self::RatioAtLeast(x) => format!("≥ {x}×"),
            Self::RatioAtMost(x) => format!("≤ {x}×"),
            Self::AtLeast(x) => format!("≥ {x}"),
            Self::AtMost(x) => format!("≤ {x}"),
        }
    }

    fn is_met(self, reference: f64, subject: f64) -> bool {
        match self {
            Self::RatioAtLeast(x) => subject >= x * reference,
            Self::RatioAtMost(x) => subject <= x * reference,
            Self::AtLeast(x) => subject >= x,
            Self::AtMost(x) => subject <= x,
        }
    }
}

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Line {
    what: String,
    unit: &'static str,
    /// None: the line could not be measured; `note` says why.
    figures: Option<Pair<f64>>,
    target: Option<Target>,
    note: String,
}

impl Line {
    pub fn new(what: &str, unit: &'static str, figures: Pair<f64>, target: Option<Target>) -> Self {
        Self {
            what: what.to_owned(),
            unit,
            figures: Some(figures),
            target,
            note: String::new(),
        }
    }

    pub fn failed(what: &str, error: &anyhow::Error) -> Self {
        let note = format!("{error:#}").replace('|', "/").replace('\n', " ");
        Self {
            what: what.to_owned(),
            unit: "",
            figures: None,
            target: None,
            note,
        }
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// None where nothing was asked.
    pub fn is_met(&self) -> Option<bool> {
        match (self.figures, self.target) {
            (None, _) => Some(false),
            (Some(_), None) => None,
            (Some(f), Some(target)) => Some(target.is_met(f.reference, f.subject)),
        }
    }

    fn markdown(&self) -> String {
        let mark = match self.is_met() {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "",
        };
        let target = self.target.map(Target::text).unwrap_or_default();
        let [reference, subject, ratio] = match self.figures {
            Some(f) => [number(f.reference), number(f.subject), ratio(f)],
            None => ["–".to_owned(), "–".to_owned(), String::new()],
        };
        let Self { what, unit, note, .. } = self;
        format!("| {what} | {unit} | {reference} | {subject} | {ratio} | {target} | {mark} | {note} |")
    }

    fn json(&self) -> Value {
        json!({
            "what": self.what,
            "unit": self.unit,
            "reference": self.figures.map(|f| f.reference),
            "subject": self.figures.map(|f| f.subject),
            "target": self.target.map(Target::text),
            "met": self.is_met(),
            "note": self.note,
        })
    }
}

/// The two lines of a contest: throughput, and the server's CPU a request.
pub fn contest_lines(what: &str, pair: Pair<Figure>, rate: Option<Target>, cpu: Option<Target>) -> [Line; 2] {
    let percent = |share: fn(&Figure) -> f64| {
        format!(
            "{:.0}/{:.0} %",
            share(&pair.reference) * 100.0,
            share(&pair.subject) * 100.0
        )
    };
    let of = |field: fn(&Figure) -> f64| Pair {
        reference: field(&pair.reference),
        subject: field(&pair.subject),
    };
    let busy = format!(
        "server busy {}, waited for its core {}",
        percent(|f| f.busy),
        percent(|f| f.waited)
    );
    let load = match (pair.reference.load_us, pair.subject.load_us) {
        (0.0, _) => String::new(),
        (reference, subject) => {
            let waited = percent(|f| f.load_waited);
            format!("load's own {reference:.2}/{subject:.2} µs, waited for its core {waited}")
        }
    };
    [
        Line::new(what, "requests/s", of(|f| f.requests_per_second), rate).note(busy),
        Line::new(what, "CPU µs/request", of(|f| f.cpu_us), cpu).note(load),
    ]
}

fn ratio(f: Pair<f64>) -> String {
    if f.reference == 0.0 {
        String::new()
    } else {
        format!("{:.2}×", f.subject / f.reference)
    }
}

fn number(x: f64) -> String {
    match x.abs() {
        a if a >= 10_000.0 => format!("{:.1} k", x / 1000.0),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

/// A finished row of part D.
pub struct Report {
    pub row: &'static str,
    pub title: &'static str,
    pub lines: Vec<Line>,
}

/// Who took part, for the heads of the tables.
pub struct Heading {
    pub reference: String,
    pub subject: String,
    pub machine: String,
}

impl Report {
    pub fn markdown(&self, heading: &Heading, settings: &Settings) -> String {
        let mut text = format!("## {}: {}\n\n", self.row.to_uppercase(), self.title);
        let Heading {
            reference,
            subject,
            machine,
        } = heading;
        let seconds = settings.time.as_secs_f64();
        let _ = writeln!(
            text,
            "{machine}; medians of {} alternating rounds, {seconds} s each.\n",
            settings.rounds
        );
        let _ = writeln!(
            text,
            "| what | unit | {reference} | {subject} | ratio | target | | |"
        );
        text.push_str("|---|---|--:|--:|--:|--:|---|---|\n");
        for line in &self.lines {
            text.push_str(&line.markdown());
            text.push('\n');
        }
        text
    }

    pub fn write(&self, directory: &Path, heading: &Heading, settings: &Settings) -> Result<()> {
        std::fs::create_dir_all(directory)?;
        let json = json!({
            "row": self.row,
            "title": self.title,
            "reference": heading.reference,
            "subject": heading.subject,
            "machine": heading.machine,
            "rounds": settings.rounds,
            "seconds": settings.time.as_secs_f64(),
            "lines": self.lines.iter().map(Line::json).collect::<Vec<_>>(),
        });
        let json = serde_json::to_string_pretty(&json)? + "\n";
        for (extension, text) in [("md", self.markdown(heading, settings)), ("json", json)] {
            let path = directory.join(self.row).with_extension(extension);
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    pub fn missed(&self) -> usize {
        self.lines
            .iter()
            .filter(|line| line.is_met() == Some(false))
            .count()
    }
}

/// Processor, kernel and cores, as far as figures need them.
pub fn machine() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let cores = cpuinfo
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{}, {cores} cores, Linux {}",
        model.unwrap_or("unknown processor"),
        kernel.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_judged_by_its_target() {
        let line =
            |reference, subject, target| Line::new("x", "s", Pair { reference, subject }, Some(target));
        assert_eq!(line(2.0, 5.0, Target::RatioAtLeast(2.5)).is_met(), Some(true));
        assert_eq!(line(2.0, 4.9, Target::RatioAtLeast(2.5)).is_met(), Some(false));
        assert_eq!(line(2.0, 0.9, Target::RatioAtMost(0.5)).is_met(), Some(true));
        assert_eq!(line(0.0, 21.0, Target::AtMost(20.0)).is_met(), Some(false));
        assert_eq!(line(0.0, 0.9, Target::AtLeast(0.85)).is_met(), Some(true));
        assert_eq!(Line::failed("x", &anyhow::anyhow!("a|b")).is_met(), Some(false));
        let text = line(400_000.0, 1_000_000.0, Target::RatioAtLeast(2.5)).markdown();
        assert_eq!(text, "| x | s | 400.0 k | 1000.0 k | 2.50× | ≥ 2.5× | ✓ |  |");
    }
}
