//! Bounded schemas that several fields share.

use schemars::{Schema, SchemaGenerator, json_schema};

fn texts(entries_max: u64, value_chars_max: u64) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": entries_max,
        "additionalProperties": { "type": "string", "maxLength": value_chars_max },
    })
}

pub fn labels(_: &mut SchemaGenerator) -> Schema {
    texts(32, 63)
}

pub fn annotations(_: &mut SchemaGenerator) -> Schema {
    texts(32, 4096)
}

/// Of the server.
pub fn options(_: &mut SchemaGenerator) -> Schema {
    texts(64, 1024)
}

/// Names of resources with amounts, as a container has them.
pub fn amounts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {
            "x-kubernetes-int-or-string": true,
            "maxLength": 32,
        },
    })
}

/// Names of Secrets, or what a peer of a network policy is: checked where it is used.
pub fn as_it_is(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    })
}
