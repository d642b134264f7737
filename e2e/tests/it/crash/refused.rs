//! Data directories that are not used: each is refused with one sentence and a code of its own, and stays as it is.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Server, run_in};

use super::{ALONE, SPREAD, keeping};

/// As in sysexits.h: data that is damaged, a configuration that is refused.
const EXIT_CORRUPT: i32 = 65;
const EXIT_REFUSED: i32 = 78;
const HEADER_BYTES: usize = 4096;

/// All files of a directory.
fn tree(path: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            files.insert(path.clone(), Vec::new());
            files.extend(tree(&path)?);
        } else {
            files.insert(path.clone(), fs::read(&path)?);
        }
    }
    Ok(files)
}

/// A server that was killed after it had written something, and its directory.
fn killed(flags: &[&str]) -> Result<(Server, PathBuf)> {
    let mut server = keeping("always", flags)?;
    let mut client = server.client()?;
    for nth in 0..50 {
        client.say(&format!("SET key{nth} value{nth}"))?;
    }
    server.kill(None)?;
    let data = server.data();
    Ok((server, data))
}

fn segments(data: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = fs::read_dir(data.join("wal"))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|name| name == "wal"))
        .collect();
    found.sort();
    Ok(found)
}

fn first_segment(data: &Path) -> Result<PathBuf> {
    segments(data)?.into_iter().next().context("a segment")
}

fn refused_by(prefix: &[&str], data: &Path, flags: &[&str], code: i32, words: &str) -> Result<()> {
    let before = tree(data)?;
    let all = [&["--durability", "always"], flags].concat();
    let (status, said) = run_in(prefix, data, &all)?;
    ensure!(
        status.code() == Some(code),
        "{words}: {status}, not {code}: {said}"
    );
    ensure!(said.contains(words), "{words}: {said}");
    let last = said.trim_end().lines().next_back().unwrap_or_default();
    ensure!(
        last.contains(words),
        "it is not all said in the last line: {said}"
    );
    ensure!(
        !said.contains("panicked") && !said.contains("backtrace"),
        "{said}"
    );
    let after = tree(data)?;
    let changed: Vec<&PathBuf> = before
        .keys()
        .chain(after.keys())
        .filter(|path| before.get(*path) != after.get(*path))
        .collect();
    ensure!(changed.is_empty(), "{words}: it changed {changed:?}");
    Ok(())
}

fn refused(data: &Path, code: i32, words: &str) -> Result<()> {
    refused_by(&[], data, ALONE, code, words)
}

/// Serves again, with what it had.
fn heals(server: &mut Server) -> Result<()> {
    server.start_again()?;
    let value = server.client()?.say("GET key49")?.to_string();
    ensure!(value == "\"value49\"", "key49 is {value}");
    Ok(())
}

#[test]
fn in_use_by_another_process() -> Result<()> {
    let server = keeping("always", ALONE)?;
    server.client()?.say("SET a 1")?;
    let holder = format!("in use by another process ({})", server.pid());
    // The holder works on its files all the while.
    let all = [&["--durability", "always"], ALONE].concat();
    let (status, said) = run_in(&[], &server.data(), &all)?;
    assert_eq!(status.code(), Some(EXIT_REFUSED), "{said}");
    ensure!(said.contains(&holder), "{said}");
    assert_eq!(server.client()?.say("GET a")?.to_string(), "\"1\"");
    Ok(())
}

#[test]
fn of_another_cluster() -> Result<()> {
    let (mut ours, data) = killed(ALONE)?;
    let (_theirs, other) = killed(ALONE)?;
    let (mine, foreign) = (first_segment(&data)?, first_segment(&other)?);
    let kept = fs::read(&mine)?;
    fs::copy(&foreign, &mine)?;
    refused(&data, EXIT_REFUSED, "belongs to cluster")?;
    fs::write(&mine, kept)?;
    heals(&mut ours)
}

/// The CRC-32C of a file that a person may have written.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    !bytes.iter().fold(u32::MAX, byte)
}

