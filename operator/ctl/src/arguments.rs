//! What can be asked, and how it is written on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ruvio_proto::admin::v1::ConfigOption;

use super::address::Address;
use super::secure::Files;

#[derive(Parser, Debug)]
#[command(
    name = "ruvioctl",
    version,
    about = "Administers a Ruvio cluster through its nodes' admin ports"
)]
pub struct Arguments {
    /// The nodes to ask, by their admin ports; those that matter to the command are found among them.
    #[arg(
        long,
        env = "RUVIO_NODES",
        value_name = "HOST[:PORT],…",
        value_delimiter = ',',
        default_value = "127.0.0.1:7380",
        global = true
    )]
    pub nodes: Vec<Address>,

    /// The file that the nodes' cluster-token-file names.
    #[arg(long, env = "RUVIO_TOKEN_FILE", value_name = "FILE", global = true)]
    pub token_file: Option<PathBuf>,

    #[command(flatten)]
    pub files: Files,

    /// How long each answer may take: 500ms, 10s, 2m, or a number of seconds.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, global = true)]
    pub timeout: Duration,

    #[command(subcommand)]
    pub ask: Ask,
}

#[derive(Subcommand, Debug)]
pub enum Ask {
    /// Make new nodes a cluster, or finish what was interrupted. They get the ids 1, 2, … in the order of --nodes.
    Bootstrap(Founding),
    /// Make a new node a member of the cluster. It holds no shard until change-replicas gives it one.
    Join(Joining),
    /// Show the nodes and shards.
    Status {
        #[arg(short, long, value_enum, default_value_t = Output::Table)]
        output: Output,
    },
    /// Hand the leadership of a shard over, without an error for its clients.
    TransferLeader {
        shard: u16,
        /// The node that is to lead. Without it, the one that is furthest.
        #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u64).range(1..))]
        to: Option<u64>,
    },
    /// A node gives its leaderships away and takes no other, so that it can be stopped.
    Drain {
        /// Its id, or the address of its admin port.
        node: Named,
    },
    /// The end of a drain: the node may lead again.
    Undrain {
        /// Its id, or the address of its admin port.
        node: Named,
    },
    /// Compare what the replicas of a shard hold, or of all shards: each is walked through once.
    Digest { shard: Option<u16> },
    /// Change who holds a shard: new members learn first, then the voters change in one step.
    ChangeReplicas(Changing),
    /// Change options of all --nodes while they run, all of them or none. They last until the node ends.
    ApplyConfig(Applying),
    /// Have all --nodes read files again.
    Reload(Reloading),
    /// Go on with one survivor of shards whose majority is lost for good. Without --yes it only says what each survivor
    /// holds, and what might be lost.
    RecoverQuorum(Recovering),
}

#[derive(Args, Debug)]
pub struct Founding {
    /// Into how many shards the keys are divided, for good. The nodes were started with the same number.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub shards: u16,
    /// On how many nodes each shard is: 1, 3 or 5.
    #[arg(long, default_value_t = 3, value_parser = replication_factor)]
    pub replication_factor: u32,
}

#[derive(Args, Debug)]
pub struct Joining {
    /// The admin port of the new node. --nodes names members of the cluster.
    #[arg(value_name = "HOST[:PORT]")]
    pub node: Address,
}

#[derive(Args, Debug)]
pub struct Changing {
    pub shard: u16,
    /// A node that is to hold it: its id if --nodes has it, else ID=HOST:PORT with its peer port.
    #[arg(long, value_name = "ID[=HOST:PORT]", value_delimiter = ',')]
    pub add: Vec<Added>,
    /// A node that is to hold it no longer.
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..))]
    pub remove: Vec<u64>,
    /// How long new members may take to catch up.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    pub catch_up: Duration,
}

#[derive(Args, Debug)]
pub struct Applying {
    /// As CONFIG SET takes them.
    #[arg(required = true, value_name = "NAME=VALUE", value_parser = super::configure::option)]
    pub options: Vec<ConfigOption>,
    /// A name for this set of options, which status -o json shows.
    #[arg(long, default_value = "")]
    pub revision: String,
    /// Only say what would come of it.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Debug)]
pub struct Reloading {
    /// The users in aclfile.
    #[arg(long)]
    pub acl: bool,
    /// The certificates of the nodes.
    #[arg(long)]
    pub certificates: bool,
}

#[derive(Args, Debug)]
pub struct Recovering {
    /// The nodes that nobody can bring back. They are removed: what comes under their ids is refused from then on.
    #[arg(long, required = true, value_name = "ID", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..))]
    pub lost: Vec<u64>,
    /// Of these shards. Without it, of all that have lost their majority.
    #[arg(long = "shard", value_name = "SHARD", value_delimiter = ',')]
    pub shards: Vec<u16>,
    /// Do it.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Added {
    pub node: u64,
    pub peer: Option<Address>,
}

impl std::str::FromStr for Added {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, peer) = match text.split_once('=') {
            Some((id, peer)) => (id, Some(peer.parse()?)),
            None => (text, None),
        };
        match id.parse() {
            Ok(0) | Err(_) => Err(format!("'{id}' is no node's id: they are numbers from 1 on")),
            Ok(node) => Ok(Self { node, peer }),
        }
    }
}

