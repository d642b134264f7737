//! Sets.

mod algebra;
mod random;
mod read;
mod rows;
mod write;

#[cfg(test)]
mod tests;

pub use rows::COMMANDS;
