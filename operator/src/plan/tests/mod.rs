//! Decisions as transcripts that a person can review, and the promises of the module over random histories.

mod history;
mod obey;
mod table;
mod transcripts;
mod world;
