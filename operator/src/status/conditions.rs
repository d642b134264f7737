//! The conditions: each is True, False or Unknown for one reason, with a sentence.

use crate::api::{Condition, ConditionType, Reason, RuvioClusterStatus};
use crate::build;
use crate::plan::{Note, Plan, Shard, View};
use crate::validate::Invalid;

/// What is known of one condition.
struct Said {
    kind: ConditionType,
    status: &'static str,
    reason: Reason,
    says: String,
}

fn say(kind: ConditionType, status: bool, reason: Reason, says: impl Into<String>) -> Said {
    let status = if status { "True" } else { "False" };
    Said {
        kind,
        status,
        reason,
        says: says.into(),
    }
}

pub fn conditions(view: &View, plan: &Plan, before: &RuvioClusterStatus, now: &str) -> Vec<Condition> {
    let said = [
        ready(view, plan),
        progressing(plan),
        degraded(view, plan),
        quorum(view),
        storage(view, plan),
        config(view, plan),
        tls(view),
        paused(view),
    ];
    let generation = view.cluster.generation;
    said.into_iter()
        .map(|said| written(said, generation, &before.conditions, now))
        .collect()
}

/// Its time is that of the last change of its status, not of its reason.
fn written(said: Said, generation: i64, before: &[Condition], now: &str) -> Condition {
    let was = before.iter().find(|condition| condition.kind == said.kind.name());
    let since = was
        .filter(|was| was.status == said.status)
        .map(|was| was.last_transition_time.clone());
    Condition {
        kind: said.kind.name().to_owned(),
        status: said.status.to_owned(),
        reason: said.reason.name().to_owned(),
        message: said.says,
        last_transition_time: since.unwrap_or_else(|| now.to_owned()),
        observed_generation: Some(generation),
    }
}

/// A spec that cannot be done: what runs goes on as it is.
pub fn of_invalid(invalid: &Invalid, generation: i64, before: &[Condition], now: &str) -> Vec<Condition> {
    one_changed(
        ConditionType::Progressing,
        invalid.reason,
        &invalid.says,
        generation,
        before,
        now,
    )
}

/// A step that was refused, in the words of who refused it.
pub fn failed(says: &str, generation: i64, before: &[Condition], now: &str) -> Vec<Condition> {
    one_changed(
        ConditionType::Progressing,
        Reason::StepFailed,
        says,
        generation,
        before,
        now,
    )
}

/// `Ready` tells it as well, where it is the first that can be told: it is what people look at.
fn one_changed(
    kind: ConditionType,
    reason: Reason,
    says: &str,
    generation: i64,
    before: &[Condition],
    now: &str,
) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = before.to_vec();
    let mut put = |said: Said| {
        let condition = written(said, generation, before, now);
        match conditions.iter_mut().find(|there| there.kind == condition.kind) {
            Some(there) => *there = condition,
            None => conditions.push(condition),
        }
    };
    put(say(kind, false, reason, says));
    let is_ready = before
        .iter()
        .any(|condition| condition.kind == ConditionType::Ready.name() && condition.status == "True");
    if !is_ready {
        put(say(ConditionType::Ready, false, reason, says));
    }
    conditions
}

fn first<'a>(plan: &'a Plan, reasons: &[Reason]) -> Option<&'a Note> {
    plan.notes.iter().find(|note| reasons.contains(&note.reason))
}

fn ready(view: &View, plan: &Plan) -> Said {
    let kind = ConditionType::Ready;
    if let Some(note) = first(
        plan,
        &[
            Reason::Hibernated,
            Reason::Hibernating,
            Reason::ForeignNode,
            Reason::FoundingInterrupted,
            Reason::PodUnschedulable,
        ],
    ) {
        return say(kind, false, note.reason, &note.says);
    }
    let alone = view.cluster.stands_alone();
    let leaderless: Vec<String> = view
        .shards
        .iter()
        .filter(|shard| !alone && shard.leader.is_none())
        .map(|shard| shard.id.to_string())
        .collect();
    let ready = view.observed.pods.values().filter(|pod| pod.ready).count();
    let wanted = usize::from(view.cluster.nodes);
    if !leaderless.is_empty() {
        if let Some(note) = first(plan, &[Reason::Founding]) {
            return say(kind, false, note.reason, &note.says);
        }
        let says = format!("shards {} have no leader that answers", leaderless.join(", "));
        return say(kind, false, Reason::ShardsWithoutLeader, says);
    }
    match ready >= wanted {
        true => say(
            kind,
            true,
            Reason::AllReady,
            format!("{ready} nodes are ready and every shard is led"),
        ),
        false => say(
            kind,
            false,
            Reason::NodesNotReady,
            format!("{ready} of {wanted} nodes are ready"),
        ),
    }
}

