//! What may be wrong with certificates: a sentence each, which says what to do.

use rustls::CertificateError;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    #[error("{option} is not set, and {wants} needs it: name a file of PEM there")]
    Unset {
        option: &'static str,
        wants: &'static str,
    },
    #[error(
        "{wants} needs certificates to check others' against: name them with tls-ca-cert-file or tls-ca-cert-dir{or}"
    )]
    NoAuthority { wants: &'static str, or: &'static str },
    #[error("{option}: cannot read {path}: {why}")]
    Unread {
        option: &'static str,
        path: String,
        why: String,
    },
    #[error("{option}: {path} is no PEM: {why}")]
    NotPem {
        option: &'static str,
        path: String,
        why: String,
    },
    #[error(
        "{option}: no certificate is in {path}: it has to hold blocks that begin with -----BEGIN CERTIFICATE-----"
    )]
    NoCertificate { option: &'static str, path: String },
    #[error("{option}: a certificate in {path} makes no sense: {why}")]
    BadCertificate {
        option: &'static str,
        path: String,
        why: String,
    },
    #[error("{option}: no private key is in {path}: it has to hold one as PKCS#8, SEC1 or RSA in PEM")]
    NoKey { option: &'static str, path: String },
    #[error(
        "{option}: the key in {path} is locked with a password, which is not supported: store it without one, and let \
         file permissions guard it"
    )]
    LockedKey { option: &'static str, path: String },
    #[error("{option}: the key in {path} cannot be used: {why}")]
    BadKey {
        option: &'static str,
        path: String,
        why: String,
    },
    #[error(
        "the key in {key} is not that of the first certificate in {cert}: put files there that belong together"
    )]
    OtherKey { key: String, cert: String },
    #[error("{option}: the certificate in {path} has expired at {at}: put a newer one there")]
    Expired {
        option: &'static str,
        path: String,
        at: String,
    },
    #[error(
        "{option}: the certificate in {path} is not valid before {at}: check the clock, or the certificate"
    )]
    Early {
        option: &'static str,
        path: String,
        at: String,
    },
    #[error("tls-protocols: '{0}' is no version that is spoken: TLSv1.2 and TLSv1.3 are")]
    Version(String),
    #[error(
        "tls-replication yes: nodes replicate by their peer ports, which tls-cluster yes encrypts: set that too"
    )]
    Replication,
    #[error("tls-cluster yes needs a tls-port: nodes pass commands on to each other by it")]
    ClusterWithoutPort,
    #[error(
        "port 0: nodes pass commands on to each other by the plain port, unless tls-cluster yes has them do so by TLS"
    )]
    NoPlainPort,
    #[error("TLS cannot be set up: {0}")]
    Other(String),
}

/// Why a handshake with another node failed, for whoever tries to reach it.
pub(super) fn sentence(error: &rustls::Error) -> String {
    use rustls::Error::{AlertReceived, InvalidCertificate, NoCertificatesPresented};
    match error {
        // A name that is known, with another key.
        InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "its certificate is signed by none of those in tls-ca-cert-file".to_owned()
        }
        InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired".to_owned()
        }
        InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
            "its certificate is not valid yet: check the clocks".to_owned()
        }
        InvalidCertificate(CertificateError::NotValidForName) => {
            "its certificate is not for the host by which it was reached".to_owned()
        }
        InvalidCertificate(CertificateError::NotValidForNameContext { expected, .. }) => format!(
            "its certificate is not for {}, by which it was reached",
            expected.to_str()
        ),
        InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => "its certificate is not for this use: one of a node has to be for both clients and servers"
            .to_owned(),
        NoCertificatesPresented => "it presents no certificate".to_owned(),
        AlertReceived(alert) => format!("it refuses ours: {alert:?}"),
        other => other.to_string(),
    }
}
