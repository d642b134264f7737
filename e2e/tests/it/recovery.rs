//! Who holds a shard changes while nodes are away, and nodes are lost for good. Processes on addresses of their own; some
//! of them are of no cluster at first.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ruvio_e2e::client::Client;
use ruvio_e2e::cluster::node::Node;
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Kind, binary, scratch_dir};

const SHARDS: &str = "3";
const ROUTED: u16 = 6380;
const PATIENCE: Duration = Duration::from_secs(60);

struct Fleet {
    nodes: Vec<Node>,
    dir: PathBuf,
}

impl Fleet {
    /// All of them run; the first `members` are a cluster.
    fn start(nodes: u8, members: usize) -> Result<Fleet> {
        static TAKEN: AtomicU8 = AtomicU8::new(101);
        let first = TAKEN.fetch_add(nodes, Ordering::Relaxed);
        let dir = scratch_dir()?;
        let token = dir.join("token");
        std::fs::write(&token, "a-token-that-all-nodes-know\n")?;
        let [_, _, high, low] = std::process::id().to_be_bytes();
        let mut fleet = Fleet {
            nodes: Vec::new(),
            dir,
        };
        for number in 0..nodes {
            let address = Ipv4Addr::new(127, high.max(1), low, first + number);
            let bind = address.to_string();
            let token = token.display().to_string();
            let mut flags = vec!["--bind", &bind, "--port", "6379", "--shards", SHARDS];
            flags.extend(["--protected-mode", "no", "--durability", "everysec"]);
            flags.extend(["--cluster-enabled", "yes", "--cluster-token-file", &token]);
            let flags = flags.into_iter().map(str::to_owned).collect();
            let home = fleet.dir.join(format!("node-{number}"));
            let id = u64::from(number) + 1;
            let mut node = Node::new(id, home, Vec::new(), address, flags);
            node.start()?;
            fleet.nodes.push(node);
        }
        let all: Vec<usize> = (0..members).collect();
        let factor = if members < 3 { "1" } else { "3" };
        let words = ["bootstrap", "--shards", SHARDS, "--replication-factor", factor];
        fleet.until("they become a cluster", || fleet.administer(&all, &words))?;
        Ok(fleet)
    }

