//! A connection that writes to groups of its own, and keeps account of what it was told.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;

use super::found::{Found, now_ms};
use super::group::{Data, Group, NAMES, Recent, State};
use super::step::{Answer, Step};
use crate::client::{Client, Received, encode};
use crate::resp::Value;

/// What became of writes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    pub acknowledged: u64,
    /// Not applied, as the server said.
    pub refused: u64,
    /// Neither, and found or not found after the crash.
    pub unknown_found: u64,
    pub unknown_lost: u64,
    /// Acknowledged and lost, where that is allowed.
    pub acknowledged_lost: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.unknown_found += other.unknown_found;
        self.unknown_lost += other.unknown_lost;
        self.acknowledged_lost += other.acknowledged_lost;
    }
}

/// One write: a command or a whole transaction of one group.
struct Unit {
    group: usize,
    steps: Vec<Step>,
    is_transaction: bool,
}

pub struct Writer {
    groups: Vec<Group>,
    /// With all that was sent, as far as it is not refused.
    projected: Vec<State>,
    pending: VecDeque<Unit>,
    rng: Rng,
    /// Makes values differ.
    serial: u64,
    pub tally: Tally,
    /// Whether a refusal is all right.
    may_be_refused: bool,
    /// What was acknowledged so long before a crash may be lost.
    loses: Option<Duration>,
}

/// Who waits for longer is waiting for a server that hangs.
const PATIENCE: Duration = Duration::from_secs(20);

impl Writer {
    pub fn new(name: usize, groups: usize, seed: u64) -> Self {
        let groups: Vec<Group> = (0..groups)
            .map(|group| Group::new(format!("w{name}g{group}")))
            .collect();
        Self {
            projected: groups.iter().map(|group| group.state.clone()).collect(),
            groups,
            pending: VecDeque::new(),
            rng: Rng::with_seed(seed),
            serial: 0,
            tally: Tally::default(),
            may_be_refused: false,
            loses: None,
        }
    }

    /// What was acknowledged within this time before a crash may be lost, from some write of a group on.
    pub fn may_lose(mut self, last: Duration) -> Self {
        self.loses = Some(last);
        for group in &mut self.groups {
            group.recent = Some(Recent::default());
        }
        self
    }

