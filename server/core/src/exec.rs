//! What a command's function is given, and what it gives back.
//!
//! A keyspace command touches `db` (the keyspace of its shard) and `reply`, and nothing else: it may run
//! on an owner thread other than its connection's. Session and server commands use `world`.

use crate::command::OwnedArgs;
use crate::engine::World;
use crate::engine::session::ClientId;
use crate::error::Error;
use crate::keyspace::Db;
use crate::resp::Reply;

/// The time of a turn, read once by the caller. Never runs backwards within a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Unix time in microseconds.
    pub us: u64,
}

impl Now {
    pub const fn from_ms(ms: u64) -> Self {
        Self { us: ms * 1000 }
    }

    #[inline]
    pub const fn ms(self) -> u64 {
        self.us / 1000
    }
}

/// Who asks: the little of a session that keyspace commands may know.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    pub client: ClientId,
    /// Inside `EXEC` (or a script): blocking commands answer at once.
    pub may_block: bool,
    /// This is a blocked command tried again because a key it waits for changed.
    pub retry: bool,
}

pub struct Exec<'a> {
    pub now: Now,
    pub caller: Caller,
    pub db: Db<'a>,
    pub world: &'a mut World,
    pub reply: &'a mut Reply,
}

/// `Ok`: the reply was written. `Err(Error)`: whatever was written is taken back and the error is sent.
pub type Outcome = Result<(), Failure>;

#[derive(Debug)]
pub enum Failure {
    Error(Error),
    /// Wait until one of the keys changes or the time is up. Nothing was written or changed.
    Block(Box<Block>),
    /// The client's queued commands are to run now; their replies are this one's.
    RunQueued,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// How a command waits. When a key among `keys` is touched the same command is run again with
/// `caller.retry`; it either answers or blocks again, keeping its place in the queue.
#[derive(Debug)]
pub struct Block {
    pub keys: OwnedArgs,
    /// Unix milliseconds; `None` waits for ever.
    pub deadline_ms: Option<u64>,
    /// Try again then, although no key was touched; the wait goes on if the command blocks again, which
    /// names the next such time.
    pub wake_ms: Option<u64>,
    pub on_timeout: OnTimeout,
    pub awaits: Await,
}

/// What ends a wait before its time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Await {
    /// A change to one of its keys.
    Keys,
    /// The log has made durable all that was executed so far.
    Sync,
    /// The image holds all that was executed so far, or could not be made.
    Image,
    /// The keyspace has been made anew from what is kept.
    Reload,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    Null,
    NullArray,
    /// `WAIT`, `WAITAOF`, `IDEM BEGIN … BLOCK`: the command is run once more with `may_block` off.
    RunAgain,
}

impl Exec<'_> {
    /// Waits for `keys`, or says that there is nothing where waiting is not allowed. `timeout_ms` 0 is
    /// for ever.
    pub fn block<'k>(
        &mut self,
        keys: impl Iterator<Item = &'k [u8]>,
        timeout_ms: u64,
        on_timeout: OnTimeout,
    ) -> Outcome {
        if !self.caller.may_block {
            // Inside a transaction the time is up at once.
            match on_timeout {
                OnTimeout::Null => self.reply.null(),
                OnTimeout::NullArray | OnTimeout::RunAgain => self.reply.null_array(),
            }
            return Ok(());
        }
        // Nobody waits shorter than told: the millisecond that is running does not count.
        let now_ms = self.now.us.div_ceil(1000);
        let deadline_ms = (timeout_ms > 0).then(|| now_ms.saturating_add(timeout_ms));
        Err(Failure::Block(Box::new(Block {
            keys: OwnedArgs::from_words(keys),
            deadline_ms,
            wake_ms: None,
            on_timeout,
            awaits: Await::Keys,
        })))
    }

    /// Waits for something of the whole node; `has_come` tells of it when the command runs again. Only where
    /// `may_block` says so.
    pub fn block_for(&mut self, awaits: Await, timeout_ms: u64) -> Outcome {
        let outcome = self.block(std::iter::empty(), timeout_ms, OnTimeout::RunAgain);
        if let Err(Failure::Block(mut block)) = outcome {
            block.awaits = awaits;
            return Err(Failure::Block(block));
        }
        outcome
    }

    /// What the command waited for is there.
    pub fn has_come(&self) -> bool {
        let session = self.world.sessions.get(self.caller.client);
        let blocked = session.and_then(|session| session.blocked.as_ref());
        self.caller.retry && blocked.is_some_and(|blocked| blocked.has_come)
    }

    /// Waits for `key`, or for `wake_ms` (Unix milliseconds, after now) when something ends by itself; when
    /// the time is up the command is run again and must answer. Only where `may_block` says so.
    pub fn block_until(&mut self, key: &[u8], timeout_ms: u64, wake_ms: u64) -> Outcome {
        let outcome = self.block(std::iter::once(key), timeout_ms, OnTimeout::RunAgain);
        if let Err(Failure::Block(mut block)) = outcome {
            block.wake_ms = Some(wake_ms);
            return Err(Failure::Block(block));
        }
        outcome
    }
}