    /// Until it goes, or for so long; what it said in the end.
    fn until<T>(&self, what: &str, mut act: impl FnMut() -> Result<T>) -> Result<T> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match act() {
                Ok(done) => return Ok(done),
                Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(100)),
                Err(error) => return Err(error.context(format!("{what}\n{}", self.last_words()))),
            }
        }
    }

    fn last_words(&self) -> String {
        let of_node = |node: &Node| format!("{}:\n{}\n", node.address, node.last_words());
        self.nodes.iter().map(of_node).collect()
    }

    fn ctl(&self, nodes: &[usize], words: &[&str]) -> Result<Command> {
        let program = binary(Kind::Ruvio)?.with_file_name("ruvioctl");
        let ports = nodes
            .iter()
            .map(|node| format!("{}:7380", self.nodes[*node].address));
        let nodes = ports.collect::<Vec<_>>().join(",");
        let mut command = Command::new(program);
        command
            .args(["--nodes", &nodes, "--token-file"])
            .arg(self.dir.join("token"));
        command.args(words).stdin(Stdio::null());
        Ok(command)
    }

    /// What `ruvioctl` says to these words, asking these nodes.
    fn administer(&self, nodes: &[usize], words: &[&str]) -> Result<String> {
        let done = self
            .ctl(nodes, words)?
            .output()
            .context("ruvioctl (`make test` builds it)")?;
        if !done.status.success() {
            bail!("ruvioctl {words:?}: {}", String::from_utf8_lossy(&done.stderr));
        }
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    fn client(&self, node: usize) -> Result<Client> {
        Client::connect(SocketAddr::from((self.nodes[node].address, ROUTED)))
    }

    /// Writes keys of that name by way of a node, each until it is acknowledged.
    fn write(&self, node: usize, name: &str, count: usize) -> Result<()> {
        let mut client = self.until("the routed port listens", || self.client(node))?;
        for nth in 0..count {
            let (key, value) = (format!("{name}:{nth}"), format!("{name} {nth}"));
            self.until("a write is acknowledged", || {
                match client.call(&["SET", &key, &value])? {
                    Value::Simple(ok) if ok == b"OK" => Ok(()),
                    other => bail!("{other:?}"),
                }
            })?;
        }
        Ok(())
    }

    fn check(&self, node: usize, name: &str, count: usize) -> Result<()> {
        let mut client = self.until("the routed port listens", || self.client(node))?;
        for nth in 0..count {
            let (key, value) = (format!("{name}:{nth}"), format!("{name} {nth}"));
            let found = self.until("a key is served", || match client.call(&["GET", &key])? {
                Value::Error(error) => bail!("{}", String::from_utf8_lossy(&error)),
                other => Ok(other),
            })?;
            ensure!(
                found.text() == Some(value.as_bytes()),
                "{key} is {found:?}, and was acknowledged"
            );
        }
        Ok(())
    }

    /// Makes a new node a member; its id.
    fn join(&self, member: usize, node: usize) -> Result<String> {
        let at = format!("{}:7380", self.nodes[node].address);
        let said = self.until("it joins", || self.administer(&[member], &["join", &at]))?;
        let id = said
            .split("is node ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        Ok(id.context("it says which node it is")?.to_owned())
    }

    /// Waits until these nodes say the same of all shards, with keys in them.
    fn hold_the_same(&self, nodes: &[usize]) -> Result<()> {
        self.until("they hold the same", || {
            let said = self.administer(nodes, &["digest"])?;
            for shard in 0..3 {
                let of_shard = |line: &&str| line.starts_with(&format!("shard {shard} "));
                let of_node = |line: &str| line.split("entry ").nth(1).map(str::to_owned);
                let all: Vec<_> = said.lines().filter(of_shard).map(of_node).collect();
                let different: BTreeSet<_> = all.iter().collect();
                ensure!(
                    all.len() == nodes.len() && different.len() == 1,
                    "shard {shard}:\n{said}"
                );
                ensure!(!said.contains("keys 0 "), "nothing is in it:\n{said}");
            }
            Ok(())
        })
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn refused(said: Result<String>, why: &str) -> Result<()> {
    let Err(error) = said else {
        bail!("{said:?} is no refusal: {why}");
    };
    ensure!(format!("{error:#}").contains(why), "{error:#}");
    Ok(())
}

#[test]
fn options_and_users_change_while_the_nodes_run() -> Result<()> {
    let fleet = Fleet::start(1, 1)?;
    let option = |name: &str| -> Result<String> {
        let value = fleet.client(0)?.call(&["CONFIG", "GET", name])?;
        Ok(format!("{value:?}"))
    };
    let before = option("maxmemory")?;
    let all = ["apply-config", "maxmemory=123mb", "maxmemory-samples=no"];
    refused(
        fleet.administer(&[0], &all),
        "takes none of them: maxmemory-samples",
    )?;
    ensure!(option("maxmemory")? == before, "none of them");
    let some = [
        "apply-config",
        "--revision",
        "r7",
        "snapshot-rate=10mb",
        "shards=9",
    ];
    let said = fleet.administer(&[0], &[&some[..], &["--dry-run"]].concat())?;
    ensure!(said.contains("would change snapshot-rate; shards only"), "{said}");
    let said = fleet.administer(&[0], &some)?;
    ensure!(said.contains("has changed snapshot-rate; shards only"), "{said}");
    let rate = format!("{:?}", Value::Bulk(b"10485760".to_vec()));
    ensure!(option("snapshot-rate")?.contains(&rate), "it is live");
    let status = fleet.administer(&[0], &["status", "-o", "json"])?;
    ensure!(status.contains("\"config_revision\": \"r7\""), "{status}");
    refused(
        fleet.administer(&[0], &["reload", "--acl"]),
        "goes on with the old ones",
    )?;
    // Nobody without the token, who is not even told whether it is there.
    let mut stranger = Command::new(binary(Kind::Ruvio)?.with_file_name("ruvioctl"));
    let at = format!("{}:7380", fleet.nodes[0].address);
    let stranger = stranger
        .args(["--nodes", &at, "apply-config", "maxmemory=1"])
        .output()?;
    let said = String::from_utf8_lossy(&stranger.stderr).into_owned();
    ensure!(said.contains("the cluster's token is wanted"), "{said}");
    ensure!(option("maxmemory")? == before, "nor did it change anything");
    Ok(())
}

/// What a node holds of a shard by its own word: `entry 0  keys 0` where it holds nothing.
fn held(fleet: &Fleet, node: usize, shard: usize) -> Result<String> {
    let said = fleet.administer(&[node], &["digest", &shard.to_string()])?;
    let held = said
        .split("entry ")
        .nth(1)
        .and_then(|rest| rest.rsplit_once("  "));
    Ok(held.context("a digest")?.0.to_owned())
}

#[test]
fn a_replica_that_was_moved_while_its_node_was_away_is_dropped_and_begins_empty_again() -> Result<()> {
    let mut fleet = Fleet::start(4, 3)?;
    fleet.write(0, "first", 60)?;
    let new = fleet.join(0, 3)?;
    // Whoever leads is another than the one that goes.
    fleet.nodes[1].kill()?;
    for shard in ["0", "1", "2"] {
        let change = ["change-replicas", shard, "--add", &new, "--remove", "2"];
        fleet.until("the replicas change", || fleet.administer(&[0, 2, 3], &change))?;
    }
    fleet.write(0, "second", 60)?;
    fleet.nodes[1].start()?;
    for shard in 0..3 {
        fleet.until("it drops what it has", || match held(&fleet, 1, shard)? {
            nothing if nothing == "0  keys 0" => Ok(()),
            held => bail!("shard {shard}: entry {held}"),
        })?;
    }
    fleet.hold_the_same(&[0, 2, 3])?;
    // Again at a start there is nothing.
    fleet.nodes[1].kill()?;
    fleet.nodes[1].start()?;
    fleet.until("it is empty", || match held(&fleet, 1, 0)? {
        nothing if nothing == "0  keys 0" => Ok(()),
        held => bail!("entry {held}"),
    })?;
    for shard in ["0", "1", "2"] {
        let change = ["change-replicas", shard, "--add", "2"];
        fleet.until("it is given the shard again", || {
            fleet.administer(&[0, 1, 2, 3], &change)
        })?;
    }
    fleet.write(1, "third", 60)?;
    fleet.hold_the_same(&[0, 1, 2, 3])?;
    for name in ["first", "second", "third"] {
        fleet.check(1, name, 60)?;
    }
    Ok(())
}

#[test]
fn one_survivor_goes_on_and_two_new_nodes_take_the_places_of_the_lost() -> Result<()> {
    let mut fleet = Fleet::start(5, 3)?;
    fleet.write(0, "first", 60)?;
    refused(
        fleet.administer(&[0, 1], &["recover-quorum", "--lost", "2,3"]),
        "it is not lost",
    )?;
    // The admin port of one that lives is not asked: the survivor itself looks.
    refused(
        fleet.administer(&[0], &["recover-quorum", "--lost", "2,3"]),
        "answers, so it is not lost",
    )?;
    for lost in [1, 2] {
        fleet.nodes[lost].kill()?;
    }
    std::fs::remove_dir_all(fleet.dir.join("node-1").join("data"))?;
    // It has lost them, and knows it a little later.
    let one = fleet.until("it looks", || {
        fleet.administer(&[0], &["recover-quorum", "--lost", "2"])
    })?;
    ensure!(
        one.contains("no shard has lost its majority with node 2"),
        "{one}"
    );
    refused(
        fleet.administer(&[0], &["recover-quorum", "--lost", "1,2,3"]),
        "node 1 answers",
    )?;
    let recover = ["recover-quorum", "--lost", "2,3"];
    let look = fleet.until("it looks", || fleet.administer(&[0], &recover))?;
    ensure!(
        look.matches(": goes on").count() == 3 && look.contains("nothing was done"),
        "{look}"
    );
    ensure!(look.contains("is lost: these nodes cannot know of it"), "{look}");

    // It is killed in the middle, and goes on where it was.
    let sure = ["recover-quorum", "--lost", "2,3", "--yes"];
    for pause_ms in [20, 150, 700] {
        let mut asking = fleet.ctl(&[0], &sure)?;
        let mut asking = asking.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(Duration::from_millis(pause_ms));
        fleet.nodes[0].kill()?;
        asking.wait()?;
        fleet.nodes[0].start()?;
        fleet.until("it is back", || fleet.administer(&[0], &recover))?;
    }
    let said = fleet.until("it is recovered", || fleet.administer(&[0], &sure))?;
    ensure!(
        said.contains("is the only voter of") || said.contains("there is nothing to recover"),
        "{said}"
    );
    fleet.check(0, "first", 60)?;
    fleet.write(0, "second", 60)?;

    let new = [fleet.join(0, 3)?, fleet.join(0, 4)?].join(",");
    for shard in ["0", "1", "2"] {
        let change = ["change-replicas", shard, "--add", &new];
        fleet.until("the shard has three voters", || {
            fleet.administer(&[0, 3, 4], &change)
        })?;
    }
    fleet.write(3, "third", 60)?;
    fleet.hold_the_same(&[0, 3, 4])?;

    // One of the lost comes back with all that it had: nobody hears it, and it ends.
    fleet.nodes[2].start()?;
    let deadline = Instant::now() + PATIENCE;
    while fleet.nodes[2].is_there() {
        ensure!(
            Instant::now() < deadline,
            "it goes on:\n{}",
            fleet.nodes[2].last_words()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let words = fleet.nodes[2].last_words();
    ensure!(words.contains("was removed from the cluster"), "{words}");
    for name in ["first", "second", "third"] {
        fleet.check(4, name, 60)?;
    }
    fleet.hold_the_same(&[0, 3, 4])
}
