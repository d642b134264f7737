//! The repository's own text files, and their code without comments.

use std::process::Command;

use ruvio_e2e::server::repository;

pub struct Source {
    /// Relative to the repository, with forward slashes.
    pub path: String,
    pub text: String,
}

impl Source {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The `//!` lines at the top.
    pub fn header(&self) -> String {
        self.text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The lines with their `//` comments cut off. A `//` inside a string cuts too: the rules look
    /// at paths and macros, which such a line does not hide.
    pub fn code_lines(&self) -> impl Iterator<Item = String> {
        self.text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default().to_owned())
    }

    /// The code with its texts emptied, so that what they say counts for nothing.
    pub fn code(&self) -> String {
        let outside = |line: String| line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
        self.code_lines().map(outside).collect::<Vec<_>>().join("\n")
    }
}

/// All that git tracks or would track, as far as it is text.
pub fn sources() -> Vec<Source> {
    let root = repository();
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .expect("git lists the files");
    assert!(
        listed.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let names = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    let mut sources = Vec::new();
    for path in names
        .split('\0')
        .filter(|n| !n.is_empty() && !n.ends_with("Cargo.lock"))
    {
        // A file that is deleted but not yet committed, or is not text, has no rules to keep.
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            sources.push(Source {
                path: path.to_owned(),
                text,
            });
        }
    }
    sources
}
