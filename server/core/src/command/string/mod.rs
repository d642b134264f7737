//! Strings: values that are one row, read and written whole or in part.

mod edit;
mod get;
mod lcs;
mod many;
mod number;
mod options;
mod rows;
mod set;

#[cfg(test)]
mod tests;

pub use rows::COMMANDS;
