//! `IDEM` and `LIMIT` over the end of a process: what was decided stands, fences never fall back, and what changes
//! nothing leaves no trace in the log.

use anyhow::{Context, Result};
use ruvio_e2e::client::Client;
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Kind, Server};

fn start(durability: &str) -> Result<Server> {
    Server::start(Kind::Ruvio, &["--durability", durability])
}

fn say(client: &mut Client, command: &str) -> Result<String> {
    Ok(client.say(command)?.to_string())
}

/// The fence out of `["NEW", :7, "a"]`.
fn fence(answer: &str) -> Result<i64> {
    let number = answer.strip_prefix("[\"NEW\", :").context(answer.to_owned())?;
    let end = number.find(',').context(answer.to_owned())?;
    Ok(number[..end].parse()?)
}

#[test]
fn leases_and_results_recover_and_fences_only_grow() -> Result<()> {
    for (durability, end) in [("always", "KILL"), ("everysec", "KILL"), ("always", "TERM")] {
        let mut server = start(durability)?;
        let mut last = 0;
        for round in 0..4 {
            let mut client = server.client()?;
            let done = fence(&say(
                &mut client,
                &format!("IDEM BEGIN done{round} sha OWNER a LEASE 600000"),
            )?)?;
            assert!(done > last, "{durability} {end}: {done} after {last}");
            say(
                &mut client,
                &format!("IDEM COMPLETE done{round} a {done} result{round}"),
            )?;
            let held = fence(&say(
                &mut client,
                &format!("IDEM BEGIN held{round} sha OWNER a LEASE 600000"),
            )?)?;
            // Its key is gone before the end, its fence is not.
            last = fence(&say(&mut client, "IDEM BEGIN gone sha OWNER a")?)?;
            say(&mut client, &format!("IDEM ABORT gone a {last}"))?;
            server.stop(end)?;
            server.start_again()?;

            let mut client = server.client()?;
            for earlier in 0..=round {
                let answer = say(&mut client, &format!("IDEM BEGIN done{earlier} sha OWNER b"))?;
                assert!(
                    answer.starts_with(&format!("[\"DONE\", \"result{earlier}\", :")),
                    "{answer}"
                );
                let answer = say(&mut client, &format!("IDEM BEGIN held{earlier} sha OWNER b"))?;
                assert!(answer.starts_with("[\"BUSY\", :"), "{answer}");
                assert!(
                    say(&mut client, &format!("IDEM BEGIN held{earlier} other"))?.starts_with("-MISMATCH ")
                );
            }
            // The holder goes on where it was.
            let extended = say(
                &mut client,
                &format!("IDEM EXTEND held{round} a {held} LEASE 600000"),
            )?;
            assert_eq!(extended, format!("[:{held}, :600000]"));
        }
    }
    Ok(())
}

#[test]
fn charges_recover() -> Result<()> {
    let mut server = start("always")?;
    let mut client = server.client()?;
    for left in (0..3).rev() {
        let answer = say(&mut client, "LIMIT quota WINDOW 3 PER 600000 NOWAIT")?;
        assert!(
            answer.starts_with(&format!("[:1, :3, :{left}, :0, :")),
            "{answer}"
        );
    }
    // What is answered at once is logged all the same; this reply says that it is.
    say(&mut client, "SET after 1")?;
    server.stop("KILL")?;
    server.start_again()?;
    let answer = say(&mut server.client()?, "LIMIT quota WINDOW 3 PER 600000")?;
    assert!(answer.starts_with("[:0, :3, :0, :"), "{answer}");
    Ok(())
}

#[test]
fn what_is_denied_leaves_no_trace_in_the_log() -> Result<()> {
    let server = start("everysec")?;
    let mut client = server.client()?;
    let log_bytes = || -> Result<u64> { Ok(server.info("persistence", "log_written_bytes")?.parse()?) };
    say(&mut client, "LIMIT rate RATE 1 PER 600000")?;
    say(&mut client, "LIMIT window WINDOW 1 PER 600000")?;
    let mine = fence(&say(&mut client, "IDEM BEGIN held sha OWNER a LEASE 600000")?)?;
    let done = fence(&say(&mut client, "IDEM BEGIN done sha OWNER a LEASE 600000")?)?;
    say(&mut client, &format!("IDEM COMPLETE done a {done} result"))?;
    let before = log_bytes()?;
    assert!(before > 0);
    for _ in 0..200 {
        for (command, answer) in [
            ("LIMIT rate RATE 1 PER 600000", "[:0, "),
            ("LIMIT window WINDOW 1 PER 600000", "[:0, "),
            (
                "LIMIT MULTI 2 fresh RATE 9 PER 9000 window WINDOW 1 PER 600000",
                "[:0, ",
            ),
            ("LIMIT fresh RATE 9 PER 9000 PEEK", "[:1, "),
            ("CL.THROTTLE fresh 5 10 60 0", "[:0, "),
            ("IDEM BEGIN held sha OWNER b", "[\"BUSY\", "),
            ("IDEM BEGIN done sha OWNER b", "[\"DONE\", "),
            ("IDEM BEGIN held other", "-MISMATCH "),
            ("IDEM COMPLETE held b 1 x", "-STALE "),
            ("SET held x NX", "$-1"),
        ] {
            let got = say(&mut client, command)?;
            assert!(got.starts_with(answer), "{command}: {got}");
        }
    }
    assert_eq!(log_bytes()?, before, "nothing changed, and something was logged");
    let done = client.say(&format!("IDEM COMPLETE held a {mine} x"))?;
    assert_eq!(done, Value::Simple(b"OK".to_vec()));
    assert!(log_bytes()? > before, "a change is logged");
    Ok(())
}
