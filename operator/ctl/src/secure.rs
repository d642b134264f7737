//! TLS to nodes with `tls-cluster yes`: ruvioctl shows a certificate, and theirs has to be for the host that was
//! named.

use std::error::Error;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Moment, Poll};

use anyhow::{Context, bail};
use clap::Args;
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;

#[derive(Args, Clone, Default, Debug)]
pub struct Files {
    /// Speak TLS, as nodes with tls-cluster yes do. Wants the three files below.
    #[arg(long, env = "RUVIO_TLS", global = true)]
    pub tls: bool,

    /// The certificates in PEM that those of the nodes are signed by.
    #[arg(long, env = "RUVIO_TLS_CA_CERT_FILE", value_name = "FILE", global = true)]
    pub tls_ca_cert_file: Option<PathBuf>,

    /// The certificate to show to the nodes, in PEM.
    #[arg(long, env = "RUVIO_TLS_CERT_FILE", value_name = "FILE", global = true)]
    pub tls_cert_file: Option<PathBuf>,

    /// Its key.
    #[arg(long, env = "RUVIO_TLS_KEY_FILE", value_name = "FILE", global = true)]
    pub tls_key_file: Option<PathBuf>,
}

/// Makes connections.
#[derive(Clone)]
pub struct Connector {
    config: TlsConnector,
    address: String,
    host: ServerName<'static>,
}

impl Files {
    /// `None`: no TLS is wanted.
    pub fn read(&self) -> anyhow::Result<Option<TlsConnector>> {
        if !self.tls {
            return Ok(None);
        }
        let named = |file: &Option<PathBuf>, option: &str| {
            let file = file.clone();
            file.with_context(|| {
                format!("--tls wants --{option}: nodes with tls-cluster yes take nobody without")
            })
        };
        let authorities = named(&self.tls_ca_cert_file, "tls-ca-cert-file")?;
        let (cert, key) = (
            named(&self.tls_cert_file, "tls-cert-file")?,
            named(&self.tls_key_file, "tls-key-file")?,
        );
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&authorities)? {
            let added = roots.add(certificate);
            added.with_context(|| format!("a certificate in {} makes no sense", authorities.display()))?;
        }
        let own_key = PrivateKeyDer::from_pem_file(&key).with_context(|| {
            format!(
                "cannot read a key of PEM without a password from {}",
                key.display()
            )
        })?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(certificates(&cert)?, own_key)
            .with_context(|| format!("{} is not the key of {}", key.display(), cert.display()))?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Some(Arc::new(config).into()))
    }
}

fn certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.with_context(|| format!("cannot read certificates from {}", path.display()))?;
    if found.is_empty() {
        bail!("no certificate of PEM is in {}", path.display());
    }
    Ok(found)
}

/// What the other side says of our certificate, if that is why it ended the connection: by TLS 1.3 this comes only
/// after our first words.
pub fn alert(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let inner = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::AlertReceived(alert)) = inner {
            return Some(format!("{alert:?}"));
        }
        cause = error.source();
    }
    None
}

impl Connector {
    /// `address`: `host:port`.
    pub fn new(config: &TlsConnector, address: &str) -> anyhow::Result<Self> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let named = ServerName::try_from(host.clone());
        Ok(Self {
            config: config.clone(),
            address: address.to_owned(),
            host: named.with_context(|| format!("no certificate can be for {host}"))?,
        })
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Moment<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self {
            config,
            address,
            host,
        } = self.clone();
        Box::pin(async move {
            let socket = TcpStream::connect(address).await?;
            Ok(TokioIo::new(config.connect(host, socket).await?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_found_behind_what_it_caused() {
        let alert_of = |inner: rustls::Error| {
            let status = tonic::Status::from_error(Box::new(io::Error::other(inner)));
            alert(&status)
        };
        let unknown = rustls::Error::AlertReceived(rustls::AlertDescription::UnknownCA);
        assert_eq!(alert_of(unknown).as_deref(), Some("UnknownCA"));
        assert_eq!(alert_of(rustls::Error::DecryptError), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let said = |files: &Files| format!("{:#}", files.read().err().expect("something is missing"));
        assert!(Files::default().read().is_ok_and(|read| read.is_none()));
        let mut files = Files {
            tls: true,
            ..Files::default()
        };
        assert!(said(&files).starts_with("--tls wants --tls-ca-cert-file"));
        let none = Some(PathBuf::from("no-such-file.pem"));
        files.tls_ca_cert_file.clone_from(&none);
        assert!(said(&files).starts_with("--tls wants --tls-cert-file"));
        files.tls_cert_file.clone_from(&none);
        files.tls_key_file = none;
        assert!(said(&files).starts_with("cannot read certificates from no-such-file.pem"));
    }
}
