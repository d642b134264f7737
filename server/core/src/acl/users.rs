//! All users by name. The default user is always among them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rules::join_selectors;
use super::user::User;
use super::{DEFAULT, has_blank};
use crate::error::Error;

pub struct Users {
    by_name: BTreeMap<Vec<u8>, Arc<User>>,
    /// `acl-pubsub-default allchannels`: new users and selectors may use every channel.
    pub open_channels: bool,
}

impl Default for Users {
    fn default() -> Self {
        let mut users = Self {
            by_name: BTreeMap::new(),
            open_channels: false,
        };
        users.put(User::first_default());
        users
    }
}

impl Users {
    pub fn get(&self, name: &[u8]) -> Option<&Arc<User>> {
        self.by_name.get(name)
    }

    pub fn default_user(&self) -> &Arc<User> {
        &self.by_name[DEFAULT]
    }

    /// In the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<User>> {
        self.by_name.values()
    }

    /// Adds the user, or puts it in the place of the one of that name.
    pub fn put(&mut self, user: User) -> Arc<User> {
        let user = Arc::new(user);
        self.by_name.insert(user.name().to_vec(), Arc::clone(&user));
        user
    }

    /// `false` if there was none. The default user stays.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        name != DEFAULT && self.by_name.remove(name).is_some()
    }

    /// Applies all rules to the user of that name, new or known, or none of them.
    pub fn change<'w>(
        &mut self,
        name: &[u8],
        rules: impl Iterator<Item = &'w [u8]>,
    ) -> Result<Arc<User>, Error> {
        if has_blank(name) {
            return Err(Error::new(
                "ERR Usernames can't contain spaces or null characters",
            ));
        }
        let rules = join_selectors(rules).map_err(|word| {
            let word = String::from_utf8_lossy(word);
            Error::from(format!(
                "ERR Unmatched parenthesis in acl selector starting at '{word}'."
            ))
        })?;
        let mut user = self
            .get(name)
            .map_or_else(|| User::new(name, self.open_channels), |known| User::clone(known));
        for rule in &rules {
            user.apply(rule, self.open_channels).map_err(|why| {
                let rule = String::from_utf8_lossy(rule);
                Error::from(format!("ERR Error in ACL SETUSER modifier '{rule}': {why}"))
            })?;
        }
        Ok(self.put(user))
    }

    /// `requirepass`: the default user's only password, or none at all if it is empty.
    pub fn set_default_password(&mut self, password: &[u8]) -> Arc<User> {
        let mut user = User::clone(self.default_user());
        let rule = if password.is_empty() {
            b"nopass".to_vec()
        } else {
            [b">", password].concat()
        };
        for rule in [b"resetpass", rule.as_slice()] {
            user.apply(rule, false).expect("a rule of ours");
        }
        self.put(user)
    }

    /// Another set of users takes the place of all. A file need not name the default user.
    pub(super) fn from_users(users: Vec<User>, open_channels: bool) -> Self {
        let mut all = Self {
            open_channels,
            ..Self::default()
        };
        for user in users {
            all.put(user);
        }
        all
    }
}
