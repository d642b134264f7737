//! What a server holds of a group, and which of the states that may be found it is.

use std::collections::{BTreeMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail, ensure};

use super::group::{Data, Entry, Group, NAMES, QUOTA, QUOTA_PER_MS, Recent, State};
use super::step::Step;
use crate::client::{Client, encode};
use crate::resp::Value;

pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}

/// A group as a server shows it, and the time around the look.
pub struct Found {
    keys: BTreeMap<&'static str, Entry>,
    from_ms: u64,
    to_ms: u64,
}

fn question(group: &Group, short: &str) -> Vec<String> {
    let key = group.key(short);
    let quota = QUOTA.to_string();
    let words: &[&str] = match short.as_bytes()[0] {
        b'l' => &["LRANGE", &key, "0", "-1"],
        b'h' => &["HGETALL", &key],
        b'e' => &["SMEMBERS", &key],
        b'z' => &["ZRANGE", &key, "0", "-1", "WITHSCORES"],
        b'q' => &["LIMIT", &key, "WINDOW", &quota, "PER", QUOTA_PER_MS, "PEEK"],
        b'i' => &["IDEM", "GET", &key],
        _ => &["GET", &key],
    };
    words.iter().map(|word| word.to_string()).collect()
}

fn text(value: &Value) -> Result<String> {
    let bytes = value.text().map(<[u8]>::to_vec);
    match bytes {
        Some(bytes) => Ok(String::from_utf8(bytes)?),
        None => bail!("a text was expected, not {value}"),
    }
}

fn items(value: &Value) -> Result<&[Value]> {
    match value {
        Value::Array(items) => Ok(items),
        other => bail!("an array was expected, not {other}"),
    }
}

fn pairs(value: &Value) -> Result<Vec<(String, String)>> {
    let pair = |pair: &[Value]| Ok((text(&pair[0])?, text(&pair[1])?));
    items(value)?.chunks_exact(2).map(pair).collect()
}

/// `None`: there is no such key.
fn data(short: &str, value: &Value) -> Result<Option<Data>> {
    if matches!(value, Value::NullBulk) || matches!(value, Value::Array(items) if items.is_empty()) {
        return Ok(None);
    }
    Ok(Some(match short.as_bytes()[0] {
        b'l' => Data::List(items(value)?.iter().map(text).collect::<Result<VecDeque<_>>>()?),
        b'h' => Data::Hash(pairs(value)?.into_iter().collect()),
        b'e' => Data::Set(items(value)?.iter().map(text).collect::<Result<_>>()?),
        b'z' => {
            let score = |(member, score): (String, String)| Ok((member, score.parse()?));
            Data::Sorted(pairs(value)?.into_iter().map(score).collect::<Result<_>>()?)
        }
        b'q' => match items(value)?.get(2).and_then(Value::as_integer) {
            Some(QUOTA) => return Ok(None),
            Some(left) => Data::Limit(left),
            None => bail!("LIMIT answered {value}"),
        },
        b'i' => {
            let facts = items(value)?;
            let fact = |name: &[u8]| {
                let mut pairs = facts.chunks_exact(2);
                pairs
                    .find(|pair| pair[0].text() == Some(name))
                    .map(|pair| &pair[1])
            };
            // What the result is, tells who asks for it.
            let is_done = fact(b"status").is_some_and(|status| status.text() == Some(b"done"));
            Data::Idem {
                fence: fact(b"fence").and_then(Value::as_integer),
                result: is_done.then(String::new),
            }
        }
        _ => Data::Text(text(value)?),
    }))
}

impl Found {
    pub fn look(client: &mut Client, group: &Group) -> Result<Self> {
        let mut request = Vec::new();
        for short in NAMES {
            encode(&["PEXPIRETIME", &group.key(short)], &mut request);
            encode(&question(group, short), &mut request);
        }
        let from_ms = now_ms();
        client.send_raw(&request)?;
        let mut keys = BTreeMap::new();
        for short in NAMES {
            let expires = client.reply()?.as_integer().filter(|at| *at > 0);
            let value = client.reply()?;
            ensure!(!value.is_error(), "{}: {value}", group.key(short));
            if let Some(data) = data(short, &value)? {
                let mut entry = Entry::new(data);
                // Leases and windows have times of their own.
                if !matches!(short.as_bytes()[0], b'q' | b'i') {
                    entry.expires_ms = expires.map(|at| at as u64);
                }
                keys.insert(short, entry);
            }
        }
        if let Some(Entry {
            data: Data::Idem {
                result: Some(result), ..
            },
            ..
        }) = keys.get_mut("i0")
        {
            let answer = client.call(&["IDEM", "BEGIN", &group.key("i0"), "print"])?;
            *result = match items(&answer)? {
                [done, told, ..] if done.text() == Some(b"DONE") => text(told)?,
                _ => bail!("work that is done was answered {answer}"),
            };
        }
        let to_ms = now_ms();
        Ok(Self { keys, from_ms, to_ms })
    }

