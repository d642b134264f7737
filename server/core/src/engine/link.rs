//! Links: connections by which other nodes of the cluster pass on what clients of their routed port ask for.
//!
//! A link comes by the cluster port and proves that its node knows the cluster's token. From then on its session
//! has all rights, since the node that the client is with has checked the client's, and nothing that it asks for is
//! passed on any further. What it says of the commands behind it (`STAND`) takes the place of a session's state.
//!
//! Invariant: once a command of a link was refused because a shard does not lead here, or is not there yet, none
//! behind it runs on that owner until the link has taken notice, which it says by a new lap. So commands that
//! are sent again are never overtaken by later ones of the same client.

use sha2::{Digest, Sha256};

use super::course::NO_SHARD;
use super::door::{Door, Entrance};
use super::session::ClientId;
use super::{Engine, Passport};
use crate::acl::Users;
use crate::cluster::NodeId;
use crate::command::spec::Group;
use crate::command::{Args, COMMANDS, OwnedArgs};
use crate::error::Error;
use crate::options::Id;
use crate::resp::{Protocol, Reply};
use crate::text::number::parse_u64;

/// The word that links begin with; for everybody else there is no such command.
pub const WORD: &[u8] = b"ruvio.link";

pub type Nonce = [u8; 16];
pub type Proof = [u8; 32];

const BLOCK: usize = 64;
const FAILED: Error = Error::new("NOAUTH the link has not proved that it is of this cluster");
const MALFORMED: Error = Error::new("ERR a link of another version");

/// That whoever says so knows the cluster's token. It holds for the node that is meant: one that takes another's
/// place cannot pass on what it is told and be taken for a link there.
pub fn prove(token: &[u8], nonce: &[u8], node: NodeId) -> Proof {
    sign(token, &[nonce, &node.0.to_be_bytes()].concat())
}

/// HMAC-SHA-256 (RFC 2104).
fn sign(token: &[u8], said: &[u8]) -> Proof {
    let mut key = [0_u8; BLOCK];
    match token.len() {
        0..=BLOCK => key[..token.len()].copy_from_slice(token),
        _ => key[..32].copy_from_slice(&Sha256::digest(token)),
    }
    let hash = |pad: u8, text: &[u8]| {
        let padded = key.map(|byte| byte ^ pad);
        Sha256::new().chain_update(padded).chain_update(text).finalize()
    };
    hash(0x5c, &hash(0x36, said)).into()
}

/// Looks at every byte whatever the first ones say.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differing) == 0 && one.len() == other.len()
}

/// What a link says of the commands behind it.
pub fn standing(passport: &Passport, lap: u64) -> OwnedArgs {
    let number = |number: u64| itoa::Buffer::new().format(number).as_bytes().to_vec();
    let only = passport.entrance.only.unwrap_or(NO_SHARD);
    let words = [
        WORD.to_vec(),
        b"STAND".to_vec(),
        number(passport.db.into()),
        number(if passport.protocol == Protocol::Resp3 {
            3
        } else {
            2
        }),
        number(passport.no_touch.into()),
        number(only.into()),
        number(lap),
    ];
    OwnedArgs::from_words(words.iter().map(Vec::as_slice))
}

impl Engine {
    /// Whether links are listened to from this client.
    pub(super) fn may_be_link(&self, client: ClientId) -> bool {
        let by_tls = self.world.options.flag(Id::TlsCluster);
        let may = |entrance: Entrance| entrance.door != Door::Routed && entrance.is_tls >= by_tls;
        let session = self.world.sessions.get(client);
        self.world.link_token.is_some() && session.is_some_and(|session| may(session.entrance))
    }

    /// A word of a link. `nonce`: fresh entropy.
    pub fn hear_link(&mut self, client: ClientId, args: Args<'_>, nonce: Nonce, reply: &mut Reply) {
        let heard = match (args.try_get(1).unwrap_or_default(), args.len()) {
            (b"HELLO", 2) => self.challenge(client, nonce, reply),
            (b"PROVE", 3) => self.admit_link(client, args.get(2), reply),
            (b"STAND", 7) => self.stand(client, args, reply),
            _ => Err(MALFORMED),
        };
        if let Err(error) = heard {
            reply.error(error.text());
            self.world.close(client);
        }
    }

    fn challenge(&mut self, client: ClientId, nonce: Nonce, reply: &mut Reply) -> Result<(), Error> {
        let session = self.world.sessions.get_mut(client).ok_or(FAILED)?;
        session.nonce = Some(Box::new(nonce));
        reply.bulk(&nonce);
        Ok(())
    }

    fn admit_link(&mut self, client: ClientId, proof: &[u8], reply: &mut Reply) -> Result<(), Error> {
        let token = self.world.link_token.clone().ok_or(FAILED)?;
        let me = self.world.cluster.as_ref().ok_or(FAILED)?.me;
        let session = self.world.sessions.get_mut(client).ok_or(FAILED)?;
        let nonce = session.nonce.take().ok_or(FAILED)?;
        if !is_same(&prove(&token, &nonce[..], me), proof) {
            return Err(FAILED);
        }
        session.identity.log_in(Users::default().default_user().clone());
        session.entrance = Entrance {
            door: Door::Peer,
            is_tls: session.entrance.is_tls,
            ..Entrance::default()
        };
        reply.ok();
        Ok(())
    }

    fn stand(&mut self, client: ClientId, args: Args<'_>, reply: &mut Reply) -> Result<(), Error> {
        let databases = self.shard.databases.len() as u64;
        let session = self.world.sessions.get_mut(client).ok_or(FAILED)?;
        if session.entrance.door != Door::Peer {
            return Err(FAILED);
        }
        let number = |at: usize| parse_u64(args.get(at)).ok_or(MALFORMED);
        let db = Some(number(2)?).filter(|db| *db < databases).ok_or(MALFORMED)?;
        session.db = db as u16;
        session.protocol = match number(3)? {
            3 => Protocol::Resp3,
            _ => Protocol::Resp2,
        };
        session.no_touch = number(4)? == 1;
        let only = u16::try_from(number(5)?).map_err(|_| MALFORMED)?;
        session.entrance.only = Some(only).filter(|shard| *shard < self.world.topology.shards);
        let lap = number(6)?;
        if lap != session.entrance.lap {
            session.entrance.lap = lap;
            session.is_refusing = false;
        }
        reply.ok();
        Ok(())
    }

    /// A command of the link was refused here, and those behind it are, too. Messages change nothing.
    #[inline]
    pub fn is_refusing(&self, client: ClientId, args: Args<'_>) -> bool {
        self.world.is_clustered()
            && self
                .world
                .sessions
                .get(client)
                .is_some_and(|session| session.is_refusing)
            && COMMANDS
                .find(args.get(0))
                .is_none_or(|entry| entry.spec.group != Group::PubSub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test cases 2 and 6 (a key longer than a block).
    #[test]
    fn proofs_are_those_of_the_standard() {
        let hex = |proof: Proof| proof.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(
            hex(sign(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(sign(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            )),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }
}
