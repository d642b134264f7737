//! Administration: the calls of `admin.proto`, for ruvioctl and the operator.
//!
//! `service` takes the calls and `guard` says who may make them; `founding` checks what a bootstrap asks for;
//! `control` is what the node has to do for it, and `refused` why it does not. `incoming` bounds the connections.
//!
//! It knows neither groups nor owners: the binary stands behind `Control`.
//!
//! Invariant: no call is looked at before its token is.

mod confirmation;
mod control;
mod founding;
mod guard;
mod incoming;
mod refused;
mod service;
#[cfg(test)]
mod tests;

pub use confirmation::confirmation;
pub use control::{Control, RecoverQuorum, ReplicaChange};
pub use founding::{Founder, Founding};
pub use guard::Guard;
pub use refused::Refused;
/// The answers, as they are sent.
pub use ruvio_proto::{admin::v1 as answers, common::v1 as common};
pub use service::serve;
