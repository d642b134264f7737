//! Users with their passwords, as hashes: what is passed on from here holds no password.

use sha2::{Digest, Sha256};

use super::{Invalid, secret};
use crate::api::{Auth, Reason, User};
use crate::observe::Observed;

const PASSWORD_BYTES_MAX: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidUser {
    pub name: String,
    /// SHA-256 of each password, in hexadecimal digits.
    pub hashes: Vec<String>,
    pub rules: String,
}

pub fn check(auth: Option<&Auth>, observed: &Observed) -> Result<Option<Vec<ValidUser>>, Invalid> {
    let Some(auth) = auth else {
        return Ok(None);
    };
    let mut users: Vec<ValidUser> = Vec::new();
    for user in &auth.users {
        let user = one(user, observed)?;
        if users.iter().any(|other| other.name == user.name) {
            let says = format!(
                "auth.users has {} twice: give it all its passwords in one entry",
                user.name
            );
            return Err(Invalid::new(Reason::InvalidUser, says));
        }
        users.push(user);
    }
    Ok(Some(users))
}

fn one(user: &User, observed: &Observed) -> Result<ValidUser, Invalid> {
    let bad = |says: String| Err(Invalid::new(Reason::InvalidUser, says));
    let name = &user.name;
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return bad(format!(
            "auth.users has the name \"{name}\": use one without blanks"
        ));
    }
    if user.rules.contains(|c: char| c.is_control()) {
        return bad(format!(
            "the rules of user {name} are more than one line: write them in one, like ~* +@all"
        ));
    }
    // Rules that give or take passwords would go around the Secrets, and stand in the clear.
    let of_passwords = |rule: &&str| {
        rule.starts_with(['>', '<', '#', '!']) || ["nopass", "resetpass", "reset"].contains(rule)
    };
    if let Some(rule) = user.rules.split_whitespace().find(of_passwords) {
        return bad(format!(
            "the rules of user {name} have {rule}: passwords come from passwordSecrets, remove it"
        ));
    }
    let mut hashes = Vec::new();
    for source in &user.password_secrets {
        let password = secret(observed, &source.name, &source.key)?;
        if password.is_empty() || password.len() > PASSWORD_BYTES_MAX || password.contains(&b'\n') {
            return bad(format!(
                "the Secret {} has in {} what is no password: it is one line of 1 to {PASSWORD_BYTES_MAX} bytes; was it \
                 made with a newline at its end?",
                source.name, source.key
            ));
        }
        hashes.push(
            Sha256::digest(password)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        );
    }
    if hashes.is_empty() {
        return bad(format!(
            "user {name} has no password: name a Secret in passwordSecrets"
        ));
    }
    Ok(ValidUser {
        name: name.clone(),
        hashes,
        rules: user.rules.clone(),
    })
}
