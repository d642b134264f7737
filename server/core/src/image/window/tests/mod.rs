//! The promise of the image, tested over every command that writes: rows made of the log in windows, loaded,
//! with the rest of the log replayed, are the shard itself.

mod cases;
mod model;
mod random;
