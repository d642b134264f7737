//! How entries stand in the log. It is the same encoding that peers send, so that there is one to check.

use bytes::Bytes;
use openraft::EntryPayload;
use openraft::alias::EntryOf;
use prost::Message;
use ruvio_proto::common::v1 as common;

use super::{Malformed, Wire, library_id};
use crate::raft::types::{Batch, C, Membership};
use crate::wal;

/// What an entry of the library's own holds in the log: nothing of a blank, otherwise a version and a membership.
const MEMBERSHIP_VERSION: u8 = 1;

/// The log's payload of a membership entry, and of a membership record.
pub fn membership_payload(membership: Membership) -> Vec<u8> {
    let mut payload = vec![MEMBERSHIP_VERSION];
    // A vector has always room.
    let _ = membership.to_wire().encode(&mut payload);
    payload
}

pub fn membership_of_payload(payload: &[u8]) -> Result<Membership, Malformed> {
    match payload.split_first() {
        Some((&MEMBERSHIP_VERSION, rest)) => {
            let sent = common::Membership::decode(rest).map_err(|_| Malformed::Encoding)?;
            Membership::from_wire(sent)
        }
        _ => Err(Malformed::Encoding),
    }
}

/// An entry as the log holds it: its kind, and its payload. Effects stand there as they are, so that whoever reads
/// the log for effects needs none of this.
pub fn entry_of_log(kind: wal::Kind, id: wal::LogId, payload: Bytes) -> Result<EntryOf<C>, Malformed> {
    let payload = match kind {
        wal::Kind::RaftEntry if payload.is_empty() => EntryPayload::Blank,
        wal::Kind::RaftEntry => EntryPayload::Membership(membership_of_payload(&payload)?),
        _ => EntryPayload::Normal(Batch(payload)),
    };
    Ok(EntryOf::<C> {
        log_id: library_id(id).ok_or(Malformed::Index)?,
        payload,
    })
}