/// The first note is the one that comes first.
fn progressing(plan: &Plan) -> Said {
    const NOT_ITS_MATTER: [Reason; 4] = [
        Reason::Paused,
        Reason::Hibernated,
        Reason::ForeignNode,
        Reason::FoundingInterrupted,
    ];
    let note = plan
        .notes
        .iter()
        .find(|note| !NOT_ITS_MATTER.contains(&note.reason));
    match note {
        Some(note) => say(ConditionType::Progressing, true, note.reason, &note.says),
        None => say(
            ConditionType::Progressing,
            false,
            Reason::Settled,
            "there is nothing to do",
        ),
    }
}

fn degraded(view: &View, plan: &Plan) -> Said {
    let kind = ConditionType::Degraded;
    let sick = [
        Reason::ForeignNode,
        Reason::FoundingInterrupted,
        Reason::MemberLost,
        Reason::ClassCannotExpand,
        Reason::PodUnschedulable,
        Reason::HeldBack,
    ];
    if let Some(note) = first(plan, &sick) {
        return say(kind, true, note.reason, &note.says);
    }
    let behind: Vec<String> = view
        .shards
        .iter()
        .filter(|shard| shard.membership.has_begun() && !shard.is_whole())
        .map(|shard| shard.id.to_string())
        .collect();
    match behind.is_empty() || view.cluster.hibernated {
        true => say(kind, false, Reason::Whole, "nothing is missing"),
        false => say(
            kind,
            true,
            Reason::NodesNotReady,
            format!("shards {} lack a replica that is up to date", behind.join(", ")),
        ),
    }
}

fn quorum(view: &View) -> Said {
    let kind = ConditionType::QuorumAvailable;
    if view.cluster.stands_alone() {
        return say(kind, true, Reason::MajorityHeld, "the server stands alone");
    }
    let lacks = |shard: &&Shard| !shard.majority_of(&shard.membership.target());
    let without: Vec<String> = view
        .shards
        .iter()
        .filter(lacks)
        .map(|shard| shard.id.to_string())
        .collect();
    if without.is_empty() {
        return say(
            kind,
            true,
            Reason::MajorityHeld,
            "every shard has a majority of its voters",
        );
    }
    // Where nobody answers nothing is known; where some do and none leads it is lost.
    let says = format!("shards {} show no majority", without.join(", "));
    match view.observed.nodes.is_empty() || view.shards.iter().all(|shard| !shard.membership.has_begun()) {
        true => Said {
            kind,
            status: "Unknown",
            reason: Reason::MajorityUnknown,
            says: "no node tells of its shards".to_owned(),
        },
        false => say(
            kind,
            false,
            Reason::MajorityLost,
            format!(
                "{says}: they come back with their nodes; if those are lost for good, see ruvioctl recover-quorum"
            ),
        ),
    }
}

fn storage(view: &View, plan: &Plan) -> Said {
    let kind = ConditionType::StorageReady;
    if view.cluster.volume.is_none() {
        return say(
            kind,
            true,
            Reason::NotAsked,
            "nothing is kept: durability is memory",
        );
    }
    match first(plan, &[Reason::ClassCannotExpand, Reason::GrowingVolumes]) {
        Some(note) => say(kind, false, note.reason, &note.says),
        None => say(
            kind,
            true,
            Reason::VolumesReady,
            "every volume is as large as it is to be",
        ),
    }
}

fn config(view: &View, plan: &Plan) -> Said {
    let kind = ConditionType::ConfigApplied;
    if let Some(note) = first(plan, &[Reason::OptionRefused, Reason::ApplyingConfig]) {
        return say(kind, false, note.reason, &note.says);
    }
    let revision = build::revision(view.cluster);
    let old = view
        .observed
        .pods
        .values()
        .filter(|pod| pod.revision != revision)
        .count();
    match old {
        0 => say(
            kind,
            true,
            Reason::Applied,
            "every node runs with the options of the spec",
        ),
        old => say(
            kind,
            false,
            Reason::Restarting,
            format!("{old} pods are yet to be restarted"),
        ),
    }
}

fn tls(view: &View) -> Said {
    match view.cluster.tls {
        None => say(
            ConditionType::TlsReady,
            false,
            Reason::NotAsked,
            "spec.tls is not set",
        ),
        Some(_) => say(
            ConditionType::TlsReady,
            true,
            Reason::CertificatesReady,
            "certificates are there and in use",
        ),
    }
}

fn paused(view: &View) -> Said {
    match view.cluster.paused {
        true => say(
            ConditionType::Paused,
            true,
            Reason::Paused,
            "nothing is changed until spec.paused is false",
        ),
        false => say(
            ConditionType::Paused,
            false,
            Reason::NotAsked,
            "the operator does what the spec says",
        ),
    }
}
