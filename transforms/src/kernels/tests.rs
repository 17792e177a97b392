//! Loops give the same bytes with each instruction set.

mod color;
mod filter;
