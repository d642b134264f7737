//! Nodes that were removed from the cluster, as this node remembers them: a file of their ids, a line each. There is none
//! before the first one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Refusal;
use crate::wal::NodeId;

const NAME: &str = "removed";

/// The file of a claimed directory.
#[derive(Debug)]
pub struct RemovedNodes {
    folder: PathBuf,
}

impl RemovedNodes {
    /// What is remembered in this directory.
    pub fn read(folder: &Path) -> Result<(Self, BTreeSet<NodeId>), Refusal> {
        let path = folder.join(NAME);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|source| Refusal::io(&path, source))?,
        };
        let nodes = text.lines().map(|line| line.parse().map(NodeId));
        let nodes = nodes.collect::<Result<_, _>>().map_err(|_| {
            let why = "a line that is no node's id: restore the file, or remove the line";
            Refusal::io(&path, io::Error::new(io::ErrorKind::InvalidData, why))
        })?;
        let folder = folder.to_owned();
        Ok((Self { folder }, nodes))
    }

    /// Remembers these and no others, durably: as they were before, or as they are now, whatever happens meanwhile.
    pub fn write(&self, nodes: &BTreeSet<NodeId>) -> io::Result<()> {
        let beside = self.folder.join("removed.new");
        let mut file = File::create(&beside)?;
        for node in nodes {
            writeln!(file, "{}", node.0)?;
        }
        file.sync_all()?;
        fs::rename(&beside, self.folder.join(NAME))?;
        File::open(&self.folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_removed_is_remembered_and_nonsense_is_refused() {
        let folder = std::env::temp_dir().join(format!("ruvio-removed-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (file, known) = RemovedNodes::read(&folder).expect("there is nothing to refuse");
        assert!(known.is_empty());
        let nodes = [NodeId(3), NodeId(12_345)].into();
        file.write(&nodes).expect("it is written");
        assert_eq!(RemovedNodes::read(&folder).expect("it is read").1, nodes);
        fs::write(folder.join(NAME), "3\nx\n").expect("it is written");
        let refused = RemovedNodes::read(&folder).expect_err("x is no id");
        assert!(refused.to_string().contains("no node's id"), "{refused}");
        fs::remove_dir_all(&folder).expect("it goes");
    }
}
