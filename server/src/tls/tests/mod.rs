//! TLS with certificates that these tests make.

mod bytes;
mod faults;
mod identity;
mod peers;
mod rotation;

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};

use super::settings::{Clients, Settings};
use super::{Session, Tls};

/// Somebody who signs certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
struct Pair {
    cert: String,
    key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("it signs itself"))
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    fn sign(&self, names: &[&str]) -> Pair {
        self.sign_as(names, |_| {})
    }

    fn sign_as(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let cert = params.signed_by(&key, &self.0).expect("it is signed");
        Pair {
            cert: cert.pem(),
            key: key.serialize_pem(),
        }
    }

    fn sign_expired(&self, names: &[&str]) -> Pair {
        self.sign_as(names, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 6, 30);
        })
    }
}

/// A folder that goes with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ruvio-tls-{}-{nth}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("a file");
        self.path(name)
    }

    /// Settings of a node with this certificate, which trusts this authority.
    fn settings(&self, pair: &Pair, authority: &Authority) -> Settings {
        Settings {
            cert_file: self.write("cert.pem", &pair.cert),
            key_file: self.write("key.pem", &pair.key),
            client_cert_file: String::new(),
            client_key_file: String::new(),
            ca_cert_file: self.write("ca.pem", &authority.pem()),
            ca_cert_dir: String::new(),
            clients: Clients::Certified,
            versions: Vec::new(),
            prefers_own_ciphers: false,
            sessions: 16,
            among_nodes: true,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A node whose files are good.
fn node(names: &[&str], authority: &Authority) -> (Tls, Folder) {
    let folder = Folder::new();
    let settings = folder.settings(&authority.sign(names), authority);
    (Tls::new(settings).expect("all is good"), folder)
}

/// The same for several threads.
pub(crate) fn shared(authority: &Authority, names: &[&str]) -> (Arc<Tls>, Folder) {
    let (tls, folder) = node(names, authority);
    (Arc::new(tls), folder)
}

/// Two ends of a line.
struct Line {
    near: UnixStream,
    far: UnixStream,
}

impl Line {
    fn new() -> Self {
        let (near, far) = UnixStream::pair().expect("a pair");
        near.set_nonblocking(true).expect("it does not block");
        far.set_nonblocking(true).expect("it does not block");
        Self { near, far }
    }
}

/// Both sides say what they have to until the handshake is over, or one of them fails: what each of them says.
fn greet(client: &mut Session, server: &mut Session) -> Result<Line, (Option<String>, Option<String>)> {
    let line = Line::new();
    let mut room = [0; 64];
    for _ in 0..20 {
        let near = client
            .flush(&line.near)
            .and_then(|_| client.receive(&line.near, &mut room));
        let far = server.receive(&line.far, &mut room);
        // What the other one says of it is heard as well.
        let near = near.and_then(|_| client.receive(&line.near, &mut room));
        match (near, far) {
            (Ok(_), Ok(_)) if client.is_handshaking() || server.is_handshaking() => {}
            (Ok(_), Ok(_)) => return Ok(line),
            (near, far) => {
                let said = |failed: Option<std::io::Error>| failed.map(|error| error.to_string());
                return Err((said(near.err()), said(far.err())));
            }
        }
    }
    panic!("they never come to an end");
}