    /// Why it is not this state, if it is not.
    fn differs(&self, state: &State) -> Option<String> {
        for short in NAMES {
            let (mut wanted, found) = (state.keys.get(short), self.keys.get(short));
            if let Some(at) = wanted.and_then(|entry| entry.expires_ms) {
                let may_be_gone = at <= self.to_ms;
                if at < self.from_ms || may_be_gone && found.is_none() {
                    wanted = None;
                }
            }
            let same = match (wanted, found) {
                (Some(wanted), Some(found)) => is_same(wanted, found),
                (None, None) => true,
                _ => false,
            };
            if !same {
                return Some(format!("{short} is {found:?}, not {wanted:?}"));
            }
        }
        None
    }

    /// Finds out how many of the pending writes are there, from the first on, and takes that for the group's state.
    pub fn settle(self, group: &mut Group, pending: &[Vec<Step>]) -> Result<Settled> {
        let mut settled = match self.extend(&group.state, pending) {
            Ok((pending, state)) => Settled {
                state,
                pending,
                lost: 0,
            },
            Err(reasons) => match &group.recent {
                None => bail!(
                    "group {} is none of what may be found. With its acknowledged writes and 0, 1, … of those under \
                     way:\n  {}\nunder way: {pending:?}",
                    group.name,
                    reasons.join("\n  ")
                ),
                Some(recent) => self.settle_lossy(group, recent)?,
            },
        };
        if let Some(Entry {
            data: Data::Idem {
                fence: Some(fence), ..
            },
            ..
        }) = self.keys.get("i0")
        {
            settled.state.fence_max = settled.state.fence_max.max(*fence);
        }
        settled.state.keys = self.keys;
        group.state = settled.state.clone();
        if let Some(recent) = &mut group.recent {
            recent.units.clear();
            recent.before = settled.state.clone();
        }
        Ok(settled)
    }

    /// Some of the last acknowledged writes are lost, to the last one.
    fn settle_lossy(&self, group: &Group, recent: &Recent) -> Result<Settled> {
        let steps: Vec<Vec<Step>> = recent.units.iter().map(|unit| unit.1.clone()).collect();
        match self.extend(&recent.before, &steps) {
            Ok((count, state)) => Ok(Settled {
                state,
                pending: 0,
                lost: steps.len() - count,
            }),
            Err(reasons) => bail!(
                "group {} lost more than the last that was acknowledged. With 0, 1, … of that:\n  {}\nthe last: {steps:?}",
                group.name,
                reasons.join("\n  ")
            ),
        }
    }

    /// How many of the steps, from the first on, make this of the state; otherwise why none do.
    fn extend(&self, from: &State, steps: &[Vec<Step>]) -> Result<(usize, State), Vec<String>> {
        let mut state = from.clone();
        let mut reasons = Vec::new();
        for count in 0..=steps.len() {
            if let Some(steps) = count.checked_sub(1).and_then(|last| steps.get(last)) {
                for step in steps {
                    step.apply(&mut state);
                }
            }
            match self.differs(&state) {
                None => return Ok((count, state)),
                Some(reason) => reasons.push(reason),
            }
        }
        Err(reasons)
    }
}

/// What was found of a group.
pub struct Settled {
    pub state: State,
    /// So many of the writes under way are there, and so many of the acknowledged ones are not.
    pub pending: usize,
    pub lost: usize,
}

fn is_same(wanted: &Entry, found: &Entry) -> bool {
    if let (
        Data::Idem {
            fence: None,
            result: None,
        },
        Data::Idem { result: None, .. },
    ) = (&wanted.data, &found.data)
    {
        return true;
    }
    wanted == found
}
