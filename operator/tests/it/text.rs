//! Files of the repository that are made from code, or read by tests.

use std::path::{Path, PathBuf};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares with a file of the repository; `UPDATE=1` writes it instead.
pub fn assert_is(file: &str, text: &str) {
    let path = repository().join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        std::fs::write(&path, text).expect("the file is written");
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    if there != text {
        let line = there
            .lines()
            .zip(text.lines())
            .take_while(|(a, b)| a == b)
            .count();
        panic!(
            "{file} is not what the code makes, from line {} on:\n  there: {}\n  made:  {}\nUPDATE=1 cargo test -p ruvio-operator writes it",
            line + 1,
            there.lines().nth(line).unwrap_or("(end)"),
            text.lines().nth(line).unwrap_or("(end)"),
        );
    }
}
