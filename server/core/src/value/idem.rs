//! The record of one `IDEM` key: who holds it until when, or what came of it.
//!
//! Version 1: a byte each for the version, the state, and the lengths of fingerprint and token; eight bytes
//! each, little-endian, for the fence, the state's moment and the result's time to live; then fingerprint,
//! token and, of a record that is done, the result up to the end. A lease is kept in microseconds, so that one
//! of a millisecond lasts a whole one. Does not know commands or replies.

use crate::exec::Now;

pub const FINGERPRINT_MAX: usize = 64;
pub const TOKEN_MAX: usize = 64;

const VERSION: u8 = 1;
const RUNNING: u8 = 1;
const DONE: u8 = 2;
const HEAD_BYTES: usize = 28;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State<'a> {
    Running {
        /// The first Unix microsecond at which the lease is over.
        lease_end_us: u64,
    },
    Done {
        completed_ms: u64,
        result: &'a [u8],
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    pub fence: u64,
    /// How long the result will be kept, unless `COMPLETE` says otherwise.
    pub ttl_ms: u64,
    pub fingerprint: &'a [u8],
    pub token: &'a [u8],
    pub state: State<'a>,
}

impl<'a> Record<'a> {
    /// `None`: not a record of this version.
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [VERSION, state, fingerprint_len, token_len, ..] = *head else {
            return None;
        };
        let number = |at: usize| {
            head.get(at..)
                .and_then(<[u8]>::first_chunk)
                .map(|b| u64::from_le_bytes(*b))
        };
        let (fence, moment, ttl_ms) = (number(4)?, number(12)?, number(20)?);
        let (fingerprint, rest) = rest.split_at_checked(fingerprint_len as usize)?;
        let (token, result) = rest.split_at_checked(token_len as usize)?;
        let fits = |word: &[u8], max| (1..=max).contains(&word.len());
        if !fits(fingerprint, FINGERPRINT_MAX) || !fits(token, TOKEN_MAX) {
            return None;
        }
        let state = match state {
            RUNNING if result.is_empty() => State::Running { lease_end_us: moment },
            DONE => State::Done {
                completed_ms: moment,
                result,
            },
            _ => return None,
        };
        Some(Self {
            fence,
            ttl_ms,
            fingerprint,
            token,
            state,
        })
    }

    /// Replaces what `out` holds by the record. Fingerprint and token are within their limits.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (state, moment, result) = match self.state {
            State::Running { lease_end_us } => (RUNNING, lease_end_us, b"".as_slice()),
            State::Done { completed_ms, result } => (DONE, completed_ms, result),
        };
        let lengths = [self.fingerprint.len() as u8, self.token.len() as u8];
        out.clear();
        out.extend_from_slice(&[VERSION, state, lengths[0], lengths[1]]);
        for number in [self.fence, moment, self.ttl_ms] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(self.fingerprint);
        out.extend_from_slice(self.token);
        out.extend_from_slice(result);
    }

    /// When the key goes. A record that never completes is kept for as long after its lease as its result
    /// would have been, so that its fingerprint is still known then.
    pub fn expire_at_ms(&self) -> u64 {
        let from_ms = match self.state {
            State::Running { lease_end_us } => lease_end_us.div_ceil(1000),
            State::Done { completed_ms, .. } => completed_ms,
        };
        from_ms.saturating_add(self.ttl_ms)
    }

    /// How long the lease still runs, microseconds; `None` once it is over or the work is done.
    pub fn lease_us(&self, now: Now) -> Option<u64> {
        match self.state {
            State::Running { lease_end_us } if now.us < lease_end_us => Some(lease_end_us - now.us),
            _ => None,
        }
    }
}

/// Whether somebody is at work under this record: then it must not be evicted. A record that cannot be read
/// may be one of a later version, so it stays too.
pub fn is_running(bytes: &[u8], now: Now) -> bool {
    Record::decode(bytes).is_none_or(|record| record.lease_us(now).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RUNNING_RECORD: Record<'static> = Record {
        fence: 7,
        ttl_ms: 1000,
        fingerprint: b"f",
        token: b"tok",
        state: State::Running {
            lease_end_us: 5_000_001,
        },
    };

    #[test]
    fn a_lease_runs_up_to_its_last_microsecond() {
        let mut bytes = Vec::new();
        RUNNING_RECORD.encode(&mut bytes);
        assert!(is_running(&bytes, Now { us: 5_000_000 }));
        assert!(!is_running(&bytes, Now { us: 5_000_001 }));
        assert_eq!(RUNNING_RECORD.expire_at_ms(), 6001);
        let done = Record {
            state: State::Done {
                completed_ms: 4000,
                result: b"r",
            },
            ..RUNNING_RECORD
        };
        done.encode(&mut bytes);
        assert!(!is_running(&bytes, Now { us: 0 }));
        assert_eq!(done.expire_at_ms(), 5000);
    }

    #[test]
    fn every_cut_and_every_strange_head_is_refused() {
        let mut bytes = Vec::new();
        RUNNING_RECORD.encode(&mut bytes);
        for len in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..len]), None, "{len} bytes");
        }
        for (at, byte) in [(0, 2), (1, 0), (1, 3), (2, 0), (2, 65), (3, 0), (3, 2), (3, 4)] {
            let mut strange = bytes.clone();
            strange[at] = byte;
            assert_eq!(Record::decode(&strange), None, "byte {at} is {byte}");
            assert!(
                is_running(&strange, Now { us: u64::MAX }),
                "what is unknown stays"
            );
        }
        bytes.push(0);
        assert_eq!(Record::decode(&bytes), None, "a running record has no result");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_encoded_is_decoded(
            numbers in any::<[u64; 3]>(),
            fingerprint in prop::collection::vec(any::<u8>(), 1..=64),
            token in prop::collection::vec(any::<u8>(), 1..=64),
            result in prop::option::of(prop::collection::vec(any::<u8>(), 0..200)),
        ) {
            let state = match &result {
                Some(result) => State::Done { completed_ms: numbers[2], result },
                None => State::Running { lease_end_us: numbers[2] },
            };
            let record = Record {
                fence: numbers[0],
                ttl_ms: numbers[1],
                fingerprint: &fingerprint,
                token: &token,
                state,
            };
            let mut bytes = vec![9; 3];
            record.encode(&mut bytes);
            prop_assert_eq!(Record::decode(&bytes), Some(record));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(0u8..4, 0..60)) {
            if let Some(record) = Record::decode(&bytes) {
                let mut again = Vec::new();
                record.encode(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
