//! Whole commands, run as users run them; each test's name is a sentence.
//!
//! - `harness`: the language of the tests: a place with folders, `pack` run in it, its output, the
//!   resulting files; a naive reader of ustar that shares no code with ours;
//! - `inputs`: what is packed: folders, lists, tables, arrays, archives; and what is left out;
//! - `strange`: inputs that readers disagree about, and inputs that are made to harm;
//! - `results`: what commands write: shards, sidecars, manifests, tokens, exports, copies;
//! - `examined`: what commands and foreign programs find in shards;
//! - `interrupted`: commands that are killed at random system calls or repeated with other options, one fault at each
//!   system call on a file, power failures, full disks, streams that are closed;
//! - `several_machines`: `plan`, `run`, `status`, `finalize` on several machines, and machines that take over;
//! - `words`: what commands say: help, errors whose commands are run, the exact output.
//!
//! These tests do not use the crates: they assert what a user or another program sees. (One test of
//! `exclude` uses the reader as a user does, and so does `rust_pages`.)
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::disallowed_methods)]
// Commands are stopped at their system calls, by a tracer that knows these.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod examined;
mod harness;
mod inputs;
mod interrupted;
mod results;
mod several_machines;
mod strange;
mod words;
