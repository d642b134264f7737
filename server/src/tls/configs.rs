//! What handshakes go by, made of the files that the options name.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{
    ClientCertVerifierBuilder, NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier,
};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, InconsistentKeys, RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::fault::Fault;
use super::settings::{Clients, Settings, Version};
use super::validity::Validity;
use super::{files, validity};

/// Of HTTP/2, which gRPC speaks.
const HTTP2: &[u8] = b"h2";

pub(super) struct Configs {
    /// For the clients of `tls-port` and `routed-tls-port`.
    pub clients: Arc<ServerConfig>,
    /// Where nodes speak TLS to each other.
    pub nodes: Option<Nodes>,
    /// From when and until when they hold: the certificate, the one as a client if it is another, and that of the
    /// authority which ends first.
    pub holds: [Option<Validity>; 3],
}

pub(super) struct Nodes {
    /// For peers and those who administer the node: both sides show certificates.
    pub served: Arc<ServerConfig>,
    /// To other nodes' peer ports,
    pub dialled: Arc<ClientConfig>,
    /// and to their ports for clients.
    pub linked: Arc<ClientConfig>,
    /// Of a certificate of its own for that.
    holds: Option<Validity>,
}

/// A chain and its key, and the files they are from.
struct Own<'s> {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    cert_path: &'s str,
    key_path: &'s str,
    holds: Option<Validity>,
}

/// Reads all files anew.
pub(super) fn read(settings: &Settings) -> Result<Configs, Fault> {
    let provider = Arc::new(ring::default_provider());
    let own = Own::read(settings.own())?;
    let authorities = files::authorities(&settings.ca_cert_file, &settings.ca_cert_dir)?;
    let (roots, of_authority) = authorities.map(|found| (found.roots, found.holds)).unzip();
    let versions = versions(settings);
    let of_server = own.holds.clone();
    let nodes = match settings.among_nodes {
        false => None,
        true => {
            let roots = roots.clone().ok_or(Fault::NoAuthority {
                wants: "tls-cluster yes",
                or: "",
            })?;
            Some(nodes(settings, &provider, &versions, &own, &roots)?)
        }
    };
    let verifier = |wants, or| {
        let roots = roots.clone().ok_or(Fault::NoAuthority { wants, or })?;
        Ok(WebPkiClientVerifier::builder_with_provider(
            roots,
            Arc::clone(&provider),
        ))
    };
    let verifier = match settings.clients {
        Clients::Any => None,
        Clients::Certified => Some(verifier("tls-auth-clients yes", ", or say tls-auth-clients no")?),
        Clients::Either => {
            let either = verifier("tls-auth-clients optional", ", or say tls-auth-clients no")?;
            Some(either.allow_unauthenticated())
        }
    };
    let mut clients = server(&provider, &versions, verifier, own)?;
    clients.ignore_client_order = settings.prefers_own_ciphers;
    clients.session_storage = match settings.sessions {
        0 => Arc::new(NoServerSessionStorage {}),
        sessions => ServerSessionMemoryCache::new(sessions),
    };
    let of_client = nodes.as_ref().and_then(|nodes| nodes.holds.clone());
    Ok(Configs {
        clients: Arc::new(clients),
        nodes,
        holds: [of_server, of_client, of_authority.flatten()],
    })
}

fn versions(settings: &Settings) -> Vec<&'static SupportedProtocolVersion> {
    let wanted = |version| settings.versions.is_empty() || settings.versions.contains(&version);
    let all = [(Version::Tls13, &TLS13), (Version::Tls12, &TLS12)];
    let wanted = all.into_iter().filter(|(version, _)| wanted(*version));
    wanted.map(|(_, version)| version).collect()
}

fn nodes(
    settings: &Settings,
    provider: &Arc<CryptoProvider>,
    versions: &[&'static SupportedProtocolVersion],
    own: &Own<'_>,
    roots: &Arc<RootCertStore>,
) -> Result<Nodes, Fault> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider));
    let mut served = server(provider, versions, Some(verifier), own.again())?;
    served.alpn_protocols = vec![HTTP2.to_vec()];
    let as_client = Own::read(settings.own_as_client())?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider));
    let verifier = verifier.build().map_err(|why| Fault::Other(why.to_string()))?;
    let linked = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(versions)
        .map_err(|why| Fault::Other(why.to_string()))?
        .with_webpki_verifier(verifier)
        .with_client_auth_cert(as_client.chain.clone(), as_client.key.clone_key())
        .map_err(|why| as_client.unfit(&why))?;
    let mut dialled = linked.clone();
    dialled.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(Nodes {
        served: Arc::new(served),
        dialled: Arc::new(dialled),
        linked: Arc::new(linked),
        holds: as_client.holds.filter(|_| !settings.client_cert_file.is_empty()),
    })
}

/// Without a verifier nobody has to show a certificate.
fn server(
    provider: &Arc<CryptoProvider>,
    versions: &[&'static SupportedProtocolVersion],
    verifier: Option<ClientCertVerifierBuilder>,
    own: Own<'_>,
) -> Result<ServerConfig, Fault> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(versions)
        .map_err(|why| Fault::Other(why.to_string()))?;
    let builder = match verifier {
        None => builder.with_no_client_auth(),
        Some(verifier) => {
            let verifier = verifier.build().map_err(|why| Fault::Other(why.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    builder
        .with_single_cert(own.chain.clone(), own.key.clone_key())
        .map_err(|why| own.unfit(&why))
}

impl<'s> Own<'s> {
    fn read([cert, key]: [(&'static str, &'s str); 2]) -> Result<Self, Fault> {
        for (option, path) in [cert, key] {
            if path.is_empty() {
                let wants = "TLS";
                return Err(Fault::Unset { option, wants });
            }
        }
        let chain = files::chain(cert.0, cert.1)?;
        let holds = check_time(cert, &chain)?;
        Ok(Self {
            key: files::key(key.0, key.1)?,
            chain,
            cert_path: cert.1,
            key_path: key.1,
            holds,
        })
    }

    fn again(&self) -> Self {
        Self {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
            holds: self.holds.clone(),
            ..*self
        }
    }

    fn unfit(&self, why: &rustls::Error) -> Fault {
        match why {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => Fault::OtherKey {
                key: self.key_path.to_owned(),
                cert: self.cert_path.to_owned(),
            },
            rustls::Error::InvalidCertificate(why) => Fault::BadCertificate {
                option: "tls-cert-file",
                path: self.cert_path.to_owned(),
                why: why.to_string(),
            },
            why => Fault::BadKey {
                option: "tls-key-file",
                path: self.key_path.to_owned(),
                why: why.to_string(),
            },
        }
    }
}

/// From when until when the first of the chain holds, if it holds now.
fn check_time(
    (option, path): (&'static str, &str),
    chain: &[CertificateDer<'static>],
) -> Result<Option<Validity>, Fault> {
    let Some(found) = chain.first().and_then(|first| validity::of(first)) else {
        return Ok(None);
    };
    let (path, now) = (path.to_owned(), unix_seconds());
    if now > found.until {
        let at = validity::show(found.until);
        return Err(Fault::Expired { option, path, at });
    }
    if now < found.from {
        let at = validity::show(found.from);
        return Err(Fault::Early { option, path, at });
    }
    Ok(Some(found))
}

pub(super) fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().cast_signed()
}
