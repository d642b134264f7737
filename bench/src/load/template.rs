//! Requests as one prebuilt buffer in which only the numbers of keys change from batch to batch.
//!
//! Invariant: filling a template never changes its length, so a batch is one slice and costs a few
//! nanoseconds a request. Numbers are eight digits wide; the same seed gives the same requests.

use std::io::Write;

/// Digits of a number in a request.
const WIDTH: usize = 8;

/// Where a number comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Uniform below the bound.
    Random(u64),
    /// The request's serial number.
    Serial,
    /// `serial / divide % modulo`: spreads serial numbers over collections and their members.
    SerialOver { divide: u64, modulo: u64 },
    /// The serial numbers without every tenth: deletes 90 % and leaves holes everywhere.
    SerialButTenths,
    /// The number before this one in the batch.
    Same,
}

/// One argument of a request.
#[derive(Clone, Debug)]
pub enum Arg {
    Text(Vec<u8>),
    /// The prefix and eight digits.
    Number(&'static str, Source),
    /// What the first leg of an exchange was answered; only in a [`FollowUp`].
    Captured,
}

pub type Request = Vec<Arg>;

/// A request from words; what is not a plain word is appended by the caller.
pub fn words(text: &str) -> Request {
    text.split_whitespace()
        .map(|word| Arg::Text(word.as_bytes().to_vec()))
        .collect()
}

/// A value of the given size that no server can store as an integer.
pub fn value(bytes: usize) -> Arg {
    Arg::Text(vec![b'v'; bytes])
}

/// Small, fast and repeatable; quality beyond "uniform enough over the keyspace" does not matter here.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((u128::from(z) * u128::from(bound)) >> 64) as u64
    }
}

struct Slot {
    at: usize,
    source: Source,
    /// The first number of its request: takes the next serial number.
    begins: bool,
}

/// A batch of `depth` requests.
pub struct Template {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    ends: Vec<usize>,
}

impl Template {
    /// Repeats `requests` in turn until the batch is `depth` deep, or once if they are more than that.
    pub fn new(requests: &[Request], depth: usize) -> Self {
        let count = depth.max(requests.len()).next_multiple_of(requests.len());
        let mut template = Self {
            bytes: Vec::new(),
            slots: Vec::new(),
            ends: Vec::new(),
        };
        for request in requests.iter().cycle().take(count) {
            template.push(request);
        }
        template
    }

    fn push(&mut self, request: &Request) {
        put(&mut self.bytes, format_args!("*{}\r\n", request.len()));
        let mut begins = true;
        for arg in request {
            match arg {
                Arg::Text(text) => put_bulk(&mut self.bytes, text),
                Arg::Number(prefix, source) => {
                    put(
                        &mut self.bytes,
                        format_args!("${}\r\n{prefix}", prefix.len() + WIDTH),
                    );
                    self.slots.push(Slot {
                        at: self.bytes.len(),
                        source: *source,
                        begins,
                    });
                    begins = false;
                    self.bytes.extend_from_slice(b"00000000\r\n");
                }
                Arg::Captured => unreachable!("only a follow-up has captured arguments"),
            }
        }
        self.ends.push(self.bytes.len());
    }

    pub fn depth(&self) -> usize {
        self.ends.len()
    }

    /// Gives every number its next value. `serial` advances by one a request.
    pub fn fill(&mut self, random: &mut Random, serial: &mut u64) {
        let (mut number, mut current) = (0, *serial);
        for slot in &self.slots {
            if slot.begins {
                current = *serial;
                *serial += 1;
            }
            number = match slot.source {
                Source::Random(bound) => random.below(bound),
                Source::Same => number,
                source => serial_number(source, current),
            };
            write_digits(&mut self.bytes[slot.at..slot.at + WIDTH], number);
        }
    }

    /// The first `requests` requests of the batch.
    pub fn batch(&self, requests: usize) -> &[u8] {
        &self.bytes[..self.ends[requests - 1]]
    }
}

