//! Gate: how large the types of the hot path may be. There is one of each for every request of a turn, every
//! entry that is touched or every connection, so a field more is felt; who needs one raises the ceiling here
//! and says what it costs.
//!
//! Buckets and tables are held to theirs in `memory/`.

use crate::command::Args;
use crate::engine::session::{ClientId, Session};
use crate::engine::{Ahead, Flow};
use crate::exec::{Caller, Exec, Now, Outcome};
use crate::keyspace::{Collection, Db, Hint, Key};
use crate::memory::{Entry, Expiry, Found, Handle, Seek, Slot};
use crate::resp::{Decoded, Decoder, Reply, Span};

/// A cache line, bytes.
const LINE: usize = 64;

/// Types above their ceilings.
macro_rules! above {
    ($($kind:ty: $ceiling:expr),+ $(,)?) => {
        [$((stringify!($kind), size_of::<$kind>(), $ceiling)),+]
            .into_iter()
            .filter(|(_, size, ceiling)| size > ceiling)
            .collect::<Vec<_>>()
    };
}

#[test]
fn hot_types_stay_below_their_ceilings() {
    let above = above! {
        // One for each argument of a turn.
        Span: 8,
        // One for each command of a turn.
        Ahead: 40,
        Hint: 24,
        Decoded: 24,
        // Passed by value or built for each command.
        Args<'_>: 32,
        Now: 8,
        Caller: 16,
        Db<'_>: 24,
        Exec<'_>: LINE,
        Outcome: 24,
        Flow: 1,
        Key<'_>: 24,
        // One for each look-up.
        Handle: 4,
        Option<Handle>: 4,
        Entry<'_, Collection>: 8,
        Slot<'_, Collection>: 48,
        Found: 32,
        Option<Found>: 32,
        Seek: 32,
        Expiry: 16,
        // One for each large collection.
        Collection: 128,
        // One for each connection.
        ClientId: 8,
        Option<Box<Session>>: 8,
        // Five since a session can stand for one of another owner.
        Session: 5 * LINE,
        Decoder: LINE,
        Reply: 32,
    };
    assert!(above.is_empty(), "(type, bytes, ceiling): {above:#?}");
}
