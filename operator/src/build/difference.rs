//! Which objects are not what they are to be. Without this every look would write, and be woken by what it wrote.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Object, revision};
use crate::plan::ObjectRef;

/// The annotation that tells what an object was made of: by it a field is missed that is there no longer.
const MADE_OF: &str = "ruvio.io/made-of";

pub fn sealed(mut object: Object) -> Object {
    let mut body = object.value.clone();
    if let Some(fields) = body
        .get_mut("spec")
        .and_then(Value::as_object_mut)
        .filter(|_| object.reference.kind == "StatefulSet")
    {
        // How many pods there are, and how large their volumes, is said by steps of their own.
        fields.remove("replicas");
        fields.remove("volumeClaimTemplates");
    }
    object.value["metadata"]["annotations"][MADE_OF] = json!(revision::hash(&body));
    object
}

/// Those that are missing, were made of something else, or were changed by somebody since.
pub fn changed(wanted: &[Object], live: &BTreeMap<ObjectRef, Value>) -> Vec<ObjectRef> {
    let differs = |object: &&Object| match live.get(&object.reference) {
        None => true,
        Some(there) => {
            let mut wanted = object.value.clone();
            if object.reference.kind == "StatefulSet" {
                wanted["spec"]["replicas"] = there["spec"]["replicas"].clone();
                // Fixed once it is made; the plan makes the set anew for it.
                wanted["spec"]["volumeClaimTemplates"] = there["spec"]["volumeClaimTemplates"].clone();
            }
            !contains(there, &wanted)
        }
    };
    wanted
        .iter()
        .filter(differs)
        .map(|object| object.reference.clone())
        .collect()
}

/// Every field that is wanted is there; an API server adds others.
fn contains(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| match there.get(key) {
                Some(there) => contains(there, value),
                // What is empty is left out by whoever writes it down.
                None => {
                    matches!(value, Value::Null) || value.as_object().is_some_and(serde_json::Map::is_empty)
                }
            })
        }
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len()
                && there
                    .iter()
                    .zip(wanted)
                    .all(|(there, wanted)| contains(there, wanted))
        }
        (there, wanted) => there == wanted,
    }
}
