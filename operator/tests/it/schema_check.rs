//! The part of an API server that holds an object to its schema, in that server's words.

use serde_json::Value;

pub fn faults(schema: &Value, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, object, "", &mut found);
    found
}

fn check(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    let mut complain = |what: String| found.push(format!("{path}: {path} in body {what}"));
    let at_most = |key: &str, is: f64| schema[key].as_f64().filter(|max| is > *max);
    if let Some(kind) = schema["type"].as_str().filter(|kind| !is_of(kind, value)) {
        return complain(format!("must be of type {kind}"));
    }
    if let Some(choices) = schema["enum"]
        .as_array()
        .filter(|choices| !choices.contains(value))
    {
        let choices: Vec<_> = choices
            .iter()
            .filter(|choice| !choice.is_null())
            .map(Value::to_string)
            .collect();
        found.push(format!(
            "{path}: Unsupported value: {value}: supported values: {}",
            choices.join(", ")
        ));
        return;
    }
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            if let Some(max) = at_most("maximum", number) {
                complain(format!("should be less than or equal to {max}"));
            }
            if let Some(min) = schema["minimum"].as_f64().filter(|min| number < *min) {
                complain(format!("should be greater than or equal to {min}"));
            }
        }
        Value::String(text) => {
            if let Some(max) = at_most("maxLength", text.chars().count() as f64) {
                complain(format!("should be at most {max} chars long"));
            }
            if schema["minLength"]
                .as_u64()
                .is_some_and(|min| (text.chars().count() as u64) < min)
            {
                complain(format!("should be at least {} chars long", schema["minLength"]));
            }
        }
        Value::Array(items) => {
            if let Some(max) = at_most("maxItems", items.len() as f64) {
                complain(format!("should have at most {max} items"));
            }
            if schema["minItems"]
                .as_u64()
                .is_some_and(|min| (items.len() as u64) < min)
            {
                complain(format!("should have at least {} items", schema["minItems"]));
            }
            for (at, item) in items.iter().enumerate() {
                check(&schema["items"], item, &format!("{path}[{at}]"), found);
            }
        }
        Value::Object(fields) => object(schema, fields, path, found),
        Value::Null | Value::Bool(_) => {}
    }
}

fn object(schema: &Value, fields: &serde_json::Map<String, Value>, path: &str, found: &mut Vec<String>) {
    let inside = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    if schema["maxProperties"]
        .as_u64()
        .is_some_and(|max| fields.len() as u64 > max)
    {
        found.push(format!(
            "{path}: {path} in body should have at most {} properties",
            schema["maxProperties"]
        ));
    }
    for required in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !fields.contains_key(required) {
            found.push(format!("{}: Required value", inside(required)));
        }
    }
    for (name, value) in fields {
        let known = &schema["properties"][name];
        if known.is_object() {
            check(known, value, &inside(name), found);
        } else if schema["additionalProperties"].is_object() {
            check(&schema["additionalProperties"], value, &inside(name), found);
        } else if schema["properties"].is_object()
            && !["apiVersion", "kind", "metadata"].contains(&name.as_str())
        {
            found.push(format!("unknown field \"{}\"", inside(name)));
        }
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}
