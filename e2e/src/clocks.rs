//! The clocks of a running server, set and made to drift from outside. The server knows nothing of it.
//!
//! The kernel gives each process a page of code that tells the time (the vDSO), and whoever asks for the time, in whatever way,
//! calls it. In the server's copy that code is replaced by some that asks the kernel and changes the answer by a table, a row for
//! each clock. While code or table are written the process stands still. A process that is started again has the machine's clocks.

use std::fs::{File, read_dir, read_to_string};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::time::{ClockId, clock_gettime};

pub const CLOCKS_CAN_BE_SET: bool = cfg!(target_arch = "x86_64");

/// `clock_gettime(clock: edi, answer: rsi)`, for x86_64.
const CODE: [u8; 0x56] = [
    0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228 (clock_gettime)
    0x0f, 0x05, // syscall
    0x85, 0xc0, // test eax, eax
    0x75, 0x4a, // jne out
    0x83, 0xff, 0x07, // cmp edi, 7
    0x77, 0x45, // ja out
    0x89, 0xf8, // mov eax, edi
    0x48, 0x8d, 0x04, 0x40, // lea rax, [rax + rax * 2]
    0x48, 0x8d, 0x0d, 0x43, 0x00, 0x00, 0x00, // lea rcx, [rip + table]
    0x4c, 0x8d, 0x04, 0xc1, // lea r8, [rcx + rax * 8]
    0x48, 0x69, 0x06, 0x00, 0xca, 0x9a, 0x3b, // imul rax, [rsi], 1000000000
    0x48, 0x03, 0x46, 0x08, // add rax, [rsi + 8]
    0x48, 0x89, 0xc1, // mov rcx, rax
    0x49, 0x2b, 0x08, // sub rcx, [r8]
    0x49, 0x0f, 0xaf, 0x48, 0x08, // imul rcx, [r8 + 8]
    0x48, 0xc1, 0xf9, 0x14, // sar rcx, 20
    0x48, 0x01, 0xc8, // add rax, rcx
    0x49, 0x03, 0x40, 0x10, // add rax, [r8 + 16]
    0x48, 0x99, // cqo
    0xb9, 0x00, 0xca, 0x9a, 0x3b, // mov ecx, 1000000000
    0x48, 0xf7, 0xf9, // idiv rcx
    0x48, 0x89, 0x06, // mov [rsi], rax
    0x48, 0x89, 0x56, 0x08, // mov [rsi + 8], rdx
    0x31, 0xc0, // xor eax, eax
    0xc3, // out: ret
];
const TABLE: u64 = 0x60;
const CLOCKS: usize = 8;
const WHOLE: u64 = TABLE + (CLOCKS * size_of::<Row>()) as u64;
/// Rates are in parts of this.
const ONE: i64 = 1 << 20;

const WALL: [usize; 2] = [0, 5];
/// Those that only grow, and the clock that each is read from.
const GROWING: [(usize, ClockId); 3] = [
    (1, ClockId::CLOCK_MONOTONIC),
    (6, ClockId::CLOCK_MONOTONIC),
    (7, ClockId::CLOCK_BOOTTIME),
];

/// What is added to a clock: `offset + (now - base) * rate / ONE`, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Row {
    base: i64,
    rate: i64,
    offset: i64,
}

impl Row {
    fn added(&self, now: i64) -> i64 {
        self.offset + (((now - self.base) * self.rate) >> 20)
    }
}

/// The clocks of one process.
pub struct Clocks {
    pid: u32,
    /// Where the code stands.
    at: u64,
    memory: File,
    table: [Row; CLOCKS],
}

