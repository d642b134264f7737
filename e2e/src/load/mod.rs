//! Clients at work on objects that each keep the history of what was done to them, and a checker that holds each
//! history against its rules when the object has had its time.
//!
//! An object is a key (or a few of one slot) with a short life: searches stay short, and what was acknowledged is looked at again some
//! faults later, before it is judged.

pub mod bulk;
mod counter;
mod idem;
mod limit;
mod list;
mod register;
mod report;
mod transfer;

use std::collections::VecDeque;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cluster::seeker::{Answer, Seeker};
use crate::linear::history::{Op, Outcome, to_text};
use crate::resp::Value;
pub use report::{Report, Violation};

/// What clients do something to.
trait Object: Send + Sync {
    fn key(&self) -> &str;
    /// One operation, whatever the object's clients do.
    fn act(&self, worker: &mut Worker);
    /// One reading, if there is such a thing; whether it was answered.
    fn look(&self, worker: &mut Worker) -> bool;
    fn has_had_enough(&self) -> bool;
    /// The rules.
    fn check(&self, time: Time) -> Result<(), String>;
    fn text(&self) -> String;
}

/// Makes the object of that number.
type Maker = fn(String) -> Arc<dyn Object>;

const MAKERS: [Maker; 6] = [
    register::new,
    counter::new,
    list::new,
    transfer::new,
    idem::new,
    limit::new,
];

/// Whether the wall clocks of the servers go as ours does. Where they do not, what is promised by time is not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    Ours,
    Stepped,
}

/// Objects of each kind that are worked on at once.
const OF_EACH: usize = 2;
/// Objects that were worked on and are looked at now and then.
const KEPT: usize = 60;
/// After that many operations, or so many without outcome, an object has had enough.
const OPS_MAX: usize = 250;
const UNKNOWN_MAX: usize = 6;

/// A client's hands.
struct Worker {
    client: u32,
    seeker: Seeker,
    rng: fastrand::Rng,
    shared: Arc<Shared>,
}

struct Shared {
    begun: Instant,
    is_over: AtomicBool,
    next: AtomicU64,
    seed: u64,
    time: Time,
    active: Vec<Mutex<Arc<dyn Object>>>,
    kept: Mutex<VecDeque<Arc<dyn Object>>>,
    report: Mutex<Report>,
    /// When anything was last answered, and the longest time without, in microseconds.
    answered_us: AtomicU64,
    silent_us: AtomicU64,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    fn make(&self, maker: usize) -> Arc<dyn Object> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        MAKERS[maker % MAKERS.len()](format!("{:x}-{number}", self.seed))
    }

    fn note(&self, outcome: Outcome) {
        let mut report = lock(&self.report);
        match outcome {
            Outcome::Done => report.asked.done += 1,
            Outcome::Refused => report.asked.refused += 1,
            Outcome::Unknown => report.asked.unknown += 1,
        }
        drop(report);
        if outcome == Outcome::Done {
            let now = self.now_us();
            let before = self.answered_us.swap(now, Ordering::Relaxed);
            self.silent_us
                .fetch_max(now.saturating_sub(before), Ordering::Relaxed);
        }
    }
}

impl Worker {
    fn new(client: u32, doors: Vec<SocketAddr>, shared: Arc<Shared>) -> Worker {
        let seed = shared.seed ^ u64::from(client).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Worker {
            client,
            seeker: Seeker::new(doors, seed),
            rng: fastrand::Rng::with_seed(seed),
            shared,
        }
    }

    /// What a documented reply would not be. It is a violation as much as any other.
    fn odd(&self, key: &str, what: &str) {
        let mut report = lock(&self.shared.report);
        *report.odd.entry(what.to_owned()).or_default() += 1;
        if report.odd[what] == 1 {
            eprintln!("an odd reply to {key}: {what}");
        }
    }

    fn work(&mut self) {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            let place = self.rng.usize(..self.shared.active.len());
            let object = lock(&self.shared.active[place]).clone();
            object.act(self);
            if object.has_had_enough() {
                self.replace(place, &object);
            }
            if self.rng.u8(..) < 12 {
                self.look_at_old();
            }
            std::thread::sleep(Duration::from_micros(self.rng.u64(..6000)));
        }
    }

    fn replace(&self, place: usize, object: &Arc<dyn Object>) {
        let mut active = lock(&self.shared.active[place]);
        if Arc::ptr_eq(&active, object) {
            *active = self.shared.make(place);
            drop(active);
            lock(&self.shared.kept).push_back(object.clone());
        }
    }

    fn look_at_old(&mut self) {
        let kept = lock(&self.shared.kept);
        let old = (!kept.is_empty()).then(|| kept[self.rng.usize(..kept.len())].clone());
        drop(kept);
        if let Some(object) = old {
            object.look(self);
        }
    }
}

/// What was done to an object.
struct History<A> {
    ops: Mutex<Vec<Op<A>>>,
    unknown: AtomicUsize,
}

impl<A: Clone + Debug> History<A> {
    fn new() -> Self {
        Self {
            ops: Mutex::new(Vec::new()),
            unknown: AtomicUsize::new(0),
        }
    }

