//! Who may make calls: whoever has the cluster's token. A node without one takes those of whoever showed a certificate,
//! where that is asked for, and else of its own machine alone.

use std::net::IpAddr;

use ruvio_proto::metadata;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

use crate::raft::Token;

/// Looks at a call before anybody else does.
#[derive(Clone)]
pub struct Guard {
    token: Option<Token>,
    /// Nobody comes as far as this without a certificate that is good here.
    is_certified: bool,
}

impl Guard {
    pub fn new(token: Option<Token>, is_certified: bool) -> Self {
        Self { token, is_certified }
    }

    pub(super) fn check(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let from = request.remote_addr().map(|address| address.ip());
        self.admit(request.metadata(), from).map(|()| request)
    }

    fn admit(&self, told: &MetadataMap, from: Option<IpAddr>) -> Result<(), Status> {
        let told = told.get(metadata::TOKEN);
        match (&self.token, told) {
            (Some(wanted), Some(told)) if wanted.is(told.as_bytes()) => Ok(()),
            (Some(_), Some(_)) => Err(Status::unauthenticated(
                "that is not the cluster's token: use the file that the nodes' cluster-token-file names",
            )),
            (Some(_), None) => Err(Status::unauthenticated(
                "the cluster's token is wanted: use the file that the nodes' cluster-token-file names",
            )),
            (None, _) if self.is_certified => Ok(()),
            (None, _) if from.is_some_and(|from| from.to_canonical().is_loopback()) => Ok(()),
            (None, _) => Err(Status::unauthenticated(
                "this node has no cluster-token-file, and no tls-cluster, so it takes calls of its own machine alone: give it one \
                 of them",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    fn admitted(node: &str, told: Option<&str>, from: &str) -> Result<(), (Code, String)> {
        let mut metadata = MetadataMap::new();
        if let Some(told) = told {
            metadata.insert(metadata::TOKEN, told.parse().expect("ASCII"));
        }
        let from = from.parse().expect("an address");
        Guard::new(Token::new(node), false)
            .admit(&metadata, Some(from))
            .map_err(|status| (status.code(), status.message().to_owned()))
    }

    #[test]
    fn the_token_itself_is_needed_from_anywhere() {
        assert_eq!(admitted("secret", Some("secret"), "10.0.0.9"), Ok(()));
        for told in [Some("secre"), Some("secret "), Some(""), Some("Secret"), None] {
            let (code, message) = admitted("secret", told, "127.0.0.1").expect_err("not the token");
            assert_eq!(code, Code::Unauthenticated, "{told:?}");
            assert!(message.contains("cluster-token-file"), "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn a_certificate_stands_for_a_token_that_there_is_not() {
        let from = Some("10.0.0.9".parse().expect("an address"));
        let none = MetadataMap::new();
        assert!(Guard::new(None, true).admit(&none, from).is_ok());
        assert!(Guard::new(Token::new("secret"), true).admit(&none, from).is_err());
    }

    #[test]
    fn without_a_token_only_the_own_machine_is_heard() {
        for local in ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(admitted("", None, local), Ok(()), "{local}");
        }
        for other in ["10.0.0.9", "fe80::1"] {
            let (code, _) = admitted("", Some(""), other).expect_err("another machine");
            assert_eq!(code, Code::Unauthenticated);
        }
    }
}
