//! From the name of a data set to the bytes of its parts: sources, names, samples, reads.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod faults;
mod fetching;
mod harness;
mod lookups;
mod naming;
mod own_source;
mod points;
mod samples;
mod selecting;
mod source_cache;
mod sources;
mod splits;
