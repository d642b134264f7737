//! What clients saw, held against what one machine would have shown them.
//!
//! A history is the operations of all clients with the times around them. [`wgl`] searches an order of them
//! that a model allows; lists, fences and limits need no search, since their replies tell the order. Here nothing is known of
//! servers: a history is data, and each rule has a history in the tests that it must reject.

pub mod counter;
pub mod history;
pub mod idem;
pub mod limit;
pub mod list;
pub mod register;
pub mod transfer;
pub mod wgl;
