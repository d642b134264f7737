//! Who is refused comes again at once: the log tells of it now and then, and how many it left out.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const SAY_AGAIN: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Told(Mutex<State>);

#[derive(Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl Told {
    /// Whether it is to be told now; then how many were left out before.
    pub fn may_tell(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state
            .last
            .is_some_and(|last| now.duration_since(last) < SAY_AGAIN)
        {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_and_then_one_in_a_while() {
        let told = Told::default();
        assert_eq!(told.may_tell(), Some(0));
        assert_eq!((told.may_tell(), told.may_tell()), (None, None));
        told.0.lock().expect("locked").last = Instant::now().checked_sub(SAY_AGAIN);
        assert_eq!(told.may_tell(), Some(2));
        assert_eq!(told.may_tell(), None);
    }
}
