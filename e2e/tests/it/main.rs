//! The one integration binary of the black-box tests: a module per kind of proof.

mod sharded;
mod tidy;
