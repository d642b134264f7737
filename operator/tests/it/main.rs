//! What the operator's types, decisions and objects are, seen from outside.

mod crd;
mod manifests;
mod reference;
mod schema_check;
mod text;
