//! What becomes of replies when a shard's changes will never be committed here, or nobody can say: each is answered
//! that its outcome is unknown.

use ruvio_core::engine::Wait;
use ruvio_core::resp::count_replies;

use super::held::Goal;
use super::{Gate, Track};
use crate::owner::Owner;

/// A write may be applied or not; whoever made it has to look, or to make it again in a way that does no harm.
const UNCERTAIN: &[u8] =
    b"-UNCERTAIN The shard's leader changed before this was committed: it may or may not have been \
applied. Read before you write it again, or use IDEM\r\n";

impl Gate {
    /// Whether a place's changes are all committed.
    pub fn is_clean(&self, place: usize) -> bool {
        self.tracks
            .get(place)
            .is_none_or(|track| track.first_uncommitted() == u64::MAX)
    }

    /// Whether this waits for changes of the place that are not committed.
    fn is_lost(track: &Track, place: usize, wait: Wait) -> bool {
        wait.places & Wait::bit(place) != 0 && wait.turn >= track.first_uncommitted()
    }
}

impl Owner {
    /// What was executed in the shard of that place and is not committed is lost: whoever waits for it is told.
    pub fn lose_place(&mut self, place: usize) {
        // What is in no buffer yet has waited no less.
        self.settle_gate();
        let commit = self.gate.commit;
        let Some(track) = self.gate.tracks.get_mut(place) else {
            return;
        };
        track.look(commit);
        for held in &mut self.gate.held {
            let bytes_before = held.bytes();
            for range in held.ranges.iter_mut().filter(|range| !range.is_out) {
                if range.instead.is_none() && Gate::is_lost(track, place, range.wait) {
                    let replies = count_replies(&held.reply.as_slice()[range.start..range.end]);
                    range.instead = Some(UNCERTAIN.repeat(replies));
                }
            }
            for part in held.parts.iter_mut().filter(|part| !part.is_out) {
                if Gate::is_lost(track, place, part.wait) {
                    part.wait = Wait::NOTHING;
                    part.bytes.clear();
                    if !matches!(part.goal, Goal::Message(_)) {
                        part.bytes.extend_from_slice(UNCERTAIN);
                    }
                }
            }
            for word in held.for_others.iter_mut().filter(|word| !word.is_out) {
                if Gate::is_lost(track, place, word.wait) {
                    word.is_out = true;
                    held.left -= 1;
                }
            }
            // Answers that are longer than what they replace count for what they are.
            self.gate.held_bytes += held.bytes();
            self.gate.held_bytes -= bytes_before;
        }
        track.forget();
        // They are of no entry and never will be.
        let _ = self.engine.take_effects(place, Vec::new);
    }
}
