//! Certificates for servers, nodes and clients, made as they are needed.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

use crate::server::scratch_dir;

/// Somebody who signs certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub struct Pair {
    pub cert: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// For these hosts. `name`: what it is called itself.
    pub fn sign(&self, name: &str, hosts: &[String]) -> Result<Pair> {
        self.sign_until(name, hosts, 4000)
    }

    pub fn sign_expired(&self, name: &str, hosts: &[String]) -> Result<Pair> {
        self.sign_until(name, hosts, 2020)
    }

    fn sign_until(&self, name: &str, hosts: &[String], year: i32) -> Result<Pair> {
        let mut params = CertificateParams::new(hosts.to_vec())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate()?;
        Ok(Pair {
            cert: params.signed_by(&key, &self.0)?.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// A folder with certificates, which goes with it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Result<Self> {
        Ok(Self(scratch_dir()?))
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// In one step: whoever reads it sees what was there before, or this.
    pub fn put(&self, name: &str, text: &str) -> Result<String> {
        let (path, beside) = (self.0.join(name), self.0.join(format!("{name}.new")));
        std::fs::write(&beside, text)?;
        std::fs::rename(&beside, &path)?;
        Ok(self.path(name))
    }

    /// `name.crt` and `name.key`.
    pub fn put_pair(&self, name: &str, pair: &Pair) -> Result<()> {
        self.put(&format!("{name}.key"), &pair.key)?;
        self.put(&format!("{name}.crt"), &pair.cert)?;
        Ok(())
    }

    /// Options of whoever is called `name`, and trusts `ca.crt`.
    pub fn flags(&self, name: &str) -> Vec<String> {
        let flags = [
            ("--tls-cert-file", format!("{name}.crt")),
            ("--tls-key-file", format!("{name}.key")),
            ("--tls-ca-cert-file", "ca.crt".to_owned()),
        ];
        let flags = flags.into_iter();
        flags
            .flat_map(|(flag, file)| [flag.to_owned(), self.path(&file)])
            .collect()
    }

    pub fn dir(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
