//! A user: may it log in, with which passwords, and what may it do then.

use super::password::{Hash, hash};
use super::rules::RuleError;
use super::selector::Selector;
use crate::text::fold;

#[derive(Clone)]
pub struct User {
    name: Vec<u8>,
    enabled: bool,
    /// Any password is right.
    nopass: bool,
    passwords: Vec<Hash>,
    root: Selector,
    selectors: Vec<Selector>,
    /// Nothing has to be checked.
    unrestricted: bool,
}

impl User {
    /// As `ACL SETUSER` makes it without rules: off, and may do nothing. `open_channels` gives it every channel,
    /// as `acl-pubsub-default` may have it.
    pub fn new(name: &[u8], open_channels: bool) -> Self {
        Self {
            name: name.to_vec(),
            enabled: false,
            nopass: false,
            passwords: Vec::new(),
            root: Selector::with_channels(open_channels),
            selectors: Vec::new(),
            unrestricted: false,
        }
    }

    /// The default user at the first start: on, without a password, and may do everything.
    pub fn first_default() -> Self {
        let mut root = Selector::new();
        for rule in ["+@all", "~*", "&*"] {
            root.apply(rule.as_bytes()).expect("a rule of ours");
        }
        let unrestricted = root.is_unrestricted();
        Self {
            enabled: true,
            nopass: true,
            root,
            unrestricted,
            ..Self::new(super::DEFAULT, false)
        }
    }

    pub fn name(&self) -> &[u8] {
        &self.name
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub fn is_nopass(&self) -> bool {
        self.nopass
    }

    #[inline]
    pub fn is_unrestricted(&self) -> bool {
        self.unrestricted
    }

    pub fn passwords(&self) -> &[Hash] {
        &self.passwords
    }

    /// Whether connections that never authenticated are this user.
    pub fn needs_no_login(&self) -> bool {
        self.enabled && self.nopass
    }

    /// Whether this password lets one in.
    pub fn accepts(&self, password: &[u8]) -> bool {
        if !self.enabled || self.nopass {
            return self.enabled;
        }
        let given = hash(password);
        self.passwords
            .iter()
            .fold(false, |any, known| any | known.same(&given))
    }

    pub fn root(&self) -> &Selector {
        &self.root
    }

    /// Those in parentheses.
    pub fn further_selectors(&self) -> &[Selector] {
        &self.selectors
    }

    pub fn selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.selectors)
    }

    /// One rule, as `ACL SETUSER` and the ACL file have them. An empty one says nothing. `open_channels` is
    /// about what the rule makes anew.
    pub fn apply(&mut self, rule: &[u8], open_channels: bool) -> Result<(), RuleError> {
        let done = self.apply_one(rule, open_channels);
        let unrestricted = self.selectors().any(Selector::is_unrestricted);
        self.unrestricted = unrestricted;
        done
    }

    fn apply_one(&mut self, rule: &[u8], open_channels: bool) -> Result<(), RuleError> {
        if rule.is_empty() || fold::is(rule, "SANITIZE-PAYLOAD") || fold::is(rule, "SKIP-SANITIZE-PAYLOAD") {
            // Payloads are always verified.
        } else if fold::is(rule, "ON") {
            self.enabled = true;
        } else if fold::is(rule, "OFF") {
            self.enabled = false;
        } else if fold::is(rule, "NOPASS") {
            self.nopass = true;
            self.passwords.clear();
        } else if fold::is(rule, "RESETPASS") {
            self.nopass = false;
            self.passwords.clear();
        } else if fold::is(rule, "CLEARSELECTORS") {
            self.selectors.clear();
        } else if fold::is(rule, "RESET") {
            *self = Self::new(&self.name, open_channels);
        } else {
            match rule {
                [b'>', password @ ..] => self.add_password(hash(password)),
                [b'#', digits @ ..] => self.add_password(Hash::parse(digits).ok_or(RuleError::BadHash)?),
                [b'<', password @ ..] => self.remove_password(hash(password))?,
                [b'!', digits @ ..] => {
                    self.remove_password(Hash::parse(digits).ok_or(RuleError::BadHash)?)?
                }
                [b'(', .., b')'] => self.selectors.push(Selector::parse(rule, open_channels)?),
                _ => self.root.apply(rule)?,
            }
        }
        Ok(())
    }

    fn add_password(&mut self, password: Hash) {
        if !self.passwords.contains(&password) {
            self.passwords.push(password);
        }
        self.nopass = false;
    }

    fn remove_password(&mut self, password: Hash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|known| *known == password);
        self.passwords.remove(at.ok_or(RuleError::NoSuchPassword)?);
        Ok(())
    }

    /// The words `on`, `off` and `nopass` that hold.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> {
        let nopass = self.nopass.then_some("nopass");
        [Some(if self.enabled { "on" } else { "off" }), nopass]
            .into_iter()
            .flatten()
    }

    /// `user alice on #… ~* resetchannels -@all +get`: the line of the ACL file and of `ACL LIST`.
    pub fn describe(&self) -> Vec<u8> {
        let mut out = b"user ".to_vec();
        out.extend_from_slice(&self.name);
        out.push(b' ');
        for flag in self.flags() {
            out.extend(flag.bytes());
            out.push(b' ');
        }
        for password in &self.passwords {
            out.push(b'#');
            password.push_hex(&mut out);
            out.push(b' ');
        }
        self.root.describe(&mut out);
        for selector in &self.selectors {
            out.extend(b" (");
            selector.describe(&mut out);
            out.push(b')');
        }
        out
    }
}
