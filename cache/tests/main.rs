//! All tests of the crate in one program, so that it links once. `processes`: processes that share a cache and are
//! killed; `truncated`: a cache whose file is truncated while it is in use.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that panics has failed")]

mod processes;
mod truncated;
