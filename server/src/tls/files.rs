//! Certificates and keys out of files of PEM.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::fault::Fault;
use super::validity::{self, Validity};

/// Of a file: a bundle of all authorities of the world is a twentieth of it.
const FILE_BYTES_MAX: u64 = 4 << 20;

type Chain = Vec<CertificateDer<'static>>;

/// The certificates of a file, in their order.
pub(super) fn chain(option: &'static str, path: &str) -> Result<Chain, Fault> {
    let found = certificates(option, path)?;
    match found.is_empty() {
        true => Err(Fault::NoCertificate {
            option,
            path: path.to_owned(),
        }),
        false => Ok(found),
    }
}

fn certificates(option: &'static str, path: &str) -> Result<Chain, Fault> {
    let text = read(option, path)?;
    CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|why| not_pem(option, path, &why))
}

/// The first private key of a file.
pub(super) fn key(option: &'static str, path: &str) -> Result<PrivateKeyDer<'static>, Fault> {
    let text = read(option, path)?;
    let path = || path.to_owned();
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) if is_locked(&text) => Err(Fault::LockedKey { option, path: path() }),
        Err(pem::Error::NoItemsFound) => Err(Fault::NoKey { option, path: path() }),
        Err(why) => Err(not_pem(option, &path(), &why)),
    }
}

fn is_locked(text: &[u8]) -> bool {
    let has = |mark: &[u8]| text.windows(mark.len()).any(|part| part == mark);
    has(b"BEGIN ENCRYPTED PRIVATE KEY") || has(b"Proc-Type: 4,ENCRYPTED")
}

pub(super) struct Authorities {
    pub roots: Arc<RootCertStore>,
    /// Of the one that ends first.
    pub holds: Option<Validity>,
}

/// All certificates of the file and of the folder's files; `None` where neither is named.
pub(super) fn authorities(file: &str, folder: &str) -> Result<Option<Authorities>, Fault> {
    let mut roots = RootCertStore::empty();
    let mut holds: Option<Validity> = None;
    let mut add = |option, path: &str, found: Chain| {
        for certificate in found {
            let other = validity::of(&certificate);
            let ends = |holds: &Option<Validity>| holds.as_ref().map_or(i64::MAX, |holds| holds.until);
            if ends(&other) < ends(&holds) {
                holds = other;
            }
            roots.add(certificate).map_err(|why| Fault::BadCertificate {
                option,
                path: path.to_owned(),
                why: why.to_string(),
            })?;
        }
        Ok(())
    };
    if !file.is_empty() {
        add("tls-ca-cert-file", file, chain("tls-ca-cert-file", file)?)?;
    }
    if !folder.is_empty() {
        let option = "tls-ca-cert-dir";
        for path in files_of(folder).map_err(|why| unread(option, folder, &why))? {
            add(option, &path, certificates(option, &path)?)?;
        }
        if roots.is_empty() {
            return Err(Fault::NoCertificate {
                option,
                path: folder.to_owned(),
            });
        }
    }
    let is_named = !file.is_empty() || !folder.is_empty();
    let roots = Arc::new(roots);
    Ok(is_named.then_some(Authorities { roots, holds }))
}

/// In the order of their names.
pub(super) fn files_of(folder: &str) -> std::io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if fs::metadata(&path).is_ok_and(|found| found.is_file()) {
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn read(option: &'static str, path: &str) -> Result<Vec<u8>, Fault> {
    let fail = |why: std::io::Error| unread(option, path, &why);
    let bytes = fs::metadata(Path::new(path)).map_err(fail)?.len();
    if bytes > FILE_BYTES_MAX {
        let why = format!("it has {bytes} bytes");
        return Err(not_pem(option, path, &why));
    }
    fs::read(path).map_err(fail)
}

fn unread(option: &'static str, path: &str, why: &std::io::Error) -> Fault {
    let why = why.to_string();
    Fault::Unread {
        option,
        path: path.to_owned(),
        why: why.split(" (os error").next().unwrap_or_default().to_owned(),
    }
}

fn not_pem(option: &'static str, path: &str, why: &dyn std::fmt::Display) -> Fault {
    Fault::NotPem {
        option,
        path: path.to_owned(),
        why: why.to_string(),
    }
}
