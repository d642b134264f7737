//! Damages requests: what a broken client, a wrong protocol or an attacker would send.

use fastrand::Rng;

/// Numbers that a length or count may be replaced by.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "-2",
    "1",
    "1024",
    "65536",
    "536870912",
    "536870913",
    "2147483648",
    "9223372036854775807",
    "99999999999999999999",
    "",
];
const PIECES: [&[u8]; 10] = [
    b"\r\n",
    b"\r",
    b"\n",
    b"*1\r\n",
    b"$3\r\n",
    b"\0",
    b"\xff\xfe",
    b"\"",
    b"*-1\r\n$-1\r\n",
    b"GET / HTTP/1.1\r\n",
];

/// One to four faults, anywhere.
pub fn mutate(request: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.usize(1..5) {
        let len = request.len();
        let at = rng.usize(..len + 1);
        match rng.u32(..8) {
            0 if len > 0 => request[at.min(len - 1)] ^= 1 << rng.u32(..8),
            1 if len > 0 => request[at.min(len - 1)] = rng.u8(..),
            2 => request.truncate(at),
            3 if len > 0 => drop(request.remove(at.min(len - 1))),
            4 => {
                let piece = PIECES[rng.usize(..PIECES.len())];
                request.splice(at..at, piece.iter().copied());
            }
            5 => {
                let end = rng.usize(at..len + 1);
                let slice = request[at..end].to_vec();
                request.splice(at..at, slice);
            }
            6 => {
                let end = rng.usize(at..len + 1);
                request.drain(at..end);
            }
            _ => replace_number(request, rng),
        }
    }
}

fn replace_number(request: &mut Vec<u8>, rng: &mut Rng) {
    let starts: Vec<usize> = (0..request.len())
        .filter(|i| request[*i].is_ascii_digit() && (*i == 0 || !request[*i - 1].is_ascii_digit()))
        .collect();
    let Some(start) = starts.get(rng.usize(..starts.len().max(1))).copied() else {
        return;
    };
    let end = (start..request.len())
        .find(|i| !request[*i].is_ascii_digit())
        .unwrap_or(request.len());
    request.splice(start..end, NUMBERS[rng.usize(..NUMBERS.len())].bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_every_mutation_changes_something_and_a_seed_repeats_it() {
        let whole = b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n".to_vec();
        let all = |seed| -> Vec<Vec<u8>> {
            let mut rng = Rng::with_seed(seed);
            let one = |_| {
                let mut request = whole.clone();
                mutate(&mut request, &mut rng);
                request
            };
            (0..1000).map(one).collect()
        };
        let changed = all(1).iter().filter(|r| **r != whole).count();
        assert!(changed > 900, "{changed}");
        assert_eq!(all(1), all(1));
    }
}
