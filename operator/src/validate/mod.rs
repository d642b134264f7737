//! From a spec, which may say anything, to a cluster that can be built. After this nobody reads the spec.
//!
//! An API server holds specs to the schema; this does not rely on it, since the definition there may be older than the
//! operator. Each fault is a reason for the conditions and a sentence that says what to do.

mod cluster;
mod options;
mod pod;
mod quantity;
mod users;

use std::collections::BTreeMap;

pub use cluster::{Durability, Grants, TlsSecret, ValidCluster, VolumeWish};
pub use options::Options;
pub use pod::PodWish;
pub use quantity::{bytes, text};
pub use users::ValidUser;

use crate::api::{self, Reason, RuvioCluster};
use crate::observe::Observed;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {says}")]
pub struct Invalid {
    pub reason: Reason,
    pub says: String,
}

impl Invalid {
    fn new(reason: Reason, says: impl Into<String>) -> Self {
        Self {
            reason,
            says: says.into(),
        }
    }
}

/// What the operator was started with.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// Of the server, without a tag.
    pub repository: String,
    pub tag: String,
}

pub fn validate(
    object: &RuvioCluster,
    observed: &Observed,
    defaults: &Defaults,
) -> Result<ValidCluster, Invalid> {
    let spec = &object.spec;
    let name = name(object.metadata.name.as_deref().unwrap_or_default())?;
    let (nodes, shards, replicas) = sizes(spec)?;
    let memory_max = quantity::bytes(&spec.memory.max)
        .filter(|max| max.0 > 0)
        .ok_or_else(|| {
            let says = format!(
                "memory.max \"{}\" is no amount of bytes above zero: write it like 512Mi or 2Gi",
                spec.memory.max
            );
            Invalid::new(Reason::InvalidAmount, says)
        })?;
    let durability = match spec.durability {
        api::Durability::Always => Durability::Always,
        api::Durability::Everysec => Durability::Everysec,
        api::Durability::Memory => Durability::Memory,
    };
    let volume = match durability {
        Durability::Memory => None,
        _ => Some(volume(spec, observed)?),
    };
    Ok(ValidCluster {
        namespace: object.metadata.namespace.clone().unwrap_or_default(),
        uid: object.metadata.uid.clone().unwrap_or_default(),
        generation: object.metadata.generation.unwrap_or_default(),
        image: image(&spec.image, observed, defaults),
        name,
        nodes,
        shards,
        replicas,
        durability,
        memory_max,
        policy: policy(spec.memory.policy)?,
        volume,
        pod: pod::check(spec, memory_max)?,
        service: spec.service.clone(),
        users: users::check(spec.auth.as_ref(), observed)?,
        tls: tls(spec.tls.as_ref(), observed)?,
        options: options::check(&spec.config)?,
        telemetry: spec.telemetry.clone(),
        clients: spec
            .network_policy
            .enabled
            .then(|| spec.network_policy.clients.clone()),
        paused: spec.paused,
        hibernated: spec.hibernated,
    })
}

fn name(name: &str) -> Result<String, Invalid> {
    let fits = name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if fits {
        return Ok(name.to_owned());
    }
    let says = format!(
        "\"{name}\" becomes part of host names: make it again under a name of at most 40 lower-case letters, digits and \
         dashes that begins with a letter"
    );
    Err(Invalid::new(Reason::InvalidName, says))
}

fn sizes(spec: &api::RuvioClusterSpec) -> Result<(u16, u16, u16), Invalid> {
    let bad = |says: String| Err(Invalid::new(Reason::InvalidSize, says));
    let within = |number: i32, max: u16| {
        u16::try_from(number)
            .ok()
            .filter(|number| (1..=max).contains(number))
    };
    let Some(nodes) = within(spec.nodes, 99) else {
        return bad(format!("nodes is {}: set it to 1 to 99", spec.nodes));
    };
    let Some(shards) = within(spec.shards, 256) else {
        return bad(format!(
            "shards is {}: it can be 1 to 256, and only when a cluster is made",
            spec.shards
        ));
    };
    let Some(replicas) = within(spec.replication_factor, 5).filter(|replicas| replicas % 2 == 1) else {
        return bad(format!(
            "replicationFactor is {}: set it to 1, 3 or 5",
            spec.replication_factor
        ));
    };
    if replicas > nodes {
        return bad(format!(
            "replicationFactor is {replicas} and nodes {nodes}, but a shard has one replica on a node: raise nodes to \
             {replicas}, or lower replicationFactor"
        ));
    }
    if spec.durability == api::Durability::Memory && (nodes, replicas) != (1, 1) {
        return bad(
            "durability memory is for one node that stands alone: set nodes and replicationFactor to 1, or \
                    choose everysec or always"
                .to_owned(),
        );
    }
    Ok((nodes, shards, replicas))
}

