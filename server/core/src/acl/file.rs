//! The ACL file: one `user …` line each. Text in, users out, and back; who reads and writes the file is not
//! known here.
//!
//! A file with any fault in it gives no users at all.

use super::rules::{RuleError, join_selectors};
use super::user::User;
use super::{Users, has_blank};

/// Everything that is wrong with the file, in one line. `path` is how its name is told; `open_channels` as in
/// [`Users`].
pub fn parse(text: &[u8], path: &str, open_channels: bool) -> Result<Users, String> {
    let mut errors = String::new();
    let mut users: Vec<User> = Vec::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let place = format!("{path}:{}", at + 1);
        if let Some(user) = parse_line(line, &users, &place, at + 1, open_channels, &mut errors) {
            users.push(user);
        }
    }
    if errors.is_empty() {
        return Ok(Users::from_users(users, open_channels));
    }
    errors
        .push_str("WARNING: ACL errors detected, no change to the previously active ACL rules was performed");
    Err(errors)
}

fn parse_line(
    line: &[u8],
    known: &[User],
    place: &str,
    number: usize,
    open_channels: bool,
    errors: &mut String,
) -> Option<User> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(b"user"), Some(name)) = (words.next(), words.next()) else {
        errors.push_str(&format!(
            "{place} should start with user keyword followed by the username. "
        ));
        return None;
    };
    let shown = String::from_utf8_lossy(name);
    if has_blank(name) {
        errors.push_str(&format!(
            "'{place}: username '{shown}' contains invalid characters. "
        ));
        return None;
    }
    if known.iter().any(|user| user.name() == name) {
        errors.push_str(&format!(
            "WARNING: Duplicate user '{shown}' found on line {number}. "
        ));
        return None;
    }
    let mut user = User::new(name, open_channels);
    let Ok(rules) = join_selectors(words) else {
        errors.push_str(&format!("{place}: Unmatched parenthesis in selector definition."));
        return Some(user);
    };
    let mut told = false;
    for rule in &rules {
        let rule = rule.trim_ascii();
        match user.apply(rule, open_channels) {
            Ok(()) => {}
            // A command's name is no secret, so the whole rule may be shown.
            Err(why @ RuleError::UnknownCommand) => {
                let rule = String::from_utf8_lossy(rule);
                errors.push_str(&format!("{place}: Error in applying operation '{rule}': {why}. "));
            }
            Err(_) if told => {}
            Err(why) => {
                errors.push_str(&format!("{place}: {why}. "));
                told = true;
            }
        }
    }
    Some(user)
}

/// The file that gives these users again.
pub fn render(users: &Users) -> Vec<u8> {
    let mut text = Vec::new();
    for user in users.iter() {
        text.extend(user.describe());
        text.push(b'\n');
    }
    text
}
