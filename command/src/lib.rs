//! The command `pack`, also installed as `tarflume`: command line, progress bar, signals, and the
//! commands that only measure or plan: `bench`, `doctor` and `plan-epoch`.
//!
//! [`main`] runs the command line of the process; [`run`] runs a given one, for a program that
//! embeds the command. The work of the other commands is in the crates of the packer, which print
//! nothing.

mod bench;
mod cli;
mod doctor;
mod plan_epoch;
mod reports;
mod signals;
mod slurm;
mod viewer;

pub use cli::{main, run};
