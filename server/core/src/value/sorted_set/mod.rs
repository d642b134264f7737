//! Sorted sets: members by (score, member bytes).
//!
//! Small ones are packed in their entry ([`small`]), large ones have an index by member and one by order
//! ([`large`], [`tree`]). [`View`] reads both alike, [`Editor`] changes both and converts when a set
//! outgrows its packed form. Scores are never NaN and never a negative zero. What asks for scores, ranges or pops is not known here.

mod edit;
mod large;
mod node;
mod small;
mod tree;
mod view;

#[cfg(test)]
mod tree_tests;

pub use edit::{Editor, Pairs, begin, store};
pub use large::SortedSet;
pub use view::View;

/// A negative zero is stored as zero. Valkey does so in its packed form only, where the sign has no room; we
/// always do, so that no two replicas can differ in it.
fn without_sign_of_zero(score: f64) -> f64 {
    score + 0.0
}
