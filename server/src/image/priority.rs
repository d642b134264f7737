//! The image's thread gives way to all others: it is late by design.

use rustix::process::setpriority_process;

const LOWEST: i32 = 19;

/// Lowers the calling thread for good. Where that is refused the image is merely less polite.
pub fn lower_thread() {
    // For Linux a thread is what `None` names here.
    if let Err(error) = setpriority_process(None, LOWEST) {
        tracing::debug!(%error, "cannot lower the priority of the image's thread");
    }
}
