//! Manifests as files, so that an API server can be asked with the same ones: the good are taken, and each of the bad
//! is refused with one complaint, whose words its first line expects. A file of two documents is a change from the
//! first to the second.

use kube::core::cel::{Validator, apply_defaults};
use ruvio_operator::api::RuvioCluster;
use ruvio_operator::crd;
use serde_json::Value;

use super::schema_check::faults;
use super::text::repository;

struct Manifest {
    name: String,
    expect: String,
    before: Option<Value>,
    after: Value,
}

fn manifests(kind: &str) -> Vec<Manifest> {
    let folder = repository().join("operator/tests/manifests").join(kind);
    let mut found: Vec<Manifest> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|file| {
            let path = file.expect("a file").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("it is text");
            let expect = text
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("# expect: "));
            let mut documents: Vec<Value> = text
                .split("\n---\n")
                .map(|document| {
                    serde_saphyr::from_str(document).unwrap_or_else(|error| panic!("{name}: {error}"))
                })
                .collect();
            let after = documents.pop().expect("a document");
            Manifest {
                expect: expect.unwrap_or_default().to_owned(),
                before: documents.pop(),
                after,
                name,
            }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.len() > 2, "{} has hardly any file", folder.display());
    found
}

/// What an API server says: first of the schema, and of the rules only if all fits that.
fn complaints(manifest: &Manifest) -> Vec<String> {
    let schema = crd::schema().expect("a schema");
    let of_schema = faults(&schema, &manifest.after);
    if !of_schema.is_empty() {
        return of_schema;
    }
    let after = apply_defaults(&schema, &manifest.after);
    let before = manifest
        .before
        .as_ref()
        .map(|before| apply_defaults(&schema, before));
    match Validator::new().validate(&schema, &after, before.as_ref()) {
        Ok(()) => Vec::new(),
        Err(errors) => errors
            .into_vec()
            .into_iter()
            .map(|error| format!("{}: {}", error.field_path, error.message))
            .collect(),
    }
}

#[test]
fn good_manifests_are_taken_and_read_back_as_they_are() {
    for manifest in manifests("good") {
        assert_eq!(complaints(&manifest), Vec::<String>::new(), "{}", manifest.name);
        let cluster: RuvioCluster = serde_json::from_value(manifest.after.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", manifest.name));
        let written = serde_json::to_value(&cluster).expect("it is JSON");
        assert!(
            contains(&written, &manifest.after),
            "{}: a field is lost:\n{written:#}",
            manifest.name
        );
    }
}

#[test]
fn each_bad_manifest_is_refused_with_one_clear_complaint() {
    for manifest in manifests("bad") {
        assert!(
            !manifest.expect.is_empty(),
            "{} says nothing of what to expect",
            manifest.name
        );
        let said = complaints(&manifest);
        assert_eq!(said.len(), 1, "{}: {said:#?}", manifest.name);
        assert!(
            said[0].contains(&manifest.expect),
            "{}: {}",
            manifest.name,
            said[0]
        );
        if let Some(before) = &manifest.before {
            let alone = Manifest {
                name: manifest.name.clone(),
                expect: String::new(),
                before: None,
                after: before.clone(),
            };
            assert_eq!(
                complaints(&alone),
                Vec::<String>::new(),
                "{}: it was no good before",
                manifest.name
            );
        }
    }
}

/// Every field of the smaller is in the larger, with its value.
fn contains(larger: &Value, smaller: &Value) -> bool {
    match (larger, smaller) {
        (Value::Object(larger), Value::Object(smaller)) => smaller
            .iter()
            .all(|(key, value)| larger.get(key).is_some_and(|there| contains(there, value))),
        (Value::Array(larger), Value::Array(smaller)) => {
            larger.len() == smaller.len() && larger.iter().zip(smaller).all(|(a, b)| contains(a, b))
        }
        (larger, smaller) => larger == smaller,
    }
}
