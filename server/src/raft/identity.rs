//! Who a node is to others, and who may call it: what each call carries as metadata, made and checked.
//!
//! Invariant: a call that does not fit is refused before anything of its message is read, with a sentence that says
//! what does not fit.
//! Invariant: a node's id stands for one incarnation: one that lost its volume is another node, with another id.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ruvio_proto::metadata;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

use crate::wal::{ClusterId, NodeId};

/// What the nodes of a cluster share, and others do not know.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub const BYTES_MAX: usize = 256;

    /// Visible ASCII, since it travels in a header. `None` if it is something else.
    pub fn new(text: &str) -> Option<Self> {
        let fits = (1..=Self::BYTES_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then(|| Self(text.to_owned()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Takes the same time wherever they differ.
    pub(crate) fn is(&self, other: &[u8]) -> bool {
        let own = self.as_bytes();
        let mut differs = u8::from(own.len() != other.len());
        for (a, b) in own.iter().zip(other) {
            differs |= std::hint::black_box(a ^ b);
        }
        std::hint::black_box(differs) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// This node.
#[derive(Clone, Debug)]
pub struct Me {
    pub cluster: ClusterId,
    pub node: NodeId,
    pub incarnation: u64,
    /// `None` where something else proves who calls.
    pub token: Option<Token>,
    /// Of the cluster: which shard has a key depends on it.
    pub shards: u16,
}

/// Who calls, as far as its metadata was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caller {
    pub node: NodeId,
    pub incarnation: u64,
}

/// Nodes that are remembered. Ids are never given again, so it is far above what a cluster sees.
const ROSTER_MAX: usize = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    Incarnation(u64),
    Removed,
}

/// The nodes that this one knows: their incarnations, and who is of the cluster no longer. A node that it never heard
/// of is believed once.
#[derive(Default, Debug)]
pub struct Roster(Mutex<BTreeMap<NodeId, Standing>>);

impl Roster {
    pub fn new(known: impl IntoIterator<Item = (NodeId, u64)>) -> Self {
        let standing = |(node, incarnation)| (node, Standing::Incarnation(incarnation));
        Self(Mutex::new(known.into_iter().map(standing).collect()))
    }

    /// It is of the cluster no longer, and its id is never given again.
    pub fn remove(&self, node: NodeId) {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.insert(node, Standing::Removed);
    }

    /// Whether it is of the cluster no longer.
    fn has_removed(&self, node: NodeId) -> bool {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.get(&node) == Some(&Standing::Removed)
    }

    /// Whether a node may speak. Else why not.
    pub(super) fn admit(&self, node: NodeId, incarnation: u64) -> Result<(), String> {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = nodes.len() >= ROSTER_MAX;
        match nodes.entry(node) {
            Entry::Occupied(known) => match *known.get() {
                Standing::Removed => Err(format!("node {} was removed from the cluster", node.0)),
                Standing::Incarnation(known) if known != incarnation => Err(format!(
                    "node {} is known as incarnation {known:016x} and not {incarnation:016x}: a node that lost its \
                     volume joins as a new one, with a new id",
                    node.0
                )),
                Standing::Incarnation(_) => Ok(()),
            },
            Entry::Vacant(_) if is_full => Err("this node knows too many nodes".to_owned()),
            Entry::Vacant(place) => {
                place.insert(Standing::Incarnation(incarnation));
                Ok(())
            }
        }
    }
}

/// Puts this node's identity on each call to one other.
#[derive(Clone)]
pub(super) struct Stamp(Arc<[(&'static str, MetadataValue<Ascii>)]>);

impl Stamp {
    pub fn new(me: &Me, to: NodeId) -> Self {
        let mut fields = vec![
            (metadata::CLUSTER, me.cluster.to_string()),
            (metadata::NODE, me.node.0.to_string()),
            (metadata::INCARNATION, me.incarnation.to_string()),
            (metadata::TO, to.0.to_string()),
        ];
        fields.extend(me.token.as_ref().map(|token| (metadata::TOKEN, token.0.clone())));
        let fields = fields.into_iter().filter_map(|(name, text)| {
            // All are digits, or a token that was looked at.
            let mut value = MetadataValue::try_from(text).ok()?;
            value.set_sensitive(name == metadata::TOKEN);
            Some((name, value))
        });
        Self(fields.collect())
    }
}

impl Interceptor for Stamp {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        for (name, value) in &*self.0 {
            request.metadata_mut().insert(*name, value.clone());
        }
        Ok(request)
    }
}

/// Looks at each call before anything of it is read.
#[derive(Clone)]
pub(super) struct Gatekeeper {
    pub me: Arc<Me>,
    pub roster: Arc<Roster>,
}

impl Gatekeeper {
    fn check(&self, metadata: &MetadataMap) -> Result<Caller, Status> {
        if let Some(token) = &self.me.token {
            let theirs = metadata.get(metadata::TOKEN).map(MetadataValue::as_bytes);
            if !token.is(theirs.unwrap_or_default()) {
                return Err(Status::unauthenticated("the token is not that of this cluster"));
            }
        }
        let text = |name| metadata.get(name).and_then(|value| value.to_str().ok());
        let number = |name| text(name).and_then(|text| text.parse::<u64>().ok());
        let refuse = |why: String| Err(Status::permission_denied(why));
        let theirs = text(metadata::CLUSTER).and_then(ClusterId::parse);
        if theirs != Some(self.me.cluster) {
            let theirs = theirs.map_or("none".to_owned(), |cluster| cluster.to_string());
            return refuse(format!(
                "this node is of cluster {}, and the caller of {theirs}",
                self.me.cluster
            ));
        }
        match number(metadata::TO) {
            Some(to) if to == self.me.node.0 => {}
            to => {
                let to = to.map_or("none".to_owned(), |to| to.to_string());
                return refuse(format!(
                    "this is node {}, and the caller means {to}",
                    self.me.node.0
                ));
            }
        }
        let (Some(node), Some(incarnation)) = (number(metadata::NODE), number(metadata::INCARNATION)) else {
            return refuse("the caller does not say who it is".to_owned());
        };
        if node == self.me.node.0 {
            return refuse(format!(
                "the caller says that it is node {node}, which is this one"
            ));
        }
        let node = NodeId(node);
        self.roster.admit(node, incarnation).map_err(|why| {
            let mut status = Status::permission_denied(why);
            if self.roster.has_removed(node) {
                let yes = MetadataValue::from_static("yes");
                status.metadata_mut().insert(metadata::REMOVED, yes);
            }
            status
        })?;
        Ok(Caller { node, incarnation })
    }
}

impl Interceptor for Gatekeeper {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let caller = self.check(request.metadata())?;
        request.extensions_mut().insert(caller);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me(node: u64) -> Me {
        Me {
            cluster: ClusterId([7; 16]),
            node: NodeId(node),
            incarnation: 70 + node,
            token: Token::new("secret"),
            shards: 4,
        }
    }

    /// What node 1, who sees a call of `caller` to `to`, says.
    fn heard(caller: &Me, to: u64, roster: &Arc<Roster>) -> Result<Caller, (tonic::Code, String)> {
        let keeper = Gatekeeper {
            me: Arc::new(me(1)),
            roster: Arc::clone(roster),
        };
        let request = Stamp::new(caller, NodeId(to))
            .call(Request::new(()))
            .expect("it is stamped");
        keeper
            .check(request.metadata())
            .map_err(|status| (status.code(), status.message().to_owned()))
    }

    #[test]
    fn who_does_not_fit_is_refused_with_a_sentence() {
        use tonic::Code::{PermissionDenied, Unauthenticated};
        let roster = Arc::new(Roster::default());
        let known = Caller {
            node: NodeId(2),
            incarnation: 72,
        };
        assert_eq!(heard(&me(2), 1, &roster), Ok(known));
        let no_token = Me { token: None, ..me(2) };
        let token = "the token is not that of this cluster";
        assert_eq!(
            heard(&no_token, 1, &roster),
            Err((Unauthenticated, token.to_owned()))
        );
        for other in ["secreT", "secre", "secrets"] {
            let other = Me {
                token: Token::new(other),
                ..me(2)
            };
            assert_eq!(
                heard(&other, 1, &roster),
                Err((Unauthenticated, token.to_owned()))
            );
        }
        let refused = |caller: &Me, to, sentence: &str| {
            assert_eq!(
                heard(caller, to, &roster),
                Err((PermissionDenied, sentence.to_owned()))
            );
        };
        let cluster = Me {
            cluster: ClusterId([8; 16]),
            ..me(2)
        };
        let sentence = "this node is of cluster 07070707070707070707070707070707, and the caller of \
                        08080808080808080808080808080808";
        refused(&cluster, 1, sentence);
        refused(&me(2), 3, "this is node 1, and the caller means 3");
        refused(&me(1), 1, "the caller says that it is node 1, which is this one");
        let reborn = Me {
            incarnation: 99,
            ..me(2)
        };
        let sentence = "node 2 is known as incarnation 0000000000000048 and not 0000000000000063: a node that lost \
                        its volume joins as a new one, with a new id";
        refused(&reborn, 1, sentence);
        roster.remove(NodeId(2));
        refused(&me(2), 1, "node 2 was removed from the cluster");
    }

    #[test]
    fn a_token_fits_in_a_header_and_is_not_shown() {
        assert!(Token::new("").is_none() && Token::new("a b").is_none() && Token::new("ä").is_none());
        assert!(Token::new(&"a".repeat(Token::BYTES_MAX + 1)).is_none());
        assert!(!format!("{:?}", me(1)).contains("secret"));
    }
}
