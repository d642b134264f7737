//! A network for each node: a namespace with one interface on a bridge, at which the test itself listens too. It takes
//! `ip` and `tc`, and root.
//!
//! Who reaches whom is decided by the tables of neighbours: every node knows the hardware addresses of the others from
//! us, and a direction is cut by an address that nobody has. The packets are sent and lost, as on a real line.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};

pub struct Network {
    lines: Arc<Lines>,
    nodes: usize,
    flaps: Mutex<Vec<Flap>>,
}

/// What a thread of its own needs to cut a line.
struct Lines {
    name: String,
    subnet: [u8; 3],
}

/// A line that is cut and mended all the time.
struct Flap {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Flap {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Nobody has it.
const NOWHERE: &str = "02:72:76:ff:ff:ff";

fn run(program: &str, words: &str) -> Result<()> {
    let mut command = Command::new(program);
    command.args(words.split(' ')).stdin(Stdio::null());
    let done = command.output().with_context(|| program.to_owned())?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        bail!("{program} {words}: {said}");
    }
    Ok(())
}

impl Lines {
    fn space(&self, node: usize) -> String {
        format!("{}n{}", self.name, node + 1)
    }

    fn bridge(&self) -> String {
        format!("{}b", self.name)
    }

    fn address(&self, node: usize) -> Ipv4Addr {
        let [a, b, c] = self.subnet;
        Ipv4Addr::new(a, b, c, node as u8 + 1)
    }

    fn set(&self, from: usize, to: usize, is_whole: bool) -> Result<()> {
        let hardware = if is_whole {
            hardware(to)
        } else {
            NOWHERE.to_owned()
        };
        let (space, to) = (self.space(from), self.address(to));
        run(
            "ip",
            &format!("-n {space} neigh replace {to} lladdr {hardware} dev eth0 nud permanent"),
        )
    }
}

fn hardware(node: usize) -> String {
    format!("02:72:76:00:00:{:02x}", node + 1)
}

impl Network {
    /// None where the system gives no namespaces: without root, or elsewhere than on Linux.
    pub fn new(nodes: usize) -> Result<Option<Network>> {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        sweep();
        let network = Network {
            lines: Arc::new(Lines {
                name: format!("rv{process}{}", char::from(b'a' + number % 26)),
                subnet: [10, 100 + (process % 100) as u8, number],
            }),
            nodes,
            flaps: Mutex::new(Vec::new()),
        };
        if run("ip", &format!("netns add {}", network.lines.space(0))).is_err() {
            return Ok(None);
        }
        // From here on it is removed again, whatever happens.
        network.build()?;
        Ok(Some(network))
    }

    fn build(&self) -> Result<()> {
        let (bridge, [a, b, c]) = (self.lines.bridge(), self.lines.subnet);
        run("ip", &format!("link add {bridge} type bridge"))?;
        run("ip", &format!("addr add {a}.{b}.{c}.254/24 dev {bridge}"))?;
        run("ip", &format!("link set {bridge} up"))?;
        for node in 0..self.nodes {
            let space = self.lines.space(node);
            if node > 0 {
                run("ip", &format!("netns add {space}"))?;
            }
            let address = self.lines.address(node);
            let hardware = hardware(node);
            run(
                "ip",
                &format!("link add {space} type veth peer name eth0 address {hardware} netns {space}"),
            )?;
            run("ip", &format!("link set {space} master {bridge} up"))?;
            run("ip", &format!("-n {space} addr add {address}/24 dev eth0"))?;
            run("ip", &format!("-n {space} link set eth0 up"))?;
            run("ip", &format!("-n {space} link set lo up"))?;
        }
        self.mend()
    }

    pub fn address(&self, node: usize) -> Ipv4Addr {
        self.lines.address(node)
    }

    /// What goes before a program so that it runs on that node.
    pub fn prefix(&self, node: usize) -> Vec<String> {
        let space = self.lines.space(node);
        ["ip", "netns", "exec", &space].map(str::to_owned).to_vec()
    }

    /// Nothing of `from` arrives at `to` any more.
    pub fn cut(&self, from: usize, to: usize) -> Result<()> {
        self.lines.set(from, to, false)
    }