#[test]
fn of_a_newer_version() -> Result<()> {
    let (mut server, data) = killed(ALONE)?;
    let file = data.join("identity");
    let identity = fs::read_to_string(&file)?;
    let facts = identity.split("checksum").next().context("a checksum")?;
    ensure!(identity.ends_with(&format!("checksum {:08x}\n", crc32c(facts.as_bytes()))));
    let newer = facts.replace("format 1", "format 9");
    fs::write(
        &file,
        format!("{newer}checksum {:08x}\n", crc32c(newer.as_bytes())),
    )?;
    refused(&data, EXIT_REFUSED, "was written by a newer version (format 9")?;
    fs::write(&file, &identity)?;

    let segment = first_segment(&data)?;
    let kept = fs::read(&segment)?;
    let mut newer = kept.clone();
    newer[8] = 9;
    fs::write(&segment, newer)?;
    refused(&data, EXIT_REFUSED, "it was written by a newer version (format 9")?;
    fs::write(&segment, kept)?;
    heals(&mut server)
}

#[test]
fn half_deleted() -> Result<()> {
    let (mut server, data) = killed(ALONE)?;
    let aside = data.with_file_name("aside");
    for (place, words) in [
        ("identity", "holds a log and no identity"),
        ("wal", "has an identity and no log"),
    ] {
        fs::rename(data.join(place), &aside)?;
        refused(&data, EXIT_CORRUPT, words)?;
        fs::rename(&aside, data.join(place))?;
    }
    let file = data.join("identity");
    let identity = fs::read_to_string(&file)?;
    fs::write(&file, identity.replace("node 1", "node 2"))?;
    refused(&data, EXIT_CORRUPT, "is damaged")?;
    fs::write(&file, identity)?;
    heals(&mut server)
}

#[test]
fn segments_that_are_missing() -> Result<()> {
    let mut server = keeping("everysec", ALONE)?;
    let mut client = server.client()?;
    // Three of these take more than two segments.
    let large = vec![b'v'; 40 << 20];
    for nth in 0..3 {
        client.call(&[b"SET".as_slice(), format!("large{nth}").as_bytes(), &large])?;
    }
    client.say("SET key49 value49")?;
    server.kill(None)?;
    let data = server.data();
    let segments = segments(&data)?;
    ensure!(segments.len() > 2, "{segments:?}");
    let aside = data.with_file_name("aside");
    for (nth, words) in [
        (0, "are missing: the log begins with segment"),
        (1, "of the log is missing"),
    ] {
        fs::rename(&segments[nth], &aside)?;
        refused(&data, EXIT_CORRUPT, words)?;
        fs::rename(&aside, &segments[nth])?;
    }
    // Two that changed places.
    fs::rename(&segments[0], &aside)?;
    fs::copy(&segments[1], &segments[0])?;
    refused(&data, EXIT_REFUSED, "it was renamed")?;
    fs::rename(&aside, &segments[0])?;
    heals(&mut server)
}

/// Where a value stands in a segment for the last time.
fn place_of(segment: &[u8], value: &str) -> Result<usize> {
    let found = segment
        .windows(value.len())
        .rposition(|window| window == value.as_bytes());
    found.with_context(|| format!("{value} is not in the log"))
}

#[test]
fn damaged_in_the_middle() -> Result<()> {
    let (mut server, data) = killed(ALONE)?;
    let segment = first_segment(&data)?;
    let kept = fs::read(&segment)?;
    let place = place_of(&kept, "value20")?;
    for at in [HEADER_BYTES + 2, place, place + 6, place + 30] {
        let mut bytes = kept.clone();
        bytes[at] ^= 0x40;
        fs::write(&segment, bytes)?;
        refused(&data, EXIT_CORRUPT, "the log is damaged at")?;
    }
    let mut header = kept.clone();
    header[20] ^= 1;
    fs::write(&segment, header)?;
    refused(&data, EXIT_CORRUPT, "its header is damaged")?;
    fs::write(&segment, kept)?;
    heals(&mut server)
}