/// The operator's own where the spec says nothing: as it was when the cluster was made, so that another operator
/// restarts nothing.
fn image(wish: &api::Image, observed: &Observed, defaults: &Defaults) -> String {
    let there = observed
        .stateful_set
        .as_ref()
        .map(|set| set.image.as_str())
        .and_then(|image| image.rsplit_once(':'));
    let repository = wish
        .repository
        .as_deref()
        .or(there.map(|(repository, _)| repository));
    let repository = repository.unwrap_or(&defaults.repository);
    let tag = wish
        .tag
        .as_deref()
        .or(there.map(|(_, tag)| tag))
        .unwrap_or(&defaults.tag);
    format!("{repository}:{tag}")
}

fn policy(policy: api::EvictionPolicy) -> Result<String, Invalid> {
    let name = serde_json::to_value(policy)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned));
    name.filter(|name| options::accepts("maxmemory-policy", name))
        .ok_or_else(|| {
            let says = "the server knows no such memory.policy: choose another".to_owned();
            Invalid::new(Reason::InvalidOption, says)
        })
}

fn volume(spec: &api::RuvioClusterSpec, observed: &Observed) -> Result<VolumeWish, Invalid> {
    let storage = &spec.storage;
    let bad = |reason, says: String| Err(Invalid::new(reason, says));
    let Some(size) = quantity::bytes(&storage.size).filter(|size| size.0 > 0) else {
        let says = format!(
            "storage.size \"{}\" is no amount of bytes above zero: write it like 10Gi",
            storage.size
        );
        return bad(Reason::InvalidAmount, says);
    };
    let largest = observed
        .volumes
        .values()
        .map(|volume| volume.size)
        .max()
        .unwrap_or_default();
    if size < largest {
        let (size, there) = (quantity::text(size), quantity::text(largest));
        return bad(
            Reason::InvalidChange,
            format!(
                "storage.size is {size}, and there is a volume of {there}: volumes cannot shrink; set it to {there} at least"
            ),
        );
    }
    Ok(VolumeWish {
        size,
        class: storage.storage_class_name.clone(),
        deleted_with_cluster: storage.retention == api::Retention::Delete,
    })
}

fn tls(tls: Option<&api::Tls>, observed: &Observed) -> Result<Option<TlsSecret>, Invalid> {
    let Some(tls) = tls else {
        return Ok(None);
    };
    if !options::accepts("tls-port", "6379") {
        let says = "this version of the server serves no TLS: remove spec.tls".to_owned();
        return Err(Invalid::new(Reason::TlsNotServed, says));
    }
    let Some(name) = &tls.secret_name else {
        let says = "certificates are taken from a Secret: set tls.secretName to one with tls.crt, tls.key and ca.crt".to_owned();
        return Err(Invalid::new(Reason::TlsSourceUnknown, says));
    };
    for key in ["tls.crt", "tls.key", "ca.crt"] {
        secret(observed, name, key)?;
    }
    Ok(Some(TlsSecret { name: name.clone() }))
}

/// A value of a Secret that the spec names.
fn secret<'a>(observed: &'a Observed, name: &str, key: &str) -> Result<&'a [u8], Invalid> {
    let missing = |says| Invalid::new(Reason::SecretMissing, says);
    let keys: &BTreeMap<String, Vec<u8>> = observed.secrets.get(name).ok_or_else(|| {
        missing(format!(
            "the Secret {name} is not there: make it in the cluster's namespace"
        ))
    })?;
    let value = keys
        .get(key)
        .ok_or_else(|| missing(format!("the Secret {name} has no key {key}: add it")))?;
    Ok(value)
}

#[cfg(test)]
mod tests;
