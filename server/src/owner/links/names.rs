//! The addresses of nodes that are known by name: looked up by a thread of its own, since owners wait for nothing.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
struct Name {
    address: Option<IpAddr>,
    /// When it was asked for last.
    asked: Instant,
    is_asked: bool,
}

#[derive(Clone, Default)]
pub(in crate::owner) struct Names {
    known: Arc<Mutex<HashMap<String, Name>>>,
}

/// What was found holds for so long: a node that is started anew may have another address.
const FRESH: Duration = Duration::from_secs(1);

impl Names {
    /// The address, if it is known now. Else ask again in a moment.
    pub fn find(&self, host: &str, port: u16) -> Option<SocketAddr> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some((address, port).into());
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let name = known.entry(host.to_owned()).or_insert(Name {
            address: None,
            asked: now,
            is_asked: false,
        });
        let is_stale = name.address.is_none() || now.duration_since(name.asked) > FRESH;
        if is_stale && !name.is_asked {
            name.is_asked = true;
            name.asked = now;
            let (names, host) = (self.clone(), host.to_owned());
            let asks = std::thread::Builder::new().name("names".to_owned());
            if asks.spawn(move || names.ask(&host)).is_err() {
                name.is_asked = false;
            }
        }
        Some((name.address?, port).into())
    }

    fn ask(&self, host: &str) {
        let found = (host, 0)
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get_mut(host) {
            name.is_asked = false;
            name.address = found.map(|address| address.ip()).or(name.address);
        }
    }
}