/// The second leg of an exchange: it repeats the serial number of the first and passes on what was answered.
pub struct FollowUp(pub Request);

impl FollowUp {
    pub fn append(&self, out: &mut Vec<u8>, serial: u64, captured: u64) {
        put(out, format_args!("*{}\r\n", self.0.len()));
        for arg in &self.0 {
            match arg {
                Arg::Text(text) => put_bulk(out, text),
                Arg::Number(prefix, source) => {
                    put(out, format_args!("${}\r\n{prefix}", prefix.len() + WIDTH));
                    let mut digits = [0; WIDTH];
                    write_digits(&mut digits, serial_number(*source, serial));
                    out.extend_from_slice(&digits);
                    out.extend_from_slice(b"\r\n");
                }
                Arg::Captured => put_bulk(out, captured.to_string().as_bytes()),
            }
        }
    }
}

fn serial_number(source: Source, serial: u64) -> u64 {
    match source {
        Source::SerialOver { divide, modulo } => serial / divide % modulo,
        Source::SerialButTenths => serial / 9 * 10 + 1 + serial % 9,
        Source::Serial | Source::Random(_) | Source::Same => serial,
    }
}

pub(super) fn write_digits(into: &mut [u8], mut number: u64) {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn put_bulk(out: &mut Vec<u8>, text: &[u8]) {
    put(out, format_args!("${}\r\n", text.len()));
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to memory does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(requests: &[Request], depth: usize, serial: u64) -> String {
        let mut template = Template::new(requests, depth);
        template.fill(&mut Random::new(1), &mut serial.clone());
        String::from_utf8(template.batch(template.depth()).to_vec()).unwrap()
    }

    #[test]
    fn a_request_counts_one_serial_number_however_many_numbers_it_has() {
        let mut add = words("SADD");
        add.push(Arg::Number(
            "s:",
            Source::SerialOver {
                divide: 10,
                modulo: 5,
            },
        ));
        add.push(Arg::Number(
            "m:",
            Source::SerialOver {
                divide: 1,
                modulo: 10,
            },
        ));
        let text = filled(&[add], 2, 59);
        assert_eq!(
            text,
            "*3\r\n$4\r\nSADD\r\n$10\r\ns:00000000\r\n$10\r\nm:00000009\r\n\
             *3\r\n$4\r\nSADD\r\n$10\r\ns:00000001\r\n$10\r\nm:00000000\r\n"
        );
    }

    #[test]
    fn the_same_number_serves_both_halves_of_a_pair() {
        let push = |name: &str, source| {
            let mut request = words(name);
            request.push(Arg::Number("", source));
            request
        };
        let text = filled(
            &[push("LPOP", Source::Random(1000)), push("RPOP", Source::Same)],
            1,
            0,
        );
        let keys: Vec<&str> = text
            .lines()
            .filter(|line| line.len() == 8 && !line.contains('$'))
            .collect();
        assert_eq!(keys.len(), 2, "{text}");
        assert_eq!(keys[0], keys[1]);
    }

    #[test]
    fn nine_of_ten_keys_are_named_once() {
        let named: Vec<u64> = (0..90)
            .map(|serial| serial_number(Source::SerialButTenths, serial))
            .collect();
        let expected: Vec<u64> = (0..100).filter(|n| n % 10 != 0).collect();
        assert_eq!(named, expected);
    }

    #[test]
    fn random_numbers_reach_the_whole_space() {
        let mut random = Random::new(7);
        let mut seen = [0u32; 10];
        for _ in 0..10_000 {
            seen[random.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }

    #[test]
    fn a_follow_up_passes_on_what_was_answered() {
        let mut request = words("DONE");
        request.push(Arg::Number("k:", Source::Serial));
        request.push(Arg::Captured);
        let mut out = Vec::new();
        FollowUp(request).append(&mut out, 42, 1234);
        assert_eq!(out, b"*3\r\n$4\r\nDONE\r\n$10\r\nk:00000042\r\n$4\r\n1234\r\n");
    }
}
