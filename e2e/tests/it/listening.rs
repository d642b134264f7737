//! Where clients come from: Unix sockets, and a process that has no descriptors left. And where the files of the
//! configuration are looked for.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ruvio_e2e::client::Client;
use ruvio_e2e::server::{Kind, Server};

fn kind() -> Kind {
    Kind::under_test("RUVIO_LISTENING_AGAINST")
}

/// A folder of this test's own, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ruvio-e2e-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("makes a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ask(stream: &mut UnixStream, line: &str) -> String {
    stream
        .write_all(format!("{line}\r\n").as_bytes())
        .expect("is sent");
    let mut answer = vec![0; 4096];
    let len = stream.read(&mut answer).expect("is answered");
    String::from_utf8_lossy(&answer[..len]).into_owned()
}

#[test]
fn a_unix_socket_is_one_more_way_in() {
    let folder = Folder::new("socket");
    let path = folder.0.join("server.sock");
    let text = path.to_string_lossy().into_owned();
    let flags = ["--unixsocket", &text, "--unixsocketperm", "700"];
    let server = Server::start(kind(), &flags).expect("starts");
    let mode = std::fs::metadata(&path).expect("is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let mut streams: Vec<UnixStream> = (0..4)
        .map(|_| UnixStream::connect(&path).expect("connects"))
        .collect();
    for stream in &mut streams {
        assert_eq!(ask(stream, "PING"), "+PONG\r\n");
        let told = ask(stream, "CLIENT INFO");
        let ends = format!(" addr=[{text}:0]:0 laddr=[{text}:0]:0 ");
        assert!(told.contains(&ends) && told.contains(" flags=U "), "{told}");
    }
    let listener = server.info("server", "listener1").expect("is told");
    assert_eq!(listener, format!("name=unix,bind={text}"));
}

#[test]
fn paths_are_meant_from_the_folder_of_the_data() {
    let folder = Folder::new("dir");
    std::fs::write(folder.0.join("users.acl"), "user ann on >pw ~* &* +@all\n").expect("writes");
    let dir = folder.0.to_string_lossy().into_owned();
    let flags = ["--dir", &dir, "--aclfile", "users.acl", "--pidfile", "a.pid"];
    let server = Server::start(kind(), &flags).expect("starts");
    let mut client = server.client().expect("connects");
    assert_eq!(client.say("AUTH ann pw").expect("answers").to_string(), "+OK");
    let told = client.say("CONFIG GET dir").expect("answers").to_string();
    let whole = std::fs::canonicalize(&folder.0).expect("is there");
    assert!(told.contains(&*whole.to_string_lossy()), "{told}");
    assert_eq!(client.say("ACL SAVE").expect("answers").to_string(), "+OK");
    let saved = std::fs::read_to_string(folder.0.join("users.acl")).expect("is there");
    assert!(saved.contains("user default "), "{saved}");
    assert!(folder.0.join("a.pid").exists());
}

/// User and system time of a process, in ticks of a hundredth of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("runs");
    let fields: Vec<&str> = text
        .rsplit_once(')')
        .expect("a name")
        .1
        .split_whitespace()
        .collect();
    let field = |at: usize| fields[at].parse::<u64>().expect("a number");
    field(11) + field(12)
}

#[test]
fn without_descriptors_it_waits_for_them_and_says_so_once() {
    const ROOM: usize = 4;
    let server = Server::start(Kind::Ruvio, &[]).expect("starts");
    let pid = server.pid();
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("runs")
        .count();
    let limit = format!("--nofile={}", open + ROOM);
    let done = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &limit])
        .status()
        .expect("prlimit of util-linux");
    assert!(done.success());
    let mut clients: Vec<Client> = (0..ROOM * 3)
        .map(|_| server.client().expect("the system takes it in"))
        .collect();
    for client in &mut clients[..ROOM] {
        assert_eq!(client.say("PING").expect("answers").to_string(), "+PONG");
    }
    std::thread::sleep(Duration::from_millis(200));
    let before = cpu_ticks(pid);
    std::thread::sleep(Duration::from_millis(1000));
    let took = cpu_ticks(pid) - before;
    assert!(took < 30, "{took} hundredths of a second to do nothing");
    assert_eq!(server.log().matches("cannot be accepted").count(), 1);
    // Those who leave make room for those who wait.
    while !clients.is_empty() {
        for client in clients.iter_mut().take(ROOM) {
            assert_eq!(client.say("PING").expect("answers").to_string(), "+PONG");
        }
        clients.drain(..ROOM);
    }
}
