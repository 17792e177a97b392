//! Compares every set of kernels with plain formulas, with the portable set, and with hashes of
//! libjpeg-turbo's own bytes. `cargo test --release -p tarflume-jpeg speed -- --ignored
//! --nocapture` prints the speed of each.

mod blocks;
mod idct;
mod lines;
mod speed;