/// A node of the cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Named {
    Id(u64),
    At(Address),
}

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("0 is no node's id: they begin with 1".to_owned()),
            Ok(id) => Ok(Self::Id(id)),
            Err(_) => text.parse().map(Self::At),
        }
    }
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum Output {
    Table,
    Json,
}

fn replication_factor(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(factor @ (1 | 3 | 5)) => Ok(factor),
        _ => Err("a shard has 1, 3 or 5 replicas".to_owned()),
    }
}

/// No call is waited for longer.
const TIME_MAX: Duration = Duration::from_secs(24 * 3600);

fn time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit_ms = match &text[digits..] {
        "ms" => 1,
        "s" | "" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let ms = text[..digits]
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit_ms));
    ms.map(Duration::from_millis)
        .filter(|time| !time.is_zero() && *time <= TIME_MAX)
        .ok_or_else(|| "write a time as 500ms, 10s, 2m or 1h, at most 24h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        Arguments::try_parse_from(line.split(' ')).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bootstrap_as_it_is_documented() {
        let line =
            "ruvioctl bootstrap --nodes a:7480,b,[::1]:7482 --shards 12 --replication-factor 1 --timeout 2m";
        let parsed = parsed(line).expect("a command");
        let nodes: Vec<String> = parsed.nodes.iter().map(ToString::to_string).collect();
        assert_eq!(nodes, ["a:7480", "b:7380", "[::1]:7482"]);
        assert_eq!(parsed.timeout, Duration::from_secs(120));
        let Ask::Bootstrap(founding) = parsed.ask else {
            panic!("it is a bootstrap")
        };
        assert_eq!((founding.shards, founding.replication_factor), (12, 1));
    }

    #[test]
    fn nodes_are_named_by_id_or_address() {
        let node = |line: &str| match parsed(line).map(|parsed| parsed.ask) {
            Ok(Ask::Drain { node } | Ask::Undrain { node }) => Ok(node),
            Ok(other) => panic!("{other:?}"),
            Err(said) => Err(said),
        };
        assert_eq!(node("ruvioctl drain 3"), Ok(Named::Id(3)));
        let at = "b:7481".parse().expect("an address");
        assert_eq!(node("ruvioctl undrain b:7481"), Ok(Named::At(at)));
        assert!(node("ruvioctl drain 0").is_err_and(|said| said.contains("begin with 1")));
    }

    #[test]
    fn a_change_adds_by_id_and_by_peer_address() {
        let parsed = parsed("ruvioctl change-replicas 2 --add 4,5=c:7379 --remove 1 --catch-up 90s");
        let Ok(Ask::ChangeReplicas(change)) = parsed.map(|parsed| parsed.ask) else {
            panic!("it is a change")
        };
        let added = |node, peer: Option<&str>| Added {
            node,
            peer: peer.map(|peer| peer.parse().expect("an address")),
        };
        assert_eq!(change.add, [added(4, None), added(5, Some("c:7379"))]);
        assert_eq!((change.shard, change.remove), (2, vec![1]));
        assert_eq!(change.catch_up, Duration::from_secs(90));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (line, says) in [
            ("ruvioctl bootstrap --replication-factor 2", "1, 3 or 5"),
            ("ruvioctl bootstrap --shards 0", "1..=1024"),
            ("ruvioctl status --timeout 0s", "10s"),
            ("ruvioctl status --timeout 5weeks", "10s"),
            ("ruvioctl status --timeout 99999999999999999999h", "24h"),
            ("ruvioctl status -o yaml", "table, json"),
            ("ruvioctl status --nodes a:b", "host:port"),
            ("ruvioctl transfer-leader 0 --to 0", "0 is not in 1.."),
            ("ruvioctl change-replicas 0 --add x", "numbers from 1"),
            ("ruvioctl apply-config maxmemory", "NAME=VALUE"),
            ("ruvioctl recover-quorum --yes", "--lost"),
            ("ruvioctl recover-quorum --lost 0", "0 is not in 1.."),
        ] {
            let said = parsed(line).expect_err(line);
            assert!(said.contains(says), "{line}: {said}");
        }
    }
}
