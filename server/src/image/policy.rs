//! When the image takes in what the log has beyond it. A cache that is smaller than the least window never
//! pays for its image but when it stops, and a larger one rewrites itself about once per size of itself.

const MIB: u64 = 1 << 20;

/// Below this a run would cost more a write than it saves at a start.
pub const WINDOW_BYTES_MIN: u64 = 256 * MIB;
/// What the log may hold at most, and a start replay.
pub const WINDOW_BYTES_MAX: u64 = 2048 * MIB;
/// What is worth taking in while nothing else is to be done.
pub const IDLE_BYTES_MIN: u64 = 64 * MIB;
/// The log has not grown for this long: nothing else is to be done.
pub const IDLE_MS: u64 = 30_000;
/// From this size on rows are so dear to rewrite that a window is worth to be stretched.
pub const LARGE_ROW_BYTES: u64 = 512;

/// What is known when it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct State {
    /// Bytes of the log that the image does not hold.
    pub tail_bytes: u64,
    /// Bytes of the image's living rows, and its keys. (What waits to be merged would stretch the window.)
    pub image_bytes: u64,
    pub keys: u64,
    /// Since the log last grew.
    pub quiet_ms: u64,
    /// The node ends by its own will.
    pub stopping: bool,
    /// The disk is all but full: purging the log is what makes room.
    pub disk_is_full: bool,
}

/// Why a run is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// The window is full.
    Window,
    /// The log rests.
    Idle,
    /// A start should have little to replay.
    Stop,
    /// The log has to give room back.
    Room,
}

/// The size that a window grows to.
pub fn window_bytes(state: &State) -> u64 {
    let row_bytes = state.image_bytes / state.keys.max(1);
    let stretch = if row_bytes >= LARGE_ROW_BYTES { 2 } else { 1 };
    let wanted = state.image_bytes.saturating_mul(stretch);
    wanted.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX)
}

/// Whether a run is due, and why.
pub fn due(state: &State) -> Option<Due> {
    if state.tail_bytes == 0 {
        None
    } else if state.tail_bytes >= window_bytes(state) {
        Some(Due::Window)
    } else if state.stopping {
        Some(Due::Stop)
    } else if state.disk_is_full {
        Some(Due::Room)
    } else if state.quiet_ms >= IDLE_MS && state.tail_bytes >= IDLE_BYTES_MIN {
        Some(Due::Idle)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(tail_mib: u64, image_mib: u64, keys: u64) -> State {
        State {
            tail_bytes: tail_mib * MIB,
            image_bytes: image_mib * MIB,
            keys,
            ..State::default()
        }
    }

    #[test]
    fn a_window_is_as_large_as_the_image_between_its_bounds() {
        assert_eq!(window_bytes(&busy(0, 0, 0)), 256 * MIB);
        assert_eq!(window_bytes(&busy(0, 300, 5_000_000)), 300 * MIB);
        assert_eq!(
            window_bytes(&busy(0, 300, 300_000)),
            600 * MIB,
            "rows of a kibibyte"
        );
        assert_eq!(window_bytes(&busy(0, 9000, 90_000_000)), 2048 * MIB);
    }

    #[test]
    fn below_the_window_nothing_runs_while_there_is_work() {
        assert_eq!(due(&busy(255, 10, 1000)), None);
        assert_eq!(due(&busy(256, 10, 1000)), Some(Due::Window));
        assert_eq!(due(&busy(256, 300, 5_000_000)), None);
    }

    #[test]
    fn a_quiet_a_stopping_and_a_full_node_take_in_less() {
        let with = |tail_mib, change: fn(&mut State)| {
            let mut state = busy(tail_mib, 10, 1000);
            change(&mut state);
            due(&state)
        };
        assert_eq!(with(65, |s| s.quiet_ms = IDLE_MS), Some(Due::Idle));
        assert_eq!(with(65, |s| s.quiet_ms = IDLE_MS - 1), None);
        assert_eq!(with(63, |s| s.quiet_ms = IDLE_MS), None);
        assert_eq!(with(1, |s| s.stopping = true), Some(Due::Stop));
        assert_eq!(with(0, |s| s.stopping = true), None, "nothing to take in");
        assert_eq!(with(1, |s| s.disk_is_full = true), Some(Due::Room));
    }
}
