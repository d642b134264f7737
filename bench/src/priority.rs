//! Scheduling priority of the bench and of the servers that it starts.
//!
//! With autogroup scheduling a nice value only counts within a session; between sessions the session's own counts.
//! So both are set, and the session's, which outlives the bench, is put back.

use std::fs;

use anyhow::{Context, Result};
use rustix::process::setpriority_process;

const AUTOGROUP: &str = "/proc/self/autogroup";

/// The priority while this lives.
pub struct Priority {
    session_before: Option<String>,
}

impl Priority {
    pub fn set(nice: i32) -> Result<Self> {
        if nice == 0 {
            return Ok(Self { session_before: None });
        }
        setpriority_process(None, nice).context("setting the priority")?;
        // Reads `/autogroup-17 nice 0`; absent where the kernel does not group by session.
        let before = fs::read_to_string(AUTOGROUP).ok();
        let session_before = before
            .as_deref()
            .and_then(|text| text.split_whitespace().last())
            .map(str::to_owned);
        if session_before.is_some() {
            fs::write(AUTOGROUP, nice.to_string()).context("setting the session's priority")?;
        }
        Ok(Self { session_before })
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        if let Some(before) = &self.session_before {
            fs::write(AUTOGROUP, before).ok();
        }
    }
}
