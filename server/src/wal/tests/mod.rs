//! The log on a disk that lies: after every crash, what is read back is what a model says.

mod completions;
mod corruption;
mod crash;
mod faults;
mod model;
mod reading;
