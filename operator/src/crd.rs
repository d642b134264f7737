//! The custom resource's definition as YAML: what `crds/` and the chart hold.

use anyhow::Context;
use kube::CustomResourceExt;
use serde_json::Value;

use super::api::RuvioCluster;

/// Where it lies in the repository.
pub const FILE: &str = "crds/ruvio.io_ruvioclusters.yaml";

pub fn yaml() -> anyhow::Result<String> {
    // By way of a value, whose keys are in order, so that the text is the same each time.
    let value = serde_json::to_value(RuvioCluster::crd()).context("the definition is no JSON")?;
    serde_saphyr::to_string(&value).context("the definition is no YAML")
}

/// The schema by which an API server takes a RuvioCluster.
pub fn schema() -> anyhow::Result<Value> {
    let crd = serde_json::to_value(RuvioCluster::crd())?;
    let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema");
    schema.cloned().context("the definition has no schema")
}
