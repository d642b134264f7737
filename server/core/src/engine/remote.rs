//! Commands of one owner's client that run on another owner.
//!
//! The client's own owner checks who it is and what it may, and sends its standing along. The other owner runs
//! the command for a shadow: a session that stands for the client, may everything, and is what waits for keys
//! and watches them there. Invariant: a shadow lives until its client's owner says that the client is gone.

use hashbrown::HashMap;

use super::dispatch::Standing;
use super::door::Entrance;
use super::session::{ClientId, ReplyMode};
use super::{Ahead, Engine, Flow};
use crate::acl::Users;
use crate::command::{Args, COMMANDS, Entry, OwnedArgs};
use crate::error::Error;
use crate::exec::Now;
use crate::resp::{Protocol, Reply};

/// Shadows by the clients that they stand for.
pub(super) type Shadows = HashMap<ClientId, ClientId, foldhash::fast::RandomState>;

/// What another owner has to know of a client to run its command.
#[derive(Clone, Copy, Debug)]
pub struct Passport {
    pub client: ClientId,
    pub db: u16,
    pub protocol: Protocol,
    pub no_touch: bool,
    /// Of its transaction.
    pub slot: Option<u16>,
    pub entrance: Entrance,
}

/// Whether a command leaves.
pub enum Departure {
    /// `silent`: `CLIENT REPLY` has its answer dropped.
    Go { passport: Passport, silent: bool },
    /// It does not: whatever is to be answered is in the reply.
    Stay(Flow),
}

impl Engine {
    /// The checks that need the client's own session, for a command that will run elsewhere.
    pub fn depart(
        &mut self,
        client: ClientId,
        args: Args<'_>,
        ahead: &Ahead,
        now: Now,
        reply: &mut Reply,
    ) -> Departure {
        let Some(session) = self
            .world
            .sessions
            .get_mut(client)
            .filter(|session| !session.closing)
        else {
            return Departure::Stay(Flow::Close);
        };
        session.active_ms = now.ms();
        // One that may wait is counted when it is answered.
        session.commands += u64::from(!ahead.is_blocking());
        let silent = match session.reply_mode {
            ReplyMode::On => false,
            ReplyMode::Off => true,
            ReplyMode::SkipNext | ReplyMode::Skip => {
                session.reply_mode = ReplyMode::On;
                true
            }
        };
        let passport = Passport {
            client,
            db: session.db,
            protocol: session.protocol,
            no_touch: session.no_touch,
            slot: session.slot,
            entrance: session.entrance,
        };
        reply.set_proto(session.protocol);
        let Some(entry) = ahead.entry else {
            return Departure::Go { passport, silent };
        };
        let entry = super::course::whole_entry(entry, args);
        session.last_command = Some(entry.id);
        let standing = Standing::of(session);
        match self.check_departure(client, standing, entry, args, now) {
            Ok(()) => Departure::Go { passport, silent },
            Err(error) => {
                let start = reply.len();
                self.world.stats.commands[entry.id as usize].rejected += 1;
                self.refuse(client, Some(entry), error, reply);
                if silent {
                    reply.truncate(start);
                }
                Departure::Stay(Flow::Continue)
            }
        }
    }

    /// Refuses a command because of the spread.
    pub fn refuse_course(
        &mut self,
        client: ClientId,
        args: Args<'_>,
        ahead: &Ahead,
        error: Error,
        now: Now,
        reply: &mut Reply,
    ) -> Flow {
        match self.depart(client, args, ahead, now, reply) {
            Departure::Stay(flow) => flow,
            Departure::Go { silent, .. } => {
                let start = reply.len();
                self.refuse(client, ahead.entry, error, reply);
                if silent {
                    reply.truncate(start);
                }
                Flow::Continue
            }
        }
    }

    /// Shows a command that leaves to those who monitor: where it runs, who sent it is not known.
    pub fn show_departed(&mut self, client: ClientId, args: Args<'_>, now: Now) {
        if !self.world.observer.monitors.is_empty()
            && let Some(entry) = COMMANDS.find(args.get(0))
        {
            let entry = super::course::whole_entry(entry, args);
            self.world.show_to_monitors(entry, args, client, now);
        }
    }

