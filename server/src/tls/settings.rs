//! What the options say of TLS.

use ruvio_core::options::{Id, Options};

use super::fault::Fault;

/// Whether clients have to show a certificate, in the order of the option's choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clients {
    Any,
    Certified,
    /// One that shows a certificate has to show a good one.
    Either,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    pub cert_file: String,
    pub key_file: String,
    /// As a client of other nodes. Empty: the same as above.
    pub client_cert_file: String,
    pub client_key_file: String,
    pub ca_cert_file: String,
    pub ca_cert_dir: String,
    pub clients: Clients,
    /// Empty: all that there are.
    pub versions: Vec<Version>,
    pub prefers_own_ciphers: bool,
    /// Sessions that are kept so that clients come back faster; 0: none.
    pub sessions: usize,
    /// Nodes speak TLS to each other, and to those who administer them.
    pub among_nodes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    Tls12,
    Tls13,
}

impl Settings {
    /// `None`: no TLS is wanted.
    pub fn read(options: &Options) -> Result<Option<Self>, Fault> {
        let text = |id: Id| String::from_utf8_lossy(options.text(id)).into_owned();
        let has_port = [Id::TlsPort, Id::RoutedTlsPort]
            .iter()
            .any(|id| options.number(*id) != 0);
        let among_nodes = options.flag(Id::TlsCluster);
        let is_member = options.flag(Id::ClusterEnabled);
        if options.flag(Id::TlsReplication) && !among_nodes {
            return Err(Fault::Replication);
        }
        if among_nodes && is_member && options.number(Id::TlsPort) == 0 {
            return Err(Fault::ClusterWithoutPort);
        }
        if is_member && options.port() == 0 && options.number(Id::TlsPort) != 0 && !among_nodes {
            return Err(Fault::NoPlainPort);
        }
        if !has_port && !among_nodes {
            return Ok(None);
        }
        let versions = text(Id::TlsProtocols);
        Ok(Some(Self {
            cert_file: text(Id::TlsCertFile),
            key_file: text(Id::TlsKeyFile),
            client_cert_file: text(Id::TlsClientCertFile),
            client_key_file: text(Id::TlsClientKeyFile),
            ca_cert_file: text(Id::TlsCaCertFile),
            ca_cert_dir: text(Id::TlsCaCertDir),
            clients: match options.number(Id::TlsAuthClients) {
                0 => Clients::Any,
                1 => Clients::Certified,
                _ => Clients::Either,
            },
            versions: versions
                .split_ascii_whitespace()
                .map(version)
                .collect::<Result<_, _>>()?,
            prefers_own_ciphers: options.flag(Id::TlsPreferServerCiphers),
            sessions: match options.flag(Id::TlsSessionCaching) {
                true => options.count(Id::TlsSessionCacheSize),
                false => 0,
            },
            among_nodes,
        }))
    }

    /// Certificate and key as a client, and the options that name them.
    pub(super) fn own_as_client(&self) -> [(&'static str, &str); 2] {
        match self.client_cert_file.is_empty() {
            true => self.own(),
            false => [
                ("tls-client-cert-file", &self.client_cert_file),
                ("tls-client-key-file", &self.client_key_file),
            ],
        }
    }

    pub(super) fn own(&self) -> [(&'static str, &str); 2] {
        [
            ("tls-cert-file", &self.cert_file),
            ("tls-key-file", &self.key_file),
        ]
    }
}

fn version(word: &str) -> Result<Version, Fault> {
    match word {
        _ if word.eq_ignore_ascii_case("TLSv1.2") => Ok(Version::Tls12),
        _ if word.eq_ignore_ascii_case("TLSv1.3") => Ok(Version::Tls13),
        other => Err(Fault::Version(other.to_owned())),
    }
}
