//! The command `pack`, also installed as `tarflume`: command line, progress bar, signals, and the
//! two commands that only measure, `bench` and `doctor`.
//!
//! [`main`] runs the command line of the process; [`run`] runs a given one, for a program that
//! embeds the command. The work of the other commands is in `tarflume-packer`, which prints
//! nothing.

mod bench;
mod cli;
mod doctor;
mod signals;

pub use cli::{main, run};
