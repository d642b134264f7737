//! Who may make calls: whoever has the cluster's token. A node without one takes calls of its own machine alone.

use std::net::IpAddr;

use ruvio_proto::metadata;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

use crate::raft::Token;

/// Looks at a call before anybody else does.
#[derive(Clone)]
pub struct Guard(Option<Token>);

impl Guard {
    pub fn new(token: Option<Token>) -> Self {
        Self(token)
    }

    pub(super) fn check(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let from = request.remote_addr().map(|address| address.ip());
        self.admit(request.metadata(), from).map(|()| request)
    }

    fn admit(&self, told: &MetadataMap, from: Option<IpAddr>) -> Result<(), Status> {
        let told = told.get(metadata::TOKEN);
        match (&self.0, told) {
            (Some(wanted), Some(told)) if wanted.is(told.as_bytes()) => Ok(()),
            (Some(_), Some(_)) => Err(Status::unauthenticated(
                "that is not the cluster's token: use the file that the nodes' cluster-token-file names",
            )),
            (Some(_), None) => Err(Status::unauthenticated(
                "the cluster's token is wanted: use the file that the nodes' cluster-token-file names",
            )),
            (None, _) if from.is_some_and(|from| from.to_canonical().is_loopback()) => Ok(()),
            (None, _) => Err(Status::unauthenticated(
                "this node has no cluster-token-file, so it takes calls of its own machine alone: give it one",
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
        Guard::new(Token::new(node))
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
