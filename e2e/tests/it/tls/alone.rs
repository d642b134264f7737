//! One server: what its clients see of TLS.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use ruvio_e2e::certificates::{Authority, Folder};
use ruvio_e2e::client::Client;
use ruvio_e2e::server::{Kind, Server, run_in, scratch_dir};

use super::{put_generations, run_script, said};

const HOST: &str = "127.0.0.1";

struct Secure {
    server: Server,
    port: u16,
    folder: Folder,
    authority: Authority,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

/// A folder with `node`, `client` and `stranger`, whom somebody else has signed for.
fn certificates() -> (Folder, Authority) {
    let folder = Folder::new().expect("a folder");
    let (authority, other) = (
        Authority::new("first").expect("it signs"),
        Authority::new("other").expect("it signs"),
    );
    let host = [HOST.to_owned()];
    folder.put("ca.crt", &authority.pem()).expect("is written");
    for (name, by) in [("node", &authority), ("client", &authority), ("stranger", &other)] {
        folder
            .put_pair(name, &by.sign(name, &host).expect("is signed"))
            .expect("is written");
    }
    let expired = authority.sign_expired("expired", &host).expect("is signed");
    folder.put_pair("expired", &expired).expect("is written");
    (folder, authority)
}

impl Secure {
    fn start(more: &[&str]) -> Self {
        let (folder, authority) = certificates();
        let port = free_port();
        let mut flags = vec!["--tls-port".to_owned(), port.to_string()];
        flags.extend(folder.flags("node"));
        flags.extend(more.iter().map(ToString::to_string));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Self {
            server: Server::start(Kind::Ruvio, &flags).expect("it starts"),
            port,
            folder,
            authority,
        }
    }

    fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// What redis-cli says to these words; `name`: whose certificate it shows.
    fn cli(&self, name: Option<&str>, words: &[&str]) -> String {
        let port = self.port.to_string();
        let mut command = Command::new("redis-cli");
        command.args([
            "-h",
            HOST,
            "-p",
            &port,
            "--tls",
            "--cacert",
            &self.folder.path("ca.crt"),
        ]);
        if let Some(name) = name {
            command.args(["--cert", &self.folder.path(&format!("{name}.crt"))]);
            command.args(["--key", &self.folder.path(&format!("{name}.key"))]);
        }
        said(command.args(words)).1
    }
}

#[test]
fn clients_that_others_wrote_work_by_tls() {
    let secure = Secure::start(&["--shards", "4", "--owner-threads", "2"]);
    let port = secure.port.to_string();
    let dir = secure.folder.dir().display().to_string();
    println!("{}", run_script("tls_clients.py", &[HOST, &port, &dir]));
    assert_eq!(secure.cli(Some("client"), &["SET", "k", "v"]), "OK\n");
    assert_eq!(secure.cli(Some("client"), &["GET", "k"]), "v\n");
    let benchmark = Command::new("redis-benchmark")
        .args([
            "-h",
            HOST,
            "-p",
            &port,
            "--tls",
            "--cacert",
            &secure.folder.path("ca.crt"),
        ])
        .args([
            "--cert",
            &secure.folder.path("client.crt"),
            "--key",
            &secure.folder.path("client.key"),
        ])
        .args([
            "-n",
            "3000",
            "-c",
            "20",
            "-P",
            "8",
            "-q",
            "-t",
            "set,get,lpush,lrange_100",
        ])
        .output()
        .expect("redis-benchmark runs (make setup)");
    assert!(
        benchmark.status.success(),
        "{}",
        String::from_utf8_lossy(&benchmark.stderr)
    );
    let listed = secure
        .server
        .info("server", "listener1")
        .expect("it listens twice");
    assert_eq!(listed, format!("name=tls,bind=127.0.0.1,port={port}"));
}

/// As `openssl` tells of the file.
#[test]
fn info_tells_which_certificates_are_in_force() {
    let secure = Secure::start(&[]);
    let serial_of = |name: &str| {
        let mut openssl = Command::new("openssl");
        openssl.args(["x509", "-noout", "-serial", "-in", &secure.folder.path(name)]);
        let (is_well, told) = said(&mut openssl);
        assert!(is_well, "{told}");
        told.trim().replace("serial=", "")
    };
    let info = |field: &str| secure.server.info("tls", field).expect("it answers");
    assert_eq!(info("tls_server_cert_serial"), serial_of("node.crt"));
    assert_eq!(info("tls_ca_cert_serial"), serial_of("ca.crt"));
    assert_eq!(info("tls_client_cert_serial"), "none");
    let left: i64 = info("tls_server_cert_expires_in_seconds")
        .parse()
        .expect("a number");
    assert!(left > 50 * 365 * 24 * 3600, "{left}");
    let before = info("tls_server_cert_serial");
    let next = secure
        .authority
        .sign("next", &[HOST.to_owned()])
        .expect("is signed");
    secure.folder.put_pair("node", &next).expect("is written");
    let start = Instant::now();
    while info("tls_server_cert_serial") == before {
        assert!(start.elapsed() < Duration::from_secs(30), "it is not taken in");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(info("tls_server_cert_serial"), serial_of("node.crt"));
}

#[test]
fn who_shows_no_good_certificate_is_refused_unless_nobody_has_to() {
    let secure = Secure::start(&[]);
    assert_eq!(secure.cli(Some("client"), &["PING"]), "PONG\n");
    for name in [None, Some("stranger"), Some("expired")] {
        let said = secure.cli(name, &["PING"]);
        assert!(!said.contains("PONG"), "{name:?}: {said}");
    }
    let mut client = secure.server.client().expect("it connects");
    let mut set = |value| {
        client
            .call(&["CONFIG", "SET", "tls-auth-clients", value])
            .expect("it answers")
    };
    assert_eq!(set("no").to_string(), "+OK");
    assert_eq!(secure.cli(None, &["PING"]), "PONG\n");
    assert_eq!(set("optional").to_string(), "+OK");
    assert_eq!(secure.cli(None, &["PING"]), "PONG\n");
    assert!(!secure.cli(Some("stranger"), &["PING"]).contains("PONG"));
}

#[test]
fn options_are_changed_while_it_runs_all_or_not() {
    let secure = Secure::start(&[]);
    let mut client = secure.server.client().expect("it connects");
    let mut call = |words: &[&str]| client.call(words).expect("it answers").to_string();
    let refused = call(&["CONFIG", "SET", "tls-cert-file", "no-such-file"]);
    assert!(
        refused.contains("'tls-cert-file'") && refused.contains("No such file"),
        "{refused}"
    );
    let stranger = secure.folder.path("stranger.crt");
    let refused = call(&["CONFIG", "SET", "tls-cert-file", &stranger]);
    assert!(
        refused.contains("is not that of the first certificate"),
        "{refused}"
    );
    assert!(call(&["CONFIG", "GET", "tls-cert-file"]).contains("node.crt"));
    assert_eq!(secure.cli(Some("client"), &["PING"]), "PONG\n");
    let key = secure.folder.path("stranger.key");
    let both = ["CONFIG", "SET", "tls-cert-file", &stranger, "tls-key-file", &key];
    assert_eq!(call(&both), "+OK");
    assert!(
        !secure.cli(Some("client"), &["PING"]).contains("PONG"),
        "others signed for it"
    );
    let refused = call(&["CONFIG", "SET", "tls-protocols", "TLSv1.1"]);
    assert!(refused.contains("TLSv1.2 and TLSv1.3"), "{refused}");
    assert!(call(&["CONFIG", "SET", "tls-cluster", "yes"]).contains("immutable"));
}

#[test]
fn a_start_without_good_files_says_what_to_do() {
    let (folder, _authority) = certificates();
    let port = free_port().to_string();
    let data = scratch_dir().expect("a folder");
    let say = |name: &str, more: &[&str]| {
        let mut flags = vec!["--tls-port".to_owned(), port.clone()];
        flags.extend(folder.flags(name));
        flags.extend(more.iter().map(ToString::to_string));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let (status, said) = run_in(&[], &data, &flags).expect("it ends");
        assert!(!status.success(), "{said}");
        said
    };
    assert!(say("expired", &[]).contains("has expired at 2020-01-01 00:00:00 UTC: put a newer one there"));
    assert!(say("nobody", &[]).contains("tls-cert-file: cannot read"));
    assert!(say("node", &["--tls-key-file", ""]).contains("tls-key-file is not set"));
    assert!(say("node", &["--tls-ca-cert-file", ""]).contains("or say tls-auth-clients no"));
    assert!(say("node", &["--tls-replication", "yes"]).contains("tls-cluster yes"));
    std::fs::remove_dir_all(data).expect("it is there");
}

/// `port 0` beside a `tls-port` is no port at all.
#[test]
fn tls_may_be_the_only_way_in() {
    let (folder, _authority) = certificates();
    let (port, data) = (free_port(), scratch_dir().expect("a folder"));
    let program = ruvio_e2e::server::binary(Kind::Ruvio).expect("it is built");
    let mut command = Command::new(program);
    command
        .args(["--port", "0", "--durability", "memory", "--dir"])
        .arg(&data);
    command
        .args(["--tls-port", &port.to_string()])
        .args(folder.flags("node"));
    let mut child = command
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let start = Instant::now();
    let port = port.to_string();
    let ask = |words: &[&str]| {
        let mut cli = Command::new("redis-cli");
        cli.args([
            "-h",
            HOST,
            "-p",
            &port,
            "--tls",
            "--cacert",
            &folder.path("ca.crt"),
        ]);
        cli.args([
            "--cert",
            &folder.path("client.crt"),
            "--key",
            &folder.path("client.key"),
        ]);
        said(cli.args(words)).1
    };
    while ask(&["PING"]) != "PONG\n" {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not serve");
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = ask(&["INFO", "server"]);
    assert!(told.contains(&format!("tcp_port:{port}")), "{told}");
    assert!(
        told.contains("listener0:name=tls,") && !told.contains("name=tcp"),
        "{told}"
    );
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    std::fs::remove_dir_all(data).expect("it is there");
}

#[test]
fn nonsense_and_half_a_handshake_harm_nobody() {
    let mut secure = Secure::start(&["--maxclients", "100"]);
    let start = Instant::now();
    // A record of a handshake that says it is long, and does not come.
    let mut silent: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(secure.address()).expect("it listens"))
        .collect();
    for stream in silent.iter_mut().step_by(2) {
        stream
            .write_all(b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc")
            .expect("it is sent");
    }
    let mut rng = fastrand::Rng::with_seed(7);
    for round in 0..50 {
        let mut stream = TcpStream::connect(secure.address()).expect("it listens");
        let bytes: Vec<u8> = (0..rng.usize(1..2000)).map(|_| rng.u8(..)).collect();
        let said: &[u8] = match round % 3 {
            0 => b"*1\r\n$4\r\nPING\r\n",
            1 => b"PING\r\n",
            _ => &bytes,
        };
        // It may be gone before all is sent.
        let _ = stream.write_all(said);
        stream
            .set_read_timeout(Some(Duration::from_secs(2)))
            .expect("a limit");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"+PONG"), "{answer:?}");
    }
    assert_eq!(secure.cli(Some("client"), &["PING"]), "PONG\n");
    // Those who never finish are let go.
    for stream in &mut silent {
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a limit");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it is closed");
    }
    assert!(start.elapsed() > Duration::from_secs(9), "{:?}", start.elapsed());
    let clients = secure
        .server
        .info("clients", "connected_clients")
        .expect("it answers");
    assert_eq!(clients, "1");
    assert!(secure.server.is_running());
}

#[test]
fn certificates_change_under_load_and_nobody_notices() {
    let secure = Secure::start(&["--shards", "4", "--owner-threads", "2"]);
    let next = Authority::new("second").expect("it signs");
    put_generations(&secure.folder, &secure.authority, &next, &[HOST.to_owned()]);
    let (port, dir) = (secure.port.to_string(), secure.folder.dir().display().to_string());
    println!("{}", run_script("tls_rotation.py", &[HOST, &port, &dir]));
    assert!(Client::connect(secure.server.addr()).is_ok());
}
