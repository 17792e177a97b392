//! Every set of kernels against plain formulas, against the portable set, and against sums taken of
//! libjpeg-turbo's own bytes. `cargo test --release -p tarflume-jpeg speed -- --ignored --nocapture`
//! prints how fast each is.

mod blocks;
mod idct;
mod lines;
mod speed;
