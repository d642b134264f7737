//! The server's options as a file, and its users as another. Nodes are told what changes while they run; the files are
//! what they start with.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde_json::json;

use super::{Object, names, object, ports, revision};
use crate::validate::ValidCluster;

pub const FOLDER: &str = "/etc/ruvio/config";
pub const FILE: &str = "ruvio.conf";
pub const USERS_FOLDER: &str = "/etc/ruvio/users";
pub const USERS_FILE: &str = "users.acl";
pub const TOKEN_FOLDER: &str = "/etc/ruvio/token";
pub const TLS_FOLDER: &str = "/etc/ruvio/tls";
pub const DATA_FOLDER: &str = "/data";

/// Options that nodes take while they run.
pub fn live_options(cluster: &ValidCluster) -> BTreeMap<String, String> {
    let mut options = cluster.options.live.clone();
    if !cluster.stands_alone() {
        options.insert("durability".to_owned(), cluster.durability.name().to_owned());
    }
    if cluster.tls.is_some() {
        // Users log in; a certificate of theirs counts only if they show one.
        options
            .entry("tls-auth-clients".to_owned())
            .or_insert_with(|| "optional".to_owned());
    }
    options.insert("maxmemory".to_owned(), cluster.memory_max.to_string());
    options.insert("maxmemory-policy".to_owned(), cluster.policy.clone());
    options
}

pub fn config_revision(cluster: &ValidCluster) -> String {
    revision::hash(&json!(live_options(cluster)))
}

/// Options that count from a start on.
pub fn start_options(cluster: &ValidCluster) -> BTreeMap<String, String> {
    let mut options = cluster.options.start.clone();
    let mut set = |name: &str, value: String| drop(options.insert(name.to_owned(), value));
    set("bind", "* -::*".to_owned());
    set("port", ports::RESP.to_string());
    set("dir", DATA_FOLDER.to_owned());
    set("shards", cluster.shards.to_string());
    set("aclfile", format!("{USERS_FOLDER}/{USERS_FILE}"));
    // Who may do what is said by the users' file; that the network is open is meant.
    set("protected-mode", "no".to_owned());
    if cluster.tls.is_some() {
        // The same ports as without, so that Services stay as they are; nothing is said in the clear.
        set("port", "0".to_owned());
        set("tls-port", ports::RESP.to_string());
        set("tls-cert-file", format!("{TLS_FOLDER}/tls.crt"));
        set("tls-key-file", format!("{TLS_FOLDER}/tls.key"));
        set("tls-ca-cert-file", format!("{TLS_FOLDER}/ca.crt"));
    }
    if cluster.stands_alone() {
        set("durability", cluster.durability.name().to_owned());
        return options;
    }
    set("cluster-enabled", "yes".to_owned());
    match cluster.tls {
        None => set("routed-port", ports::ROUTED.to_string()),
        Some(_) => {
            set("routed-port", "0".to_owned());
            set("routed-tls-port", ports::ROUTED.to_string());
            set("tls-cluster", "yes".to_owned())
        }
    };
    set("peer-port", ports::PEER.to_string());
    set("admin-port", ports::ADMIN.to_string());
    set(
        "cluster-token-file",
        format!("{TOKEN_FOLDER}/{}", super::TOKEN_KEY),
    );
    options
}

pub fn config_map(cluster: &ValidCluster) -> Object {
    let mut file = String::from("# Made by ruvio-operator; what is changed here is changed back.\n");
    for (name, value) in start_options(cluster).into_iter().chain(live_options(cluster)) {
        file.push_str(&format!("{name} {}\n", quoted(&value)));
    }
    object(
        cluster,
        "v1",
        "ConfigMap",
        names::config(cluster),
        json!({ "data": { FILE: file } }),
    )
}

/// As redis.conf takes it for one word.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Passwords are hashes here. A user `default` who is not named can do nothing, once others are.
pub fn users(cluster: &ValidCluster) -> Object {
    let mut file = String::new();
    let users = cluster.users.as_deref();
    if !users
        .unwrap_or_default()
        .iter()
        .any(|user| user.name == "default")
    {
        let may = if users.is_none() {
            "on nopass ~* &* +@all"
        } else {
            "off"
        };
        file.push_str(&format!("user default {may}\n"));
    }
    for user in users.unwrap_or_default() {
        file.push_str(&format!("user {} reset on", user.name));
        for hash in &user.hashes {
            file.push_str(&format!(" #{hash}"));
        }
        file.push_str(&format!(" {}\n", user.rules.trim()));
    }
    let data = json!({ "type": "Opaque", "data": { USERS_FILE: ByteString(file.into_bytes()) } });
    object(cluster, "v1", "Secret", names::users(cluster), data)
}
