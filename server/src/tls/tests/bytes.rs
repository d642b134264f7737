//! What passes: much, little, nonsense, and nothing.

use std::io::Write;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn joined() -> (Session, Session, Line) {
    let authority = Authority::new();
    let (server, _folder) = node(&["server.example"], &authority);
    let mut near = server.dial("server.example").expect("a name");
    let mut far = server.serve().expect("a session");
    let line = greet(&mut near, &mut far).expect("they know each other");
    (near, far, line)
}

#[test]
fn what_is_sent_arrives_and_little_of_it_is_held() {
    let (mut near, mut far, line) = joined();
    let sent: Vec<u8> = (0..5_000_000_u32)
        .map(|nth| (nth.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let (mut at, mut came) = (0, Vec::new());
    let mut room = vec![0; 16 << 10];
    while came.len() < sent.len() {
        at += far.send(&line.far, &sent[at..]).expect("it is sent");
        // One chunk, and what its records have beside.
        assert!(far.backlog() <= (64 << 10) + 4096, "{}", far.backlog());
        let got = near.receive(&line.near, &mut room).expect("it comes");
        assert!(!got.ended);
        came.extend_from_slice(&room[..got.bytes]);
    }
    assert!(came == sent);
    assert_eq!(
        (at, far.flush(&line.far).expect("it goes"), far.backlog()),
        (sent.len(), true, 0)
    );
}

#[test]
fn an_end_is_told_and_comes_after_what_was_sent_before_it() {
    let (mut near, mut far, line) = joined();
    near.send(&line.near, b"the last words").expect("it is sent");
    near.end(&line.near);
    let mut room = [0; 8];
    let mut said = Vec::new();
    loop {
        let got = far.receive(&line.far, &mut room).expect("it comes");
        said.extend_from_slice(&room[..got.bytes]);
        if got.ended {
            break;
        }
        assert!(got.more, "no edge would tell of the rest");
    }
    assert_eq!(said, b"the last words");
    // A line that is cut ends as well.
    let (_, mut far, line) = joined();
    drop(line.near);
    assert!(far.receive(&line.far, &mut room).expect("no fault").ended);
}

#[test]
fn who_does_not_finish_the_handshake_is_late_one_day() {
    let authority = Authority::new();
    let (server, _folder) = node(&["server.example"], &authority);
    let line = Line::new();
    let mut far = server.serve().expect("a session");
    let got = far.receive(&line.far, &mut [0; 64]).expect("nothing comes");
    assert_eq!(
        (got.bytes, got.more, got.ended, far.is_late()),
        (0, false, false, false)
    );
    far.since -= Duration::from_secs(11);
    assert!(far.is_late());
    assert_eq!(
        far.send(&line.far, b"+OK\r\n").expect("it waits"),
        0,
        "nothing is said to strangers"
    );
    let (_, mut far, _line) = joined();
    far.since -= Duration::from_secs(11);
    assert!(!far.is_late());
}

/// Takes all that comes, until the end or a fault.
fn exhaust(far: &mut Session, line: &Line) -> bool {
    let mut room = [0; 512];
    for _ in 0..200 {
        match far.receive(&line.far, &mut room) {
            Ok(got) if got.ended => return true,
            Ok(got) if !got.more && got.bytes == 0 => return false,
            Ok(_) => {}
            Err(_) => return true,
        }
    }
    panic!("it never ends");
}

#[test]
fn a_plain_client_is_not_understood() {
    let authority = Authority::new();
    let (server, _folder) = node(&["server.example"], &authority);
    for said in [
        &b"*1\r\n$4\r\nPING\r\n"[..],
        b"PING\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ] {
        let mut line = Line::new();
        line.near.write_all(said).expect("it is sent");
        let mut far = server.serve().expect("a session");
        assert!(exhaust(&mut far, &line));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nonsense_ends_a_connection_or_waits_for_more(
        at in 0_usize..400, with in proptest::collection::vec(any::<u8>(), 1..40), is_open: bool,
    ) {
        thread_local! {
            static SERVER: (Tls, Folder) = node(&["server.example"], &Authority::new());
        }
        SERVER.with(|(server, _)| {
            let mut line = Line::new();
            let mut far = server.serve().expect("a session");
            if is_open {
                let mut near = server.dial("server.example").expect("a name");
                line = greet(&mut near, &mut far).expect("they know each other");
                line.near.write_all(&with).expect("it is sent");
            } else {
                // A hello that is not quite one.
                let near = server.dial("server.example").expect("a name");
                let mut hello = near.output.clone();
                let at = at.min(hello.len());
                let end = hello.len().min(at + with.len());
                hello.splice(at..end, with.iter().copied());
                line.near.write_all(&hello).expect("it is sent");
            }
            exhaust(&mut far, &line);
            // Told, or the line is silent; never more than a little.
            prop_assert!(far.backlog() < 16 << 10);
            Ok(())
        })?;
    }
}
