//! Why a call was not done, as a sentence for whoever reads it at a terminal.

use ruvio_proto::metadata;
use tonic::Code;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    #[error("{}", not_leader(*shard, *leader))]
    NotLeader { shard: u16, leader: Option<u64> },
    /// It does not go with what is here, and will not by waiting.
    #[error("{0}")]
    Precondition(String),
    /// It makes no sense anywhere.
    #[error("{0}")]
    Invalid(String),
    /// It may go a little later.
    #[error("{0}")]
    Unavailable(String),
    /// It was begun, and goes on or stays as it is.
    #[error("{0}")]
    TimedOut(String),
    /// It was asked for something that is over.
    #[error("{0}")]
    OutOfRange(String),
    #[error("this node's version does not do that: {0}")]
    Unsupported(&'static str),
    #[error("{0}")]
    Internal(String),
}

fn not_leader(shard: u16, leader: Option<u64>) -> String {
    match leader {
        Some(leader) => format!("node {leader} leads shard {shard}: ask it"),
        None => format!("nobody leads shard {shard} at the moment: try again in a second"),
    }
}

impl From<Refused> for tonic::Status {
    fn from(refused: Refused) -> Self {
        let code = match refused {
            Refused::NotLeader { leader: None, .. } | Refused::Unavailable(_) => Code::Unavailable,
            Refused::NotLeader { .. } | Refused::Precondition(_) => Code::FailedPrecondition,
            Refused::Invalid(_) => Code::InvalidArgument,
            Refused::TimedOut(_) => Code::DeadlineExceeded,
            Refused::OutOfRange(_) => Code::OutOfRange,
            Refused::Unsupported(_) => Code::Unimplemented,
            Refused::Internal(_) => Code::Internal,
        };
        let mut status = Self::new(code, refused.to_string());
        if let Refused::NotLeader {
            leader: Some(leader), ..
        } = refused
        {
            status.metadata_mut().insert(metadata::LEADER, leader.into());
        }
        status
    }
}
