//! Writes of the model client: the command each is, what it does to the model, and what it answers.

use std::collections::VecDeque;

use super::group::{Data, Entry, Group, QUOTA, QUOTA_PER_MS, State};

#[derive(Clone, Debug)]
pub enum Step {
    Set(&'static str, String),
    SetUntil(&'static str, String, u64),
    Append(&'static str, String),
    Incr(&'static str, i64),
    Push(&'static str, Vec<String>),
    Pop(&'static str),
    Trim(&'static str),
    HashSet(String, String),
    HashDelete(String),
    HashIncr(String, i64),
    SetAdd(String),
    SetRemove(String),
    SortedAdd(String, i64),
    SortedPop,
    Delete(&'static str),
    Rename(&'static str, &'static str),
    Expire(&'static str, u64),
    Persist(&'static str),
    Charge(i64),
    Begin(String),
    Complete(String, i64, String),
}

/// What an answer has to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// In the notation of transcripts.
    Is(String),
    Begins(String),
    /// A new fence, higher than all before it.
    Fence,
}

const TRIMMED: usize = 12;
const LEASE_MS: &str = "86400000";

fn number(value: usize) -> Answer {
    Answer::Is(format!(":{value}"))
}

fn ok() -> Answer {
    Answer::Is("+OK".to_owned())
}

impl Step {
    pub fn key(&self) -> &'static str {
        match self {
            Self::Set(key, _)
            | Self::SetUntil(key, ..)
            | Self::Append(key, _)
            | Self::Incr(key, _)
            | Self::Push(key, _)
            | Self::Pop(key)
            | Self::Trim(key)
            | Self::Delete(key)
            | Self::Rename(key, _)
            | Self::Expire(key, _)
            | Self::Persist(key) => key,
            Self::HashSet(..) | Self::HashDelete(_) | Self::HashIncr(..) => "h0",
            Self::SetAdd(_) | Self::SetRemove(_) => "e0",
            Self::SortedAdd(..) | Self::SortedPop => "z0",
            Self::Charge(_) => "q0",
            Self::Begin(_) | Self::Complete(..) => "i0",
        }
    }

    pub fn command(&self, group: &Group) -> Vec<String> {
        let key = group.key(self.key());
        let words = |name: &str, rest: &[&str]| {
            let mut words: Vec<String> = name.split(' ').map(str::to_owned).collect();
            words.push(key.clone());
            words.extend(rest.iter().map(|word| word.to_string()));
            words
        };
        match self {
            Self::Set(_, value) => words("SET", &[value]),
            Self::SetUntil(_, value, at) => words("SET", &[value, "PXAT", &at.to_string()]),
            Self::Append(_, more) => words("APPEND", &[more]),
            Self::Incr(_, by) => words("INCRBY", &[&by.to_string()]),
            Self::Push(_, values) => words("RPUSH", &values.iter().map(String::as_str).collect::<Vec<_>>()),
            Self::Pop(_) => words("LPOP", &[]),
            Self::Trim(_) => words("LTRIM", &[&format!("-{TRIMMED}"), "-1"]),
            Self::HashSet(field, value) => words("HSET", &[field, value]),
            Self::HashDelete(field) => words("HDEL", &[field]),
            Self::HashIncr(field, by) => words("HINCRBY", &[field, &by.to_string()]),
            Self::SetAdd(member) => words("SADD", &[member]),
            Self::SetRemove(member) => words("SREM", &[member]),
            Self::SortedAdd(member, score) => words("ZADD", &[&score.to_string(), member]),
            Self::SortedPop => words("ZPOPMIN", &[]),
            Self::Delete(_) => words("DEL", &[]),
            Self::Rename(_, to) => words("RENAME", &[&group.key(to)]),
            Self::Expire(_, at) => words("PEXPIREAT", &[&at.to_string()]),
            Self::Persist(_) => words("PERSIST", &[]),
            Self::Charge(cost) => {
                let (quota, cost) = (QUOTA.to_string(), cost.to_string());
                words("LIMIT", &["WINDOW", &quota, "PER", QUOTA_PER_MS, "COST", &cost])
            }
            Self::Begin(owner) => words("IDEM BEGIN", &["print", "OWNER", owner, "LEASE", LEASE_MS]),
            Self::Complete(owner, fence, result) => words(
                "IDEM COMPLETE",
                &[owner, &fence.to_string(), result, "TTL", LEASE_MS],
            ),
        }
    }

    /// Does to the model what the command does to the server.
    pub fn apply(&self, state: &mut State) -> Answer {
        match self {
            Self::Set(key, value) => {
                state.keys.insert(key, Entry::new(Data::Text(value.clone())));
                ok()
            }
            Self::SetUntil(key, value, at) => {
                let mut entry = Entry::new(Data::Text(value.clone()));
                entry.expires_ms = Some(*at);
                state.keys.insert(key, entry);
                ok()
            }
            Self::Append(key, more) => {
                let text = state.text(key);
                text.push_str(more);
                number(text.len())
            }
            Self::Incr(key, by) => {
                let text = state.text(key);
                let sum = text.parse::<i64>().unwrap_or(0) + by;
                *text = sum.to_string();
                Answer::Is(format!(":{sum}"))
            }
            Self::Push(..) | Self::Pop(_) | Self::Trim(_) => self.apply_to_list(state),
            Self::HashSet(..) | Self::HashDelete(_) | Self::HashIncr(..) => self.apply_to_hash(state),
            Self::SetAdd(_) | Self::SetRemove(_) | Self::SortedAdd(..) | Self::SortedPop => {
                self.apply_to_members(state)
            }
            _ => self.apply_to_key(state),
        }
    }

    fn apply_to_key(&self, state: &mut State) -> Answer {
        match self {
            Self::Delete(key) => number(usize::from(state.keys.remove(key).is_some())),
            Self::Rename(from, to) => match state.keys.remove(from) {
                None => Answer::Is("-ERR no such key".to_owned()),
                Some(entry) => {
                    state.keys.insert(to, entry);
                    ok()
                }
            },
            Self::Expire(key, at) => match state.keys.get_mut(key) {
                None => number(0),
                Some(entry) => {
                    entry.expires_ms = Some(*at);
                    number(1)
                }
            },
            Self::Persist(key) => {
                let had = state.keys.get_mut(key).and_then(|entry| entry.expires_ms.take());
                number(usize::from(had.is_some()))
            }
            Self::Charge(cost) => {
                let entry = state.entry("q0", || Data::Limit(QUOTA));
                if let Data::Limit(left) = &mut entry.data {
                    *left -= cost;
                    return Answer::Begins(format!("[:1, :{QUOTA}, :{left}, "));
                }
                unreachable!("q0 is a limit");
            }
            Self::Begin(_) => {
                // What was to be deleted before it may still be there: that was refused, and this is answered.
                if let Some(Data::Idem { fence, result }) = state.keys.get("i0").map(|entry| &entry.data) {
                    match (fence, result) {
                        (_, Some(result)) => return Answer::Begins(format!("[\"DONE\", \"{result}\"")),
                        (Some(fence), None) => return Answer::Begins(format!("[\"NEW\", :{fence}")),
                        (None, None) => {}
                    }
                }
                let data = Data::Idem {
                    fence: None,
                    result: None,
                };
                state.keys.insert("i0", Entry::new(data));
                Answer::Fence
            }
            Self::Complete(_, fence, result) => {
                let data = Data::Idem {
                    fence: Some(*fence),
                    result: Some(result.clone()),
                };
                state.keys.insert("i0", Entry::new(data));
                ok()
            }
            _ => unreachable!("seen to by apply"),
        }
    }

    fn apply_to_list(&self, state: &mut State) -> Answer {
        let key = self.key();
        if !matches!(self, Self::Push(..)) && !state.keys.contains_key(key) {
            let is_pop = matches!(self, Self::Pop(_));
            return if is_pop { Answer::Is("$-1".into()) } else { ok() };
        }
        let entry = state.entry(key, || Data::List(VecDeque::new()));
        let Data::List(items) = &mut entry.data else {
            unreachable!("{key} is a list");
        };
        let answer = match self {
            Self::Push(_, values) => {
                items.extend(values.iter().cloned());
                number(items.len())
            }
            Self::Pop(_) => {
                let first = items.pop_front().unwrap_or_default();
                Answer::Is(format!("\"{first}\""))
            }
            _ => {
                let over = items.len().saturating_sub(TRIMMED);
                items.drain(..over);
                ok()
            }
        };
        if items.is_empty() {
            state.keys.remove(key);
        }
        answer
    }

    fn apply_to_hash(&self, state: &mut State) -> Answer {
        if matches!(self, Self::HashDelete(_)) && !state.keys.contains_key("h0") {
            return number(0);
        }
        let entry = state.entry("h0", || Data::Hash(Default::default()));
        let Data::Hash(fields) = &mut entry.data else {
            unreachable!("h0 is a hash");
        };
        let answer = match self {
            Self::HashSet(field, value) => {
                number(usize::from(fields.insert(field.clone(), value.clone()).is_none()))
            }
            Self::HashIncr(field, by) => {
                let old = fields.get(field).map_or(0, |old| old.parse().unwrap_or(0));
                fields.insert(field.clone(), (old + by).to_string());
                Answer::Is(format!(":{}", old + by))
            }
            Self::HashDelete(field) => number(usize::from(fields.remove(field).is_some())),
            _ => unreachable!("seen to by apply"),
        };
        if fields.is_empty() {
            state.keys.remove("h0");
        }
        answer
    }

    fn apply_to_members(&self, state: &mut State) -> Answer {
        let key = self.key();
        let empty = || match self {
            Self::SetAdd(_) | Self::SetRemove(_) => Data::Set(Default::default()),
            _ => Data::Sorted(Default::default()),
        };
        let (answer, is_empty) = match (self, &mut state.entry(key, empty).data) {
            (Self::SetAdd(member), Data::Set(members)) => {
                (number(usize::from(members.insert(member.clone()))), false)
            }
            (Self::SetRemove(member), Data::Set(members)) => {
                (number(usize::from(members.remove(member))), members.is_empty())
            }
            (Self::SortedAdd(member, score), Data::Sorted(members)) => {
                let is_new = members.insert(member.clone(), *score).is_none();
                (number(usize::from(is_new)), false)
            }
            (Self::SortedPop, Data::Sorted(members)) => {
                let least = members
                    .iter()
                    .min_by_key(|(member, score)| (**score, (*member).clone()));
                let answer = match least.map(|(member, score)| (member.clone(), *score)) {
                    None => "[]".to_owned(),
                    Some((member, score)) => {
                        members.remove(&member);
                        format!("[\"{member}\", \"{score}\"]")
                    }
                };
                (Answer::Is(answer), members.is_empty())
            }
            (_, other) => unreachable!("{key} is {other:?}"),
        };
        if is_empty {
            state.keys.remove(key);
        }
        answer
    }
}

impl State {
    fn entry(&mut self, key: &'static str, empty: impl FnOnce() -> Data) -> &mut Entry {
        self.keys.entry(key).or_insert_with(|| Entry::new(empty()))
    }

    fn text(&mut self, key: &'static str) -> &mut String {
        match &mut self.entry(key, || Data::Text(String::new())).data {
            Data::Text(text) => text,
            other => unreachable!("{key} is {other:?}"),
        }
    }
}
