//! Where a node's admin port is.

use std::fmt;
use std::str::FromStr;

/// Where no port is named.
pub const ADMIN_PORT: u16 = 7380;
/// A node of an older version does not say where it listens for peers.
pub const PEER_PORT: u16 = 7379;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Address {
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    pub port: u16,
}

impl Address {
    /// The same host's other port.
    pub fn with_port(&self, port: u16) -> Self {
        Self {
            host: self.host.clone(),
            port,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no address: write host, host:port, or [host]:port for IPv6");
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
                (host, port.strip_prefix(':').or(port.is_empty().then_some("")))
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port).filter(|port| !port.is_empty())),
                None => (text, Some("")),
            },
        };
        let port = match port.ok_or_else(wrong)? {
            "" => ADMIN_PORT,
            port => port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?,
        };
        let is_host = !host.is_empty()
            && host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.:%".contains(&b));
        is_host
            .then(|| Self {
                host: host.to_owned(),
                port,
            })
            .ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_perhaps_a_port() {
        for (text, shown) in [
            ("cache-0", "cache-0:7380"),
            ("cache-0.nodes.svc:17380", "cache-0.nodes.svc:17380"),
            ("10.0.0.1:1", "10.0.0.1:1"),
            ("[::1]:7481", "[::1]:7481"),
            ("[fe80::1%eth0]", "[fe80::1%eth0]:7380"),
        ] {
            let address = text.parse::<Address>().map(|address| address.to_string());
            assert_eq!(address.as_deref(), Ok(shown));
        }
    }

    #[test]
    fn what_is_none_says_how_to_write_one() {
        for text in [
            "", ":7380", "a:", "a:0", "a:70000", "::1", "[::1", "[]:1", "http://a", "a b", "[::1]x",
        ] {
            let said = text.parse::<Address>().expect_err("no address");
            assert!(said.contains("host:port"), "{text}: {said}");
        }
    }
}
