//! Requests: any bytes decode without a panic, and to the same commands however they were cut into
//! reads. The first byte chooses the cuts and whether the client has authenticated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ruvio_core::resp::{Decoded, Decoder, Limits};

/// What a client gets to see of its bytes: its commands, and how the stream ends.
#[derive(Debug, PartialEq)]
enum Event {
    Command(Vec<Vec<u8>>),
    End(Decoded),
}

/// Feeds `bytes` in pieces of `piece` bytes, as a connection would.
fn events(bytes: &[u8], piece: usize, limits: &Limits) -> Vec<Event> {
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    let (mut start, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + piece).min(bytes.len());
        // A connection hands over what it has, from the first byte of the command that is begun.
        loop {
            let mut arena = bytes[..end].to_vec();
            let mut spans = Vec::new();
            match decoder.decode(&mut arena, start, end, &mut spans, limits) {
                Decoded::Command { argc, next } => {
                    assert!(argc > 0 && argc as usize == spans.len());
                    assert!(next > start && next <= end);
                    events.push(Event::Command(
                        spans.iter().map(|s| s.of(&arena).to_vec()).collect(),
                    ));
                    start = next;
                }
                Decoded::Skip { next } => {
                    assert!(next > start && next <= end && spans.is_empty());
                    start = next;
                }
                Decoded::Incomplete { need } => {
                    assert!(need > 0 && spans.is_empty());
                    // What is announced costs nothing; what is kept is in proportion to what came.
                    assert!(decoder.heap_len() <= 64 * (end - start) + 4096);
                    break;
                }
                last @ (Decoded::Fail(_) | Decoded::Close) => {
                    assert!(spans.is_empty());
                    events.push(Event::End(last));
                    return events;
                }
            }
        }
    }
    events
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else {
        return;
    };
    let limits = Limits {
        authenticated: choice & 1 == 0,
        ..Limits::default()
    };
    let piece = 1 + usize::from(choice >> 1) % 16;
    assert_eq!(
        events(bytes, bytes.len().max(1), &limits),
        events(bytes, piece, &limits)
    );
});
