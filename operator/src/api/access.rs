//! Who reaches a cluster and how: Service, users, certificates, network policy.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Service {
    #[serde(rename = "type")]
    pub kind: ServiceType,
    #[schemars(schema_with = "schema::annotations")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// A Service for each node as well, of the same type, for clients outside that know Redis Cluster.
    pub external_access: bool,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceType {
    #[default]
    ClusterIP,
    NodePort,
    LoadBalancer,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
pub struct Auth {
    /// Who may do what. `default` is who says no name.
    #[schemars(length(min = 1, max = 64))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub users: Vec<User>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct User {
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[^\s\x00]+$"))]
    pub name: String,
    /// Any of them is good: an old and a new one let clients change without an outage.
    #[schemars(length(min = 1, max = 4))]
    pub password_secrets: Vec<PasswordSecret>,
    /// As in ACL SETUSER.
    #[schemars(length(max = 1024))]
    #[serde(default = "everything")]
    pub rules: String,
}

fn everything() -> String {
    "~* &* +@all".to_owned()
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PasswordSecret {
    /// Of a Secret in the same namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// Where certificates come from.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.secretName), has(self.certManager), has(self.operatorCa)].filter(x, x).size() == 1")
    .message("certificates come from one place: give exactly one of secretName, certManager and operatorCa"))]
pub struct Tls {
    /// A Secret with tls.crt, tls.key and ca.crt.
    #[schemars(length(min = 1, max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_manager: Option<CertManager>,
    /// The operator makes a CA for this cluster, and renews what it signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_ca: Option<OperatorCa>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CertManager {
    pub issuer_ref: IssuerRef,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuerRef {
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    #[schemars(length(max = 63))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[schemars(length(max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorCa {}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkPolicy {
    /// Ports of peers and of administration are for the cluster and the operator alone then.
    pub enabled: bool,
    /// Who may use the client ports, as in `from` of a NetworkPolicy. None named: everybody.
    #[schemars(schema_with = "schema::as_it_is")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<Value>,
}
