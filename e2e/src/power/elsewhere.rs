//! Where calls are not read yet, no power can be cut: it says so.

use std::path::Path;

use anyhow::{Result, bail};

#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Loss;

pub struct Unsynced;

pub struct Watch;

impl Watch {
    pub fn begin(_pid: u32, _root: &Path) -> Result<Self> {
        bail!("a server's calls are followed on x86_64 alone")
    }

    pub fn is_over(&self) -> bool {
        true
    }

    pub fn end(self) -> Result<Unsynced> {
        Ok(Unsynced)
    }
}

impl Unsynced {
    pub fn cut(self, _rng: &mut fastrand::Rng) -> Result<Loss> {
        Ok(Loss)
    }
}
