//! Who may run what: the checks before a command, and what a change of users does to those who are here.

use std::sync::Arc;

use super::session::{ClientId, Session};
use super::{Door, Engine, World, describe};
use crate::acl::log::{Context, Refusal};
use crate::acl::{self, Denial, Reason, User, Users};
use crate::command::generic::refused_pattern;
use crate::command::spec::Flags;
use crate::command::{Args, Entry};
use crate::error::Error;
use crate::exec::Now;

const NO_AUTH: Error = Error::new("NOAUTH Authentication required.");
const WRONG_PASS: Error = Error::new("WRONGPASS invalid username-password pair or user is disabled.");

impl Engine {
    /// May the client speak at all? Asked before anything else, whether or not the command exists.
    pub(super) fn check_login(&self, client: ClientId, entry: Option<&Entry>) -> Result<(), Error> {
        let may_speak = |session: &Session| session.identity.may_speak(self.world.users.default_user());
        let is_free = entry.is_some_and(|entry| entry.flags.has(Flags::NO_AUTH));
        if is_free || self.world.sessions.get(client).is_none_or(may_speak) {
            Ok(())
        } else {
            Err(NO_AUTH)
        }
    }

    /// Do the rules of the client's user allow this command? A refusal is put down in the log.
    pub(super) fn check_rules(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
        now: Now,
    ) -> Result<(), Error> {
        self.find_denial(client, entry, args, now).map_or_else(
            || self.check_sort(client, entry, args),
            |(denial, user)| {
                let told = match denial.reason {
                    Reason::Command => describe_denial(denial, &user, entry, b""),
                    Reason::Key => "No permissions to access a key".to_string(),
                    Reason::Channel => "No permissions to access a channel".to_string(),
                    Reason::Database | Reason::Auth => "No permissions to access database".to_string(),
                };
                Err(Error::from(format!("NOPERM {told}")))
            },
        )
    }

    /// The patterns of `SORT` read keys that its words do not name: only who may read all may use them.
    fn check_sort(&self, client: ClientId, entry: &Entry, args: Args<'_>) -> Result<(), Error> {
        let may_store = entry.spec.name == "sort";
        let is_sort = may_store || entry.spec.name == "sort_ro";
        let Some(session) = self.world.sessions.get(client).filter(|_| is_sort) else {
            return Ok(());
        };
        if session
            .identity
            .user()
            .may_read_every_key(entry, args, session.db)
        {
            return Ok(());
        }
        refused_pattern(args, may_store).map_or(Ok(()), Err)
    }

    /// The same for a command that `MULTI` took in earlier.
    pub fn check_rules_again(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
        now: Now,
    ) -> Result<(), Error> {
        self.find_denial(client, entry, args, now).map_or(Ok(()), |(denial, _)| {
            let reason = match denial.reason {
                Reason::Command => "no permission to execute the command or subcommand",
                Reason::Key => "no permission to touch the specified keys",
                Reason::Channel => "no permission to access one of the channels used as arguments to the command",
                Reason::Database | Reason::Auth => "no permission",
            };
            Err(Error::from(format!(
                "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC \
                 call. This command is no longer allowed for the following reason: {reason}"
            )))
        })
    }

    fn find_denial(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
        now: Now,
    ) -> Option<(Denial, Arc<User>)> {
        let session = self.world.sessions.get(client)?;
        let user = Arc::clone(session.identity.user());
        let denial = user.check(entry, args, session.db).err()?;
        let object = match denial.reason {
            Reason::Command => entry.full_name.clone().into_bytes(),
            _ => args.get(denial.word).to_vec(),
        };
        self.world
            .note_refusal(client, denial.reason, object, user.name().to_vec(), now);
        Some((denial, user))
    }
}

/// What `ACL DRYRUN` says. `word` is the one to blame.
pub fn describe_denial(denial: Denial, user: &User, entry: &Entry, word: &[u8]) -> String {
    let user = String::from_utf8_lossy(user.name());
    let word = String::from_utf8_lossy(word);
    match denial.reason {
        Reason::Command => format!(
            "User {user} has no permissions to run the '{}' command",
            entry.full_name
        ),
        Reason::Key => format!("User {user} has no permissions to access the '{word}' key"),
        Reason::Channel => format!("User {user} has no permissions to access the '{word}' channel"),
        Reason::Database | Reason::Auth => {
            format!("User {user} has no permissions to access database {word}")
        }
    }
}

impl World {
    /// Checks the password and makes the client that user. `command` is the name the client wrote.
    pub fn log_in(
        &mut self,
        client: ClientId,
        username: &[u8],
        password: &[u8],
        command: &[u8],
        now: Now,
    ) -> Result<(), Error> {
        match self.users.get(username) {
            Some(user) if user.accepts(password) => {
                let user = Arc::clone(user);
                if let Some(session) = self.sessions.get_mut(client) {
                    session.identity.log_in(user);
                }
                Ok(())
            }
            _ => {
                self.note_refusal(client, Reason::Auth, command.to_vec(), username.to_vec(), now);
                Err(WRONG_PASS)
            }
        }
    }

    fn note_refusal(
        &mut self,
        client: ClientId,
        reason: Reason,
        object: Vec<u8>,
        username: Vec<u8>,
        now: Now,
    ) {
        let Some(session) = self.sessions.get(client) else {
            return;
        };
        let context = if session.in_multi() {
            Context::Multi
        } else {
            Context::TopLevel
        };
        let client_info = describe::line(session, now.ms());
        let refusal = Refusal {
            reason,
            context,
            object,
            username,
            client_info,
        };
        self.keep_refusal(refusal, now.ms());
    }

    /// A user has new rules: they hold from the next command on, and who listens where it no longer may is
    /// closed.
    pub fn user_changed(&mut self, user: &Arc<User>) {
        let default_user = Arc::clone(self.users.default_user());
        let is_default = user.name() == default_user.name();
        let mut closing = Vec::new();
        self.sessions.for_each_mut(|session| {
            if session.entrance.door == Door::Peer {
                // What it may is checked where its clients are.
            } else if session.identity.user().name() == user.name() {
                session.identity.update(Arc::clone(user), &default_user);
                if !session.may_stay_subscribed() {
                    closing.push(session.id);
                }
            } else if is_default {
                session.identity.recheck(&default_user);
            }
        });
        closing.into_iter().for_each(|client| self.close(client));
    }

    /// The user is gone: so are its connections.
    pub fn user_removed(&mut self, name: &[u8]) {
        let gone: Vec<ClientId> = self
            .sessions
            .iter()
            .filter(|s| s.identity.user().name() == name)
            .map(|s| s.id)
            .collect();
        gone.into_iter().for_each(|client| self.close(client));
    }

    /// Another set of users: connections stay whose user is still among them.
    pub fn replace_users(&mut self, users: Users) {
        let before = std::mem::replace(&mut self.users, users);
        for user in before.iter() {
            match self.users.get(user.name()).cloned() {
                Some(user) => self.user_changed(&user),
                None => self.user_removed(user.name()),
            }
        }
    }

    /// Reads the ACL file and puts its users in the place of all, or says what is wrong with it.
    pub fn load_users(&mut self, path: &str) -> Result<(), String> {
        let text = self
            .host
            .read_file(path)
            .map_err(|why| format!("Error loading ACLs, opening file '{path}': {why}"))?;
        let users = acl::file::parse(&text, path, self.users.open_channels)?;
        self.replace_users(users);
        Ok(())
    }

    /// `requirepass`.
    pub fn set_default_password(&mut self, password: &[u8]) {
        let user = self.users.set_default_password(password);
        self.user_changed(&user);
    }
}