    fn check_departure(
        &mut self,
        client: ClientId,
        standing: Standing,
        entry: &Entry,
        args: Args<'_>,
        now: Now,
    ) -> Result<(), Error> {
        if !standing.is_unrestricted() {
            self.check_login(client, Some(entry))?;
        }
        if standing.is_bound() {
            self.check_no_multi(client, entry)?;
        }
        if !standing.is_unrestricted() {
            self.check_rules(client, entry, args, now)?;
        }
        self.check_log_room(client, standing, entry)?;
        if standing.is_bound() {
            self.check_subscriber(client, entry)?;
        }
        self.check_loaded(client, entry)?;
        Ok(())
    }

    /// What `MULTI` took in, for another owner to run: the transaction is over here. `None` where `EXEC` refuses.
    pub fn take_transaction(&mut self, client: ClientId) -> Option<Vec<OwnedArgs>> {
        let session = self.world.sessions.get_mut(client)?;
        session.slot = None;
        let queue = session.take_queue()?;
        self.world.end_transaction(client, &mut self.shard.interest);
        Some(queue)
    }

    /// The session for whom commands of another owner's client run.
    pub fn shadow_of(&mut self, client: ClientId, now: Now) -> ClientId {
        let known = self.shadows.get(&client).copied();
        known.unwrap_or_else(|| self.open_shadow(client, now))
    }

    /// The client that the session stands for, if it is a shadow.
    pub fn home_of(&self, session: ClientId) -> Option<ClientId> {
        self.world.sessions.get(session)?.home
    }

    pub fn has_shadow(&self, client: ClientId) -> bool {
        self.shadows.contains_key(&client)
    }

    /// Gives a shadow the standing that its client has with its next command.
    pub fn dress(&mut self, shadow: ClientId, passport: &Passport) {
        if let Some(session) = self.world.sessions.get_mut(shadow).filter(|s| s.home.is_some()) {
            session.db = passport.db;
            session.protocol = passport.protocol;
            session.no_touch = passport.no_touch;
            session.slot = passport.slot.or(session.slot);
            if session.entrance.lap != passport.entrance.lap {
                session.is_refusing = false;
            }
            session.entrance = passport.entrance;
        }
    }

    fn open_shadow(&mut self, client: ClientId, now: Now) -> ClientId {
        let sessions = &mut self.world.sessions;
        // Rights are checked at home, by rules that may differ from those of any user here.
        let everything = Users::default();
        let shadow = sessions.open(
            String::new(),
            String::new(),
            -1,
            now.ms(),
            everything.default_user(),
        );
        sessions.mark_shadow(shadow, client);
        self.shadows.insert(client, shadow);
        shadow
    }

    /// The client of another owner is gone, with all that it waited for or watched here.
    pub fn forget_shadow(&mut self, client: ClientId) -> Option<ClientId> {
        let shadow = self.shadows.remove(&client)?;
        self.disconnect(shadow);
        Some(shadow)
    }

    /// The client's standing as it is now.
    pub fn passport(&self, client: ClientId) -> Passport {
        let session = self.world.sessions.get(client);
        Passport {
            client,
            db: session.map_or(0, |session| session.db),
            protocol: session.map_or(Protocol::Resp2, |session| session.protocol),
            no_touch: session.is_some_and(|session| session.no_touch),
            slot: session.and_then(|session| session.slot),
            entrance: session.map_or(Entrance::default(), |session| session.entrance),
        }
    }

    /// A command that may have waited elsewhere is answered.
    pub fn count_answered(&mut self, client: ClientId) {
        if let Some(session) = self.world.sessions.get_mut(client) {
            session.commands += 1;
        }
    }

    pub fn is_connected(&self, client: ClientId) -> bool {
        self.world.sessions.get(client).is_some()
    }

    /// Takes over what a command that ran elsewhere changed of the session.
    pub fn take_database(&mut self, client: ClientId, db: u16) {
        if let Some(session) = self.world.sessions.get_mut(client) {
            session.db = db;
        }
    }

    pub fn protocol_of(&self, client: ClientId) -> Protocol {
        self.world
            .sessions
            .get(client)
            .map_or(Protocol::Resp2, |session| session.protocol)
    }
}