impl Clocks {
    /// Takes the clocks over; they go on as they were.
    pub fn of(pid: u32) -> Result<Self> {
        ensure!(CLOCKS_CAN_BE_SET, "the code is for x86_64");
        let memory = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))?;
        let (base, length) = vdso(pid)?;
        let mut library = vec![0; length];
        memory.read_exact_at(&mut library, base)?;
        let (offset, room) =
            symbol(&library, b"__vdso_clock_gettime").context("no clock_gettime in the vDSO")?;
        ensure!(room >= WHOLE, "no room for the code");
        let clocks = Self {
            pid,
            at: base + offset,
            memory,
            table: [Row::default(); CLOCKS],
        };
        // Nobody may stand in the middle of what is replaced.
        for _ in 0..200 {
            let stopped = Stopped::new(pid)?;
            if !is_within(pid, clocks.at..clocks.at + room)? {
                clocks.write_table()?;
                clocks.memory.write_all_at(&CODE, clocks.at)?;
                return Ok(clocks);
            }
            drop(stopped);
            std::thread::sleep(Duration::from_micros(300));
        }
        anyhow::bail!("some thread asks for the time all the time")
    }

    /// The wall clock jumps, forwards or back, and goes on from there.
    pub fn step(&mut self, seconds: i64) -> Result<()> {
        let _stopped = Stopped::new(self.pid)?;
        for clock in WALL {
            self.table[clock].offset += seconds * 1_000_000_000;
        }
        self.write_table()
    }

    /// The clocks that only grow do so faster or slower from now on, by so many millionths.
    pub fn drift(&mut self, millionths: i64) -> Result<()> {
        let _stopped = Stopped::new(self.pid)?;
        for (clock, source) in GROWING {
            let time = clock_gettime(source)?;
            let now = time.tv_sec() * 1_000_000_000 + time.tv_nsec();
            let row = &mut self.table[clock];
            *row = Row {
                base: now,
                rate: millionths * ONE / 1_000_000,
                offset: row.added(now),
            };
        }
        self.write_table()
    }

    fn write_table(&self) -> Result<()> {
        let numbers = self.table.iter().flat_map(|row| [row.base, row.rate, row.offset]);
        let bytes: Vec<u8> = numbers.flat_map(i64::to_le_bytes).collect();
        Ok(self.memory.write_all_at(&bytes, self.at + TABLE)?)
    }
}

/// A process that stands still as long as this is there.
struct Stopped(u32);

