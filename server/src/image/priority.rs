//! The image's thread gives way to all others: it is late by design.

use rustix::process::setpriority_process;

/// A quarter of a core that an owner wants all of. With less, a node of one core writes its log faster than the
/// image takes it in.
const LOWER: i32 = 5;

/// Lowers the calling thread for good, and those that it starts. Where that is refused the image is merely less
/// polite.
pub fn lower_thread() {
    // For Linux a thread is what `None` names here.
    if let Err(error) = setpriority_process(None, LOWER) {
        tracing::debug!(%error, "cannot lower the priority of the image's thread");
    }
}
