//! Who a connection is: its user, and what it says of itself.
//!
//! `unrestricted` is what the other fields and the default user amount to, so that a command costs one test
//! where there is nothing to check.

use std::sync::Arc;

use crate::acl::User;

pub struct Identity {
    user: Arc<User>,
    authenticated: bool,
    unrestricted: bool,
    pub name: Vec<u8>,
    pub library_name: Vec<u8>,
    pub library_version: Vec<u8>,
    /// `CLIENT CAPA REDIRECT`.
    pub follows_redirects: bool,
    pub no_evict: bool,
}

impl Identity {
    /// A fresh connection. It counts as authenticated for good if nobody asks for a password now.
    pub fn new(default_user: &Arc<User>) -> Self {
        let authenticated = default_user.needs_no_login();
        Self {
            user: Arc::clone(default_user),
            authenticated,
            unrestricted: authenticated && default_user.is_unrestricted(),
            name: Vec::new(),
            library_name: Vec::new(),
            library_version: Vec::new(),
            follows_redirects: false,
            no_evict: false,
        }
    }

    pub fn user(&self) -> &Arc<User> {
        &self.user
    }

    /// Nothing has to be checked.
    #[inline]
    pub fn is_unrestricted(&self) -> bool {
        self.unrestricted
    }

    /// Whether commands beyond `AUTH` and its like are answered at all.
    pub fn may_speak(&self, default_user: &User) -> bool {
        self.authenticated || default_user.needs_no_login()
    }

    pub fn log_in(&mut self, user: Arc<User>) {
        self.unrestricted = user.is_unrestricted();
        self.user = user;
        self.authenticated = true;
    }

    /// Back to what it was when it came; the library behind it stays the same.
    pub fn reset(&mut self, default_user: &Arc<User>) {
        *self = Self {
            library_name: std::mem::take(&mut self.library_name),
            library_version: std::mem::take(&mut self.library_version),
            follows_redirects: self.follows_redirects,
            ..Self::new(default_user)
        };
    }

    /// The user has new rules.
    pub fn update(&mut self, user: Arc<User>, default_user: &User) {
        self.unrestricted = user.is_unrestricted() && self.may_speak(default_user);
        self.user = user;
    }

    /// The default user has new rules: they decide whether strangers may speak.
    pub fn recheck(&mut self, default_user: &User) {
        self.unrestricted = self.user.is_unrestricted() && self.may_speak(default_user);
    }

    pub fn size(&self) -> usize {
        self.name.capacity() + self.library_name.capacity() + self.library_version.capacity()
    }
}
