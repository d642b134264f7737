//! A power cut of a real server: what it has written and not synced is lost, wholly or in part and in any order.
//!
//! `watch` follows the calls of its threads to the disk, by ptrace, as `calls` reads them. `unsynced` keeps what stood
//! there before each change that no sync has covered yet, in files (`content`) and in folders (`names`). After the end
//! of the process `cut` takes back a random part of that. The server knows nothing of it and needs no switch for it.
//!
//! The disk that is emulated keeps less than most: pages of a write come or stay away each by itself, a length comes
//! without its pages, and a name is there only when its folder was synced. The names of one folder come in order,
//! as on every file system that has a journal.
//!
//! Invariant: what was covered by a sync that has returned is never taken back.

mod calls;
mod content;
mod cut;
mod names;
mod unsynced;
mod watch;

pub use cut::Loss;
pub use unsynced::Unsynced;
pub use watch::Watch;