/// After a crash, what a power cut may have left of the last write is cut off, and that is said.
#[test]
fn a_torn_tail_is_cut_and_said() -> Result<()> {
    let (mut server, data) = killed(ALONE)?;
    let segment = first_segment(&data)?;
    let mut bytes = fs::read(&segment)?;
    let place = place_of(&bytes, "value49")?;
    bytes[place + 3..].fill(0);
    fs::write(&segment, bytes)?;
    server.start_again()?;
    ensure!(
        server.log().contains("the tail of the log is torn"),
        "{}",
        server.log()
    );
    let mut client = server.client()?;
    assert_eq!(client.say("GET key48")?.to_string(), "\"value48\"");
    assert_eq!(client.say("GET key49")?.to_string(), "$-1");
    assert_eq!(client.say("SET key49 value49")?.to_string(), "+OK");
    server.kill(None)?;
    heals(&mut server)?;
    ensure!(!server.log().contains("torn"), "{}", server.log());
    Ok(())
}

/// A clean end says that all is durable: then not even the last write may be damaged.
#[test]
fn damage_to_the_last_write_is_seen_after_a_clean_end() -> Result<()> {
    let (mut server, data) = killed(ALONE)?;
    server.start_again()?;
    server.client()?.say("SHUTDOWN NOSAVE").unwrap_err();
    server.wait()?;
    let segment = first_segment(&data)?;
    let kept = fs::read(&segment)?;
    let mut bytes = kept.clone();
    let place = place_of(&kept, "value49")?;
    bytes[place] ^= 1;
    fs::write(&segment, bytes)?;
    refused(&data, EXIT_CORRUPT, "shows that it had been durable")?;
    fs::write(&segment, kept)?;
    heals(&mut server)
}

#[test]
fn without_rights() -> Result<()> {
    let (mut server, data) = killed(ALONE)?;
    // Root may do everything, unless its capabilities are taken.
    let drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    let is_root = fs::metadata("/proc/self").is_ok_and(|facts| {
        use std::os::unix::fs::MetadataExt;
        facts.uid() == 0
    });
    let prefix: &[&str] = if is_root { &drop } else { &[] };
    for (place, mode) in [(data.clone(), 0o500), (data.join("wal"), 0o500)] {
        let allowed = fs::metadata(&place)?.permissions();
        fs::set_permissions(&place, fs::Permissions::from_mode(mode))?;
        let result = refused_by(
            prefix,
            &data,
            ALONE,
            EXIT_REFUSED,
            "cannot be read and written by user",
        );
        fs::set_permissions(&place, allowed)?;
        result.with_context(|| format!("{} with mode {mode:o}", place.display()))?;
    }
    heals(&mut server)
}

#[test]
fn of_another_number_of_shards() -> Result<()> {
    let (mut server, data) = killed(SPREAD)?;
    for shards in ["1", "3", "5"] {
        let flags = ["--shards", shards];
        refused_by(&[], &data, &flags, EXIT_REFUSED, "was made for 4 shards")?;
    }
    heals(&mut server)
}

/// What is there of an image is not to be lost because a part of it was.
#[test]
fn an_image_of_which_a_part_was_deleted() -> Result<()> {
    let mut server = keeping("always", ALONE)?;
    let mut client = server.client()?;
    for nth in 0..50 {
        client.say(&format!("SET key{nth} value{nth}"))?;
    }
    let saved = client.say("SAVE")?;
    ensure!(
        saved == Value::Simple(b"OK".to_vec()),
        "no image was made: {saved}"
    );
    client.say("SET key49 value49")?;
    server.kill(None)?;
    let data = server.data();
    let current = data.join("image/rows/CURRENT");
    let kept = fs::read(&current)?;
    fs::remove_file(&current)?;
    for _ in 0..2 {
        refused(&data, EXIT_CORRUPT, "Restore the folder image")?;
    }
    fs::write(&current, kept)?;
    heals(&mut server)
}

#[test]
fn of_a_server_that_stood_alone_by_a_node_of_a_cluster() -> Result<()> {
    let (mut server, data) = killed(ALONE)?;
    // Ports of its own: the node would listen for peers, too.
    let flags = [
        ALONE,
        &[
            "--cluster-enabled",
            "yes",
            "--routed-port",
            "0",
            "--admin-port",
            "27480",
        ],
    ]
    .concat();
    let (status, said) = run_in(&[], &data, &flags)?;
    assert_eq!(status.code(), Some(EXIT_REFUSED), "{said}");
    ensure!(said.contains("start it without cluster-enabled"), "{said}");
    heals(&mut server)
}
