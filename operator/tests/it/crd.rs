//! The definition in `crds/` is the one that the types make, and its rules have bounded prices.

use ruvio_operator::crd;
use serde_json::Value;

use super::text;

#[test]
fn the_file_is_what_the_types_make() {
    text::assert_is(crd::FILE, &crd::yaml().expect("it is made"));
}

/// An API server multiplies the price of a rule by how often it may run: what has no bound has no price.
#[test]
fn lists_maps_and_texts_of_the_schema_are_bounded() {
    let mut open = Vec::new();
    walk(
        &crd::schema().expect("a schema")["properties"]["spec"],
        "spec",
        &mut open,
    );
    assert!(open.is_empty(), "without a bound: {open:?}");
}

fn walk(schema: &Value, path: &str, open: &mut Vec<String>) {
    let has = |key: &str| schema.get(key).is_some();
    let bounded = match schema["type"].as_str() {
        Some("array") => has("maxItems"),
        Some("string") => has("maxLength") || has("enum") || has("format"),
        Some("object") if has("additionalProperties") => has("maxProperties"),
        Some("integer") => has("maximum") || has("format"),
        _ => true,
    };
    if !bounded {
        open.push(path.to_owned());
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), open);
    }
    for part in ["items", "additionalProperties"] {
        if has(part) {
            walk(&schema[part], &format!("{path}.{part}"), open);
        }
    }
}

#[test]
fn it_scales_has_a_status_and_the_columns_that_people_look_for() {
    let yaml = crd::yaml().expect("it is made");
    let crd: Value = serde_saphyr::from_str(&yaml).expect("it is YAML");
    let version = &crd["spec"]["versions"][0];
    let columns: Vec<_> = version["additionalPrinterColumns"]
        .as_array()
        .expect("columns")
        .iter()
        .filter_map(|column| column["name"].as_str())
        .collect();
    assert_eq!(
        columns,
        ["Ready", "Nodes", "Shards", "Durability", "Status", "Age"]
    );
    assert_eq!(
        version["subresources"]["scale"]["specReplicasPath"],
        ".spec.nodes"
    );
    assert_eq!(
        version["subresources"]["scale"]["labelSelectorPath"],
        ".status.selector"
    );
    assert!(version["subresources"]["status"].is_object());
    assert_eq!(crd["spec"]["names"]["shortNames"][0], "rvc");
    assert_eq!(crd["spec"]["names"]["categories"][0], "all");
    assert_eq!(crd["spec"]["scope"], "Namespaced");
}