    /// Part of what `from` sends to `to` is lost, in bursts.
    pub fn make_lossy(&self, from: usize, to: usize, seed: u64) {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, lines) = (is_over.clone(), self.lines.clone());
        let mut rng = fastrand::Rng::with_seed(seed);
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                // An error of either shows when the line is mended for good.
                let _ = lines.set(from, to, false);
                std::thread::sleep(Duration::from_millis(rng.u64(10..60)));
                let _ = lines.set(from, to, true);
                std::thread::sleep(Duration::from_millis(rng.u64(30..200)));
            }
        });
        self.lock().push(Flap {
            is_over,
            thread: Some(thread),
        });
    }

    /// All that a node sends waits for a narrow line.
    pub fn make_slow(&self, node: usize, kbit: u32) -> Result<()> {
        let space = self.lines.space(node);
        run(
            "tc",
            &format!("-n {space} qdisc replace dev eth0 root tbf rate {kbit}kbit burst 6kb latency 500ms"),
        )
    }

    /// Everybody reaches everybody again.
    pub fn mend(&self) -> Result<()> {
        self.lock().clear();
        for from in 0..self.nodes {
            // Fails where it was not slow.
            let _ = run(
                "tc",
                &format!("-n {} qdisc del dev eth0 root", self.lines.space(from)),
            );
            for to in (0..self.nodes).filter(|to| *to != from) {
                self.lines.set(from, to, true)?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Flap>> {
        self.flaps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.lock().clear();
        for node in 0..self.nodes {
            let space = self.lines.space(node);
            // The interface outlives its namespace for a moment, and not this.
            let _ = run("ip", &format!("link del {space}"));
            let _ = run("ip", &format!("netns del {space}"));
        }
        let _ = run("ip", &format!("link del {}", self.lines.bridge()));
    }
}

/// Removes what tests left that were killed: the names tell whose they are.
fn sweep() {
    let owner = |name: &str| {
        let digits: String = name
            .strip_prefix("rv")?
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse::<u32>().ok()
    };
    let is_left = |name: &str| {
        owner(name).is_some_and(|process| !std::path::Path::new(&format!("/proc/{process}")).exists())
    };
    for (folder, what) in [("/sys/class/net", "link"), ("/run/netns", "netns")] {
        let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for name in names.filter_map(|entry| entry.file_name().into_string().ok()) {
            if is_left(&name) {
                let _ = run("ip", &format!("{what} del {name}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A node that answers what it gets, as `NODE: …`, to where it came from, and asks others when told.
    fn echo(network: &Network, node: usize) -> Child {
        let prefix = network.prefix(node);
        let script = "import socket,sys
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind((sys.argv[1],9))
while True:
    b,a=s.recvfrom(99)
    w=b.decode().split()
    if w[0]=='tell': s.sendto(('told '+w[2]).encode(),(w[1],9)); continue
    if w[0]=='told': s.sendto(b'got it',(sys.argv[2],int(w[1]))); continue
    s.sendto(b'here',a)
";
        let [a, b, c] = network.lines.subnet;
        Command::new(&prefix[0])
            .args(&prefix[1..])
            .args(["python3", "-c", script])
            .arg(network.address(node).to_string())
            .arg(format!("{a}.{b}.{c}.254"))
            .stdin(Stdio::null())
            .spawn()
            .expect("python3")
    }

    #[test]
    fn a_line_is_cut_one_way_and_mended_and_the_test_reaches_all() {
        let Some(network) = Network::new(2).expect("a network") else {
            eprintln!("no namespaces here");
            return;
        };
        let mut nodes: Vec<Child> = (0..2).map(|node| echo(&network, node)).collect();
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a socket");
        socket
            .set_read_timeout(Some(Duration::from_millis(250)))
            .expect("a timeout");
        let port = socket.local_addr().expect("an address").port();
        let mut heard = [0; 99];
        for node in 0..2 {
            let mut is_up = false;
            for _ in 0..60 {
                socket
                    .send_to(b"hello", (network.address(node), 9))
                    .expect("sent");
                is_up |= socket.recv(&mut heard).is_ok();
                if is_up {
                    break;
                }
            }
            assert!(is_up, "node {node} does not answer");
        }
        while socket.recv(&mut heard).is_ok() {}
        let mut arrives = |from: usize, to: usize| {
            let tell = format!("tell {} {port}", network.address(to));
            socket
                .send_to(tell.as_bytes(), (network.address(from), 9))
                .expect("sent");
            socket.recv(&mut heard).is_ok()
        };
        let before = (arrives(0, 1), arrives(1, 0));
        network.cut(0, 1).expect("cut");
        let cut = (arrives(0, 1), arrives(1, 0));
        network.mend().expect("mended");
        let after = (arrives(0, 1), arrives(1, 0));
        for node in &mut nodes {
            let _ = node.kill();
            let _ = node.wait();
        }
        assert_eq!([before, cut, after], [(true, true), (false, true), (true, true)]);
    }
}
