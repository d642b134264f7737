//! Which core runs what: the server alone on one, the load and everything else on another.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The two cores of a run; the same one twice where there is only one.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    pub server: usize,
    pub load: usize,
}

impl Cores {
    /// The first two cores that this process may use.
    pub fn choose() -> Result<Self> {
        let allowed = sched_getaffinity(None).context("affinity")?;
        let mut usable = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
        let server = usable.next().context("no core to run on")?;
        Ok(Self {
            server,
            load: usable.next().unwrap_or(server),
        })
    }

    pub fn shared(self) -> bool {
        self.server == self.load
    }
}

/// Lets the calling thread run on either; for more processes than there are cores.
pub fn pin_to_both(cores: Cores) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cores.server);
    set.set(cores.load);
    sched_setaffinity(None, &set).context("pinning to both cores")
}

/// Pins the calling thread; processes that it starts inherit this.
pub fn pin_to(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("pinning to core {core}"))
}