impl Stopped {
    fn new(pid: u32) -> Result<Self> {
        signal(pid, "STOP")?;
        let stopped = Self(pid);
        for _ in 0..2000 {
            let mut tasks = tasks(pid)?;
            // The state stands behind the name, which is in brackets. A thread that a tracer holds stands still as well.
            let stands = |task: &String| {
                let stat = read_to_string(format!("/proc/{pid}/task/{task}/stat")).unwrap_or_default();
                let state = stat.rsplit(") ").next().unwrap_or_default();
                state.is_empty() || state.starts_with(['T', 't', 'Z'])
            };
            if tasks.all(|task| stands(&task)) {
                return Ok(stopped);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        anyhow::bail!("process {pid} does not stop")
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It fails where the process is gone.
        let _ = signal(self.0, "CONT");
    }
}

fn signal(pid: u32, name: &str) -> Result<()> {
    let sent = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .status()?;
    ensure!(sent.success(), "kill -s {name} {pid}: {sent}");
    Ok(())
}

fn tasks(pid: u32) -> Result<impl Iterator<Item = String>> {
    let all = read_dir(format!("/proc/{pid}/task"))?.flatten();
    Ok(all.filter_map(|task| task.file_name().into_string().ok()))
}

/// Whether a thread of the stopped process executes there.
fn is_within(pid: u32, code: std::ops::Range<u64>) -> Result<bool> {
    let within = |task: String| {
        let at = read_to_string(format!("/proc/{pid}/task/{task}/syscall")).unwrap_or_default();
        let at = at
            .trim()
            .rsplit("0x")
            .next()
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        at.is_none_or(|at| code.contains(&at))
    };
    Ok(tasks(pid)?.any(within))
}

/// Where the library stands in the process, and how long it is.
fn vdso(pid: u32) -> Result<(u64, usize)> {
    let maps = read_to_string(format!("/proc/{pid}/maps"))?;
    let line = maps
        .lines()
        .find(|line| line.ends_with("[vdso]"))
        .context("no vDSO")?;
    let (from, rest) = line.split_once('-').context("a range")?;
    let from = u64::from_str_radix(from, 16)?;
    let to = u64::from_str_radix(rest.split(' ').next().unwrap_or_default(), 16)?;
    Ok((from, (to - from) as usize))
}

/// Where a function of an ELF library begins, and how long it is.
fn symbol(library: &[u8], name: &[u8]) -> Option<(u64, u64)> {
    let number = |at: usize, length: usize| {
        let bytes = library.get(at..at + length)?;
        let digits = bytes
            .iter()
            .rev()
            .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        usize::try_from(digits).ok()
    };
    let (sections, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    let section = |index: usize| sections + index * size;
    const DYNSYM: usize = 11;
    let symbols = (0..count)
        .map(section)
        .find(|at| number(at + 4, 4) == Some(DYNSYM))?;
    let names = number(section(number(symbols + 0x28, 4)?) + 0x18, 8)?;
    let (from, length) = (number(symbols + 0x18, 8)?, number(symbols + 0x20, 8)?);
    let entry = |at: usize| {
        let found = library
            .get(names + number(at, 4)?..)?
            .split(|byte| *byte == 0)
            .next()?;
        (found == name).then_some((number(at + 8, 8)? as u64, number(at + 16, 8)? as u64))
    };
    (from..from + length).step_by(24).find_map(entry)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdin, ChildStdout, Stdio};

    use super::*;

    struct Asked(Child, ChildStdin, BufReader<ChildStdout>);

    impl Drop for Asked {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    impl Asked {
        /// A process that tells its clocks, in seconds: of the wall, that which only grows, and that which counts sleep.
        fn new() -> Self {
            let script = "import sys, time
for line in sys.stdin:
    print(*[time.clock_gettime(clock) for clock in (0, 1, 7)], flush=True)
";
            let mut command = Command::new("python3");
            command
                .args(["-c", script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            let mut child = command.spawn().expect("python3");
            let (input, output) = (
                child.stdin.take().expect("piped"),
                child.stdout.take().expect("piped"),
            );
            Self(child, input, BufReader::new(output))
        }

        /// By how much its clocks differ from ours.
        fn ahead(&mut self) -> [f64; 3] {
            self.1.write_all(b"now\n").expect("it reads");
            let mut line = String::new();
            self.2.read_line(&mut line).expect("it answers");
            let told: Vec<f64> = line
                .split_whitespace()
                .map(|word| word.parse().expect("a number"))
                .collect();
            let clocks = [
                ClockId::CLOCK_REALTIME,
                ClockId::CLOCK_MONOTONIC,
                ClockId::CLOCK_BOOTTIME,
            ];
            std::array::from_fn(|at| {
                let ours = clock_gettime(clocks[at]).expect("a clock");
                told[at] - (ours.tv_sec() as f64 + ours.tv_nsec() as f64 / 1e9)
            })
        }
    }

    fn is_near(found: [f64; 3], wanted: [f64; 3], within: f64) {
        let far = found
            .iter()
            .zip(wanted)
            .any(|(found, wanted)| (found - wanted).abs() > within);
        assert!(!far, "{found:?}, not {wanted:?}");
    }

    #[test]
    fn the_wall_clock_jumps_and_the_others_drift() {
        let mut asked = Asked::new();
        is_near(asked.ahead(), [0.0; 3], 0.5);
        let mut clocks = Clocks::of(asked.0.id()).expect("its clocks");
        is_near(asked.ahead(), [0.0; 3], 0.5);
        clocks.step(3600).expect("a step");
        is_near(asked.ahead(), [3600.0, 0.0, 0.0], 0.5);
        clocks.step(-7200).expect("a step");
        is_near(asked.ahead(), [-3600.0, 0.0, 0.0], 0.5);
        // Twice as fast for a second: the others are ahead by it afterwards, and stay so.
        clocks.drift(1_000_000).expect("a drift");
        std::thread::sleep(Duration::from_secs(1));
        clocks.drift(0).expect("no drift");
        let [_, first, _] = asked.ahead();
        assert!((0.9..2.0).contains(&first), "{first}");
        std::thread::sleep(Duration::from_millis(300));
        is_near(asked.ahead(), [-3600.0, first, first], 0.2);
    }
}
