//! The certificates in force, and how newer ones take their place.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use super::configs::{self, Configs, unix_seconds};
use super::fault::Fault;
use super::session::Session;
use super::settings::Settings;
use super::validity::{self, Validity};
use super::watch::{self, Prints, prints};

/// Shared by all threads that speak TLS.
pub struct Tls {
    /// Held for a moment, at the beginning of a connection.
    in_force: RwLock<Arc<Configs>>,
    files: Mutex<Files>,
}

struct Files {
    settings: Settings,
    /// Of the files that are in force, or were found to be no good.
    prints: Prints,
    /// Files that are no good, as of the last look: they may be half of a change.
    doubt: Option<Prints>,
    /// It was said that the certificate is about to end.
    is_warned: bool,
}

/// Said so long before the certificate in force ends, or when a tenth of its time is left.
const NOTICE_SECONDS: i64 = 24 * 3600;

impl Tls {
    /// Reads the files.
    pub fn new(settings: Settings) -> Result<Self, Fault> {
        let prints = prints(&settings);
        let read = configs::read(&settings)?;
        say_end("certificates are read", &read);
        Ok(Self {
            in_force: RwLock::new(Arc::new(read)),
            files: Mutex::new(Files {
                settings,
                prints,
                doubt: None,
                is_warned: false,
            }),
        })
    }

    /// Has new files taken in from now on.
    pub fn watch(self: &Arc<Self>) -> std::io::Result<()> {
        watch::start(self)
    }

    /// Takes other settings, or the same files anew. On an error those in force stay.
    pub fn apply(&self, settings: Settings) -> Result<(), Fault> {
        let mut files = self.files();
        let prints = prints(&settings);
        // Each owner thread is told of a change of options.
        if files.settings == settings && files.prints == prints {
            return Ok(());
        }
        let read = configs::read(&settings)?;
        *files = Files {
            settings,
            prints,
            doubt: None,
            is_warned: false,
        };
        self.put(read);
        Ok(())
    }

    /// Takes the same files anew, without waiting until a change of them is noticed.
    pub fn read_again(&self) -> Result<(), Fault> {
        let settings = self.files().settings.clone();
        self.apply(settings)
    }

    /// Takes in files that have changed. Those that are no good are given a second look, since a change of several
    /// files is not one step, before anybody is told.
    pub(super) fn look(&self) {
        let mut files = self.files();
        self.look_at_end(&mut files);
        let now = prints(&files.settings);
        if now == files.prints {
            files.doubt = None;
            return;
        }
        match configs::read(&files.settings) {
            Ok(read) => {
                files.is_warned = false;
                files.doubt = None;
                files.prints = now;
                self.put(read);
            }
            Err(fault) if files.doubt.as_ref() == Some(&now) => {
                files.doubt = None;
                files.prints = now;
                tracing::warn!(
                    "the files of TLS have changed and are no good, so the certificates before them stay in force: {fault}"
                );
            }
            Err(_) => files.doubt = Some(now),
        }
    }

    fn look_at_end(&self, files: &mut Files) {
        let holds = match files.is_warned {
            false => self.in_force().holds[0].clone(),
            true => None,
        };
        let Some(Validity { from, until, .. }) = holds else {
            return;
        };
        if until - unix_seconds() < NOTICE_SECONDS.min((until - from) / 10) {
            files.is_warned = true;
            tracing::warn!(
                until = validity::show(until),
                "the certificate in {} ends soon: put a newer one there, it is taken in without a restart",
                files.settings.cert_file
            );
        }
    }

    fn put(&self, read: Configs) {
        say_end("certificates are read anew", &read);
        let mut in_force = self.in_force.write().unwrap_or_else(PoisonError::into_inner);
        *in_force = Arc::new(read);
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_force(&self) -> Arc<Configs> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number and the seconds that are left: of the node's certificate, of the one that it shows as a client if
    /// that is another, and of that of the authority which ends first.
    pub fn certificates(&self) -> [Option<(String, i64)>; 3] {
        let now = unix_seconds();
        let left = |holds: &Validity| (holds.serial.clone(), holds.until - now);
        self.in_force()
            .holds
            .each_ref()
            .map(|holds| holds.as_ref().map(left))
    }

    /// With a client that has just come.
    pub fn serve(&self) -> std::io::Result<Session> {
        let config = Arc::clone(&self.in_force().clients);
        let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
        Ok(Session::new(connection.into()))
    }

    /// To another node's port for clients. `host`: by which it is known, which its certificate has to be for.
    pub fn dial(&self, host: &str) -> std::io::Result<Session> {
        let configs = self.in_force();
        let nodes = configs.nodes.as_ref().ok_or_else(not_among_nodes)?;
        let connection = ClientConnection::new(Arc::clone(&nodes.linked), name_of(host)?)
            .map_err(std::io::Error::other)?;
        Ok(Session::new(connection.into()))
    }

    pub(super) fn served(&self) -> std::io::Result<Arc<ServerConfig>> {
        let configs = self.in_force();
        let nodes = configs.nodes.as_ref().ok_or_else(not_among_nodes)?;
        Ok(Arc::clone(&nodes.served))
    }

    pub(super) fn dialled(&self) -> std::io::Result<Arc<ClientConfig>> {
        let configs = self.in_force();
        let nodes = configs.nodes.as_ref().ok_or_else(not_among_nodes)?;
        Ok(Arc::clone(&nodes.dialled))
    }
}

fn say_end(what: &str, read: &Configs) {
    let until = read.holds[0].as_ref().map(|holds| validity::show(holds.until));
    let until = until.unwrap_or_else(|| "an unknown time".to_owned());
    tracing::info!(until, "{what}");
}

fn not_among_nodes() -> std::io::Error {
    std::io::Error::other("nodes do not speak TLS to each other here: tls-cluster is no")
}

/// What a certificate has to be for: a name, or an address.
pub(super) fn name_of(host: &str) -> std::io::Result<ServerName<'static>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(bare.to_owned())
        .map_err(|_| std::io::Error::other(format!("'{host}' is no name that a certificate can be for")))
}