    /// From here on the server may refuse writes.
    pub fn may_be_refused(mut self) -> Self {
        self.may_be_refused = true;
        self
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Writes until it is told to stop or the connection ends. An error: a wrong answer.
    pub fn run(&mut self, addr: SocketAddr, stop: &AtomicBool) -> Result<()> {
        let Ok(mut client) = Client::connect(addr) else {
            return Ok(());
        };
        while !stop.load(Ordering::Relaxed) {
            let count = *self.rng.choice([1, 1, 3, 16].iter()).unwrap_or(&1);
            let mut request = Vec::new();
            for _ in 0..count {
                self.add_unit(&mut request);
            }
            // From here on it may be there.
            if client.send_raw(&request).is_err() || !self.take_answers(&mut client)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn add_unit(&mut self, request: &mut Vec<u8>) {
        let group = self.rng.usize(..self.groups.len());
        let is_transaction = self.rng.u8(..8) == 0;
        let count = if is_transaction { self.rng.usize(2..5) } else { 1 };
        let mut steps = Vec::new();
        while steps.len() < count {
            let step = self.step(group, is_transaction);
            step.apply(&mut self.projected[group]);
            steps.push(step);
        }
        if is_transaction {
            encode(&["MULTI"], request);
        }
        for step in &steps {
            encode(&step.command(&self.groups[group]), request);
        }
        if is_transaction {
            encode(&["EXEC"], request);
        }
        self.pending.push_back(Unit {
            group,
            steps,
            is_transaction,
        });
    }

    fn value(&mut self) -> String {
        self.serial += 1;
        let room = if self.rng.u8(..50) == 0 { 3000 } else { 8 };
        format!("{:x}{}", self.serial, "v".repeat(self.rng.usize(..room)))
    }

    fn one_of(&mut self, names: &[&'static str]) -> &'static str {
        names[self.rng.usize(..names.len())]
    }

    fn step(&mut self, group: usize, is_transaction: bool) -> Step {
        let value = self.value();
        let member = format!("m{}", self.rng.u8(..8));
        let far_ms = now_ms() + 3_600_000 + self.rng.u64(..1000);
        match self.rng.u8(..23) {
            0 | 1 => Step::Set(self.one_of(&["s0", "s1", "s2"]), value),
            2 => Step::SetUntil(
                self.one_of(&["t0", "t1"]),
                value,
                now_ms() + self.rng.u64(10..500),
            ),
            3 => Step::Append(self.one_of(&["s0", "s1"]), value),
            4 | 5 => Step::Incr(self.one_of(&["c0", "c1"]), self.rng.i64(-3..9)),
            6 | 7 => Step::Incr("m0", 1),
            8 => Step::Push(self.one_of(&["l0", "l1"]), vec![value.clone(), member, value]),
            9 => Step::Pop(self.one_of(&["l0", "l1"])),
            10 => Step::Trim(self.one_of(&["l0", "l1"])),
            11 => Step::HashSet(format!("f{}", self.rng.u8(..8)), value),
            12 => Step::HashDelete(format!("f{}", self.rng.u8(..8))),
            13 => Step::HashIncr(format!("n{}", self.rng.u8(..3)), self.rng.i64(1..9)),
            14 => Step::SetAdd(member),
            15 => Step::SetRemove(member),
            16 => Step::SortedAdd(member, self.rng.i64(-50..50)),
            17 => Step::SortedPop,
            18 => Step::Delete(self.one_of(&["s0", "s2", "c0", "l0", "h0", "e0", "z0", "q0", "i0"])),
            19 => Step::Rename(self.one_of(&["s0", "s1"]), "s2"),
            20 => Step::Expire(self.one_of(&["s0", "s1", "l1", "h0", "e0", "z0"]), far_ms),
            21 => Step::Persist(self.one_of(&["s0", "s1", "l1", "h0", "e0", "z0"])),
            _ => self.native_step(group, is_transaction, value),
        }
    }

    /// `LIMIT`, and `IDEM` as far as its fence is known.
    fn native_step(&mut self, group: usize, is_transaction: bool, result: String) -> Step {
        let charge = Step::Charge(self.rng.i64(1..9));
        if self.rng.bool() || is_transaction {
            return charge;
        }
        match self.projected[group].keys.get("i0").map(|entry| &entry.data) {
            None => Step::Begin("writer".to_owned()),
            Some(Data::Idem { fence, result: None }) => match (fence, self.known_fence(group)) {
                (None, Some(fence)) => Step::Complete("writer".to_owned(), fence, result),
                (Some(fence), _) => Step::Complete("writer".to_owned(), *fence, result),
                _ => charge,
            },
            Some(_) => Step::Delete("i0"),
        }
    }

    /// The fence of work that has begun, if nothing about it is under way.
    fn known_fence(&self, group: usize) -> Option<i64> {
        let touches = |unit: &Unit| unit.group == group && unit.steps.iter().any(|step| step.key() == "i0");
        if self.pending.iter().any(touches) {
            return None;
        }
        match self.groups[group].state.keys.get("i0")?.data {
            Data::Idem { fence, result: None } => fence,
            _ => None,
        }
    }

    /// Reads the answers to all that is under way; whether the connection still stands.
    fn take_answers(&mut self, client: &mut Client) -> Result<bool> {
        while let Some(unit) = self.pending.front() {
            let count = if unit.is_transaction {
                unit.steps.len() + 2
            } else {
                1
            };
            let mut last = Value::Null;
            for _ in 0..count {
                match client.receive(PATIENCE) {
                    Ok(Received::Reply(value)) => last = value,
                    Ok(Received::Nothing) => bail!("no answer within {PATIENCE:?}"),
                    // Closed, possibly within an answer.
                    Ok(Received::Closed) | Err(_) => return Ok(false),
                }
            }
            self.take_answer(&last)?;
        }
        Ok(true)
    }

    fn take_answer(&mut self, answer: &Value) -> Result<()> {
        let Some(unit) = self.pending.pop_front() else {
            bail!("an answer to nothing: {answer}");
        };
        let group = &mut self.groups[unit.group];
        if is_refusal(answer) {
            ensure!(self.may_be_refused, "{:?} was refused: {answer}", unit.steps);
            self.tally.refused += 1;
            self.project_anew(unit.group);
            return Ok(());
        }
        let answers = match answer {
            Value::Array(answers) if unit.is_transaction => answers.as_slice(),
            other if unit.is_transaction => bail!("EXEC of {:?} answered {other}", unit.steps),
            other => std::slice::from_ref(other),
        };
        ensure!(answers.len() == unit.steps.len(), "{:?}: {answer}", unit.steps);
        for (step, answer) in unit.steps.iter().zip(answers) {
            let wanted = step.apply(&mut group.state);
            check(&wanted, answer, &mut group.state)
                .with_context(|| format!("{step:?} in group {} answered {answer}", group.name))?;
        }
        self.tally.acknowledged += 1;
        if let (Some(recent), Some(last)) = (&mut group.recent, self.loses) {
            let now = Instant::now();
            recent.units.push_back((now, unit.steps));
            if let Some(moment) = now.checked_sub(last) {
                recent.forget_before(moment);
            }
        }
        Ok(())
    }

    fn project_anew(&mut self, group: usize) {
        let mut state = self.groups[group].state.clone();
        for unit in self.pending.iter().filter(|unit| unit.group == group) {
            for step in &unit.steps {
                step.apply(&mut state);
            }
        }
        self.projected[group] = state;
    }

    /// Compares what a server holds with what may be there, and goes on from what is.
    pub fn settle(&mut self, client: &mut Client) -> Result<()> {
        self.settle_after(client, Instant::now())
    }

    /// The same, after a crash at that moment.
    pub fn settle_after(&mut self, client: &mut Client, crash: Instant) -> Result<()> {
        let safe = self.loses.and_then(|last| crash.checked_sub(last));
        for group in &mut self.groups {
            if let (Some(recent), Some(safe)) = (&mut group.recent, safe) {
                recent.forget_before(safe);
            }
        }
        for at in 0..self.groups.len() {
            let found = Found::look(client, &self.groups[at])?;
            let pending: Vec<Vec<Step>> = self
                .pending
                .iter()
                .filter(|unit| unit.group == at)
                .map(|unit| unit.steps.clone())
                .collect();
            let settled = found.settle(&mut self.groups[at], &pending)?;
            self.tally.unknown_found += settled.pending as u64;
            self.tally.unknown_lost += (pending.len() - settled.pending) as u64;
            self.tally.acknowledged_lost += settled.lost as u64;
            self.projected[at] = self.groups[at].state.clone();
        }
        self.pending.clear();
        Ok(())
    }

    /// Nobody else's keys, and of these none that was never written.
    pub fn owns(&self, key: &str) -> bool {
        let whole = |group: &Group| NAMES.iter().any(|short| group.key(short) == key);
        self.groups.iter().any(whole)
    }
}

fn is_refusal(answer: &Value) -> bool {
    let words = answer.to_string();
    answer.is_error()
        && ["-MISCONF", "-LOADING", "-EXECABORT"]
            .iter()
            .any(|prefix| words.starts_with(prefix))
}

fn check(wanted: &Answer, answer: &Value, state: &mut State) -> Result<()> {
    let words = answer.to_string();
    match wanted {
        Answer::Is(wanted) => ensure!(*wanted == words, "{wanted} was expected"),
        Answer::Begins(wanted) => ensure!(words.starts_with(wanted), "{wanted} was expected"),
        Answer::Fence => {
            let Value::Array(facts) = answer else {
                bail!("a fence was expected");
            };
            ensure!(facts[0].text() == Some(b"NEW"), "NEW was expected");
            let fence = facts[1].as_integer().context("no fence")?;
            ensure!(
                fence > state.fence_max,
                "the fence fell back from {}",
                state.fence_max
            );
            state.fence_max = fence;
            if let Some(entry) = state.keys.get_mut("i0") {
                entry.data = Data::Idem {
                    fence: Some(fence),
                    result: None,
                };
            }
        }
    }
    Ok(())
}
