//! Each library against each port, while leaderships are handed over and nodes end.

use std::time::Duration;

use anyhow::Result;
use ruvio_e2e::client::Client;
use ruvio_e2e::cluster::Cluster;

use super::writer::{Failure, Library, Told, Writer};
use super::{CLUSTER, ROUTED, SHARDS, cluster, doors, wait_until_whole};

/// What is done to the cluster, while clients write.
const PHASES: [&str; 5] = ["quiet", "transfer", "drain", "stop", "kill"];
/// Of the nodes behind the first one, where plain clients are.
const STOPPED: usize = 1;
const KILLED: usize = 2;
const BETWEEN: Duration = Duration::from_millis(500);

#[test]
fn redis_py() -> Result<()> {
    writes_through_it_all(Library::RedisPy)
}

#[test]
fn ioredis() -> Result<()> {
    writes_through_it_all(Library::IoRedis)
}

#[test]
fn go_redis() -> Result<()> {
    writes_through_it_all(Library::GoRedis)
}

fn writes_through_it_all(library: Library) -> Result<()> {
    let mut cluster = cluster()?;
    let (routed, by_slots) = (doors(&cluster, ROUTED), doors(&cluster, CLUSTER));
    let Some(plain) = Writer::start(library, "plain", &routed[..1])? else {
        return Ok(());
    };
    let Some(clustered) = Writer::start(library, "cluster", &by_slots)? else {
        return Ok(());
    };
    let mut writers = [(plain, Told::default()), (clustered, Told::default())];
    for phase in PHASES {
        for (writer, told) in &mut writers {
            writer.enter(phase, told)?;
        }
        act(&mut cluster, phase)?;
        std::thread::sleep(BETWEEN);
    }
    for (writer, told) in &mut writers {
        writer.enter("after", told)?;
    }
    let [(plain, mut of_plain), (clustered, mut of_clustered)] = writers;
    // What one port acknowledged is read by the other, and from another node.
    let mut reader = Client::connect(routed[KILLED])?;
    let name = plain.finish(&mut of_plain)?;
    let count = of_plain.check(&name, &mut reader, false)?;
    println!(
        "{name}: {count} writes acknowledged, failures {:?}",
        summary(&of_plain)
    );
    let name = clustered.finish(&mut of_clustered)?;
    let count = of_clustered.check(&name, &mut reader, true)?;
    println!(
        "{name}: {count} writes acknowledged, failures {:?}",
        summary(&of_clustered)
    );

    assert_eq!(of_plain.wrong, Vec::<String>::new());
    assert_eq!(of_clustered.wrong, Vec::<String>::new());
    let noticed = of_plain.failures.iter().filter(|failure| !is_meant(failure));
    assert_eq!(
        noticed.map(|failure| format!("{failure:?}")).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    // Of each worker one write at the most was under way to the node that was killed.
    assert!(of_plain.in_phase("kill").count() <= 4, "{:?}", summary(&of_plain));
    // How these libraries look for the new leader is theirs, and it takes some of them seconds; they come back.
    for quiet in ["quiet", "after"] {
        let failures: Vec<_> = of_clustered.in_phase(quiet).filter(|f| !is_election(f)).collect();
        assert!(failures.is_empty(), "{failures:?}");
    }
    Ok(())
}

fn act(cluster: &mut Cluster, phase: &str) -> Result<()> {
    match phase {
        "transfer" => {
            for shard in 0..SHARDS {
                for node in ["2", "3", "1"] {
                    // One that does not come about costs nothing either.
                    let _ = cluster.administer(&["transfer-leader", &shard.to_string(), "--to", node]);
                }
            }
        }
        "drain" => {
            cluster.administer(&["drain", "2"])?;
            std::thread::sleep(BETWEEN);
            cluster.administer(&["undrain", "2"])?;
        }
        "stop" => {
            cluster.nodes[STOPPED].stop()?;
            std::thread::sleep(BETWEEN);
            cluster.nodes[STOPPED].start()?;
            wait_until_whole(cluster)?;
        }
        "kill" => {
            cluster.nodes[KILLED].kill()?;
            std::thread::sleep(Duration::from_secs(3));
            cluster.nodes[KILLED].start()?;
            wait_until_whole(cluster)?;
        }
        _ => {}
    }
    Ok(())
}

/// A busy machine may bring about an election that nobody asked for.
fn is_election(failure: &Failure) -> bool {
    failure.what.contains("UNCERTAIN") && failure.what.contains("leader changed")
}

/// What a plain client may see: of the writes that were under way to a node that was killed, that this is not known.
fn is_meant(failure: &Failure) -> bool {
    let is_write = !failure.what.contains(" GET ");
    is_election(failure) || failure.phase == "kill" && is_write && failure.what.contains("UNCERTAIN")
}

/// How many there were in each phase, and the last of them.
fn summary(told: &Told) -> Vec<String> {
    let of_phase = |phase: &&str| {
        let last = told.in_phase(phase).last().map_or("", |failure| &failure.what);
        format!("{phase}: {} {last}", told.in_phase(phase).count())
    };
    PHASES.iter().map(of_phase).collect()
}