    fn add(&self, worker: &Worker, invoked_us: u64, outcome: Outcome, action: A) {
        let returned_us = worker.shared.now_us();
        worker.shared.note(outcome);
        if outcome == Outcome::Unknown {
            self.unknown.fetch_add(1, Ordering::Relaxed);
        }
        lock(&self.ops).push(Op::new(worker.client, invoked_us, returned_us, outcome, action));
    }

    fn has_had_enough(&self) -> bool {
        self.unknown.load(Ordering::Relaxed) >= UNKNOWN_MAX || lock(&self.ops).len() >= OPS_MAX
    }

    fn ops(&self) -> Vec<Op<A>> {
        lock(&self.ops).clone()
    }

    fn text(&self) -> String {
        to_text(&self.ops())
    }
}

/// What became of what clients asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub done: u64,
    pub refused: u64,
    pub unknown: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.done += other.done;
        self.refused += other.refused;
        self.unknown += other.unknown;
    }
}

impl Counts {
    /// What came since then.
    pub fn since(self, before: Counts) -> Counts {
        Counts {
            done: self.done - before.done,
            refused: self.refused - before.refused,
            unknown: self.unknown - before.unknown,
        }
    }
}

/// The clients, while they are at work.
pub struct Load {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    checker: JoinHandle<()>,
}

impl Load {
    pub fn start(doors: &[SocketAddr], clients: u32, seed: u64, time: Time) -> Load {
        let mut shared = Shared {
            begun: Instant::now(),
            is_over: AtomicBool::new(false),
            next: AtomicU64::new(0),
            seed,
            time,
            active: Vec::new(),
            kept: Mutex::new(VecDeque::new()),
            report: Mutex::new(Report::default()),
            answered_us: AtomicU64::new(0),
            silent_us: AtomicU64::new(0),
        };
        let active = (0..MAKERS.len() * OF_EACH).map(|maker| Mutex::new(shared.make(maker)));
        shared.active = active.collect();
        let shared = Arc::new(shared);
        let workers = (0..clients).map(|client| {
            let mut worker = Worker::new(client, doors.to_vec(), shared.clone());
            std::thread::spawn(move || worker.work())
        });
        let workers = workers.collect();
        let judge = Worker::new(clients, doors.to_vec(), shared.clone());
        let checker = std::thread::spawn(move || check_kept(judge));
        Load {
            shared,
            workers,
            checker,
        }
    }

    pub fn counts(&self) -> Counts {
        lock(&self.shared.report).asked
    }

    /// Violations so far.
    pub fn violations(&self) -> usize {
        lock(&self.shared.report).violations.len()
    }

    /// Ends the clients, looks at everything once more and judges it. Nothing may be wrong with the servers any more.
    pub fn finish(self) -> Report {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for worker in self.workers {
            worker.join().expect("a client of the test does not panic");
        }
        self.checker.join().expect("the checker does not panic");
        let mut report = std::mem::take(&mut *lock(&self.shared.report));
        report.silent = Duration::from_micros(self.shared.silent_us.load(Ordering::Relaxed));
        report.lasted = self.shared.begun.elapsed();
        report
    }
}

/// Judges the oldest of those that are kept, and all when the clients are gone.
fn check_kept(mut worker: Worker) {
    loop {
        // Looked at first: what is kept afterwards is all.
        let is_over = worker.shared.is_over.load(Ordering::Relaxed);
        let mut kept = lock(&worker.shared.kept);
        let oldest = if is_over || kept.len() > KEPT {
            kept.pop_front()
        } else {
            None
        };
        drop(kept);
        match oldest {
            Some(object) => judge(&mut worker, &object),
            None if is_over => break,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    for place in 0..worker.shared.active.len() {
        let object = lock(&worker.shared.active[place]).clone();
        judge(&mut worker, &object);
    }
}

const SILENCE: &str = "nobody answers a reading";

fn judge(worker: &mut Worker, object: &Arc<dyn Object>) {
    // What is lost for one is lost for others.
    let is_first = !lock(&worker.shared.report).odd.contains_key(SILENCE);
    let patience = Duration::from_secs(if is_first { 60 } else { 3 });
    let deadline = Instant::now() + patience;
    while !object.look(worker) {
        if Instant::now() > deadline {
            worker.odd(object.key(), SILENCE);
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // Those who still work on it were there before that.
    let checked = object.check(worker.shared.time);
    let mut report = lock(&worker.shared.report);
    report.objects += 1;
    if let Err(what) = checked {
        report
            .violations
            .push(Violation::save(object.key(), what, &object.text()));
    }
}

/// An answer whose value is of no known form is odd; then nobody knows what was done.
fn read<T>(
    worker: &Worker,
    key: &str,
    answer: Answer,
    form: impl FnOnce(&Value) -> Option<T>,
) -> (Outcome, Option<T>) {
    match answer {
        Answer::Refused => (Outcome::Refused, None),
        Answer::Unknown => (Outcome::Unknown, None),
        Answer::Value(value) => match form(&value) {
            Some(known) => (Outcome::Done, Some(known)),
            None => {
                worker.odd(key, &value.to_string());
                (Outcome::Unknown, None)
            }
        },
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        Value::Bulk(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

fn items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn is_ok(value: &Value) -> Option<()> {
    (*value == Value::Simple(b"OK".to_vec())).then_some(())
}
