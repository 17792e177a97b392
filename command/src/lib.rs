//! The command `pack`, which is installed as `tarflume`, too: command line, progress bar, signals, and
//! the two commands that only measure, `bench` and `doctor`.
//!
//! [`main`] runs the words of the process; [`run`] runs given words, for a program that brings the
//! command along. The work of the other commands is in `tarflume-packer`, which prints nothing.

mod bench;
mod cli;
mod doctor;
mod signals;

pub use cli::{main, run};
