//! Looks once a second whether the files are still those that were read, on a thread of its own.
//!
//! Kubernetes changes a secret by turning a link to another folder, certificate managers replace files: either way
//! what is behind the path is another file afterwards, or the same one with another time.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::current::Tls;
use super::files;
use super::settings::Settings;

const LOOK: Duration = Duration::from_secs(1);

/// Device, number, bytes, times of the last write and the last change.
type Print = Option<(u64, u64, u64, [i64; 4])>;

/// Tells other files from these.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Prints(Vec<Print>);

pub(super) fn prints(settings: &Settings) -> Prints {
    let files = [
        &settings.cert_file,
        &settings.key_file,
        &settings.client_cert_file,
        &settings.client_key_file,
        &settings.ca_cert_file,
        &settings.ca_cert_dir,
    ];
    let mut paths: Vec<String> = files
        .into_iter()
        .filter(|path| !path.is_empty())
        .cloned()
        .collect();
    if !settings.ca_cert_dir.is_empty() {
        // One that cannot be read is seen as another when it can.
        paths.extend(files::files_of(&settings.ca_cert_dir).unwrap_or_default());
    }
    Prints(paths.iter().map(|path| print(path)).collect())
}

fn print(path: &str) -> Print {
    let found = fs::metadata(path).ok()?;
    let times = [
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ];
    Some((found.dev(), found.ino(), found.size(), times))
}

/// Ends when nobody else has it any more.
pub(super) fn start(tls: &Arc<Tls>) -> std::io::Result<()> {
    let tls = Arc::downgrade(tls);
    let thread = std::thread::Builder::new().name("tls".to_owned());
    thread.spawn(move || look(&tls)).map(drop)
}

fn look(tls: &Weak<Tls>) {
    loop {
        std::thread::sleep(LOOK);
        let Some(tls) = tls.upgrade() else { return };
        tls.look();
    }
}
