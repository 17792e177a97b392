//! Huffman decoding (ITU-T T.81, annex F.2), several independent streams in step.
//!
//! A single stream waits most of the time: the position of a code is known only after the lookup of
//! the one before it. Three or four streams whose steps alternate fill each other's gaps. The
//! output is coefficients, or only the ends of blocks; this module knows no pixels.

mod best;
mod code;
#[cfg(target_arch = "x86_64")]
mod fast;
mod lane;
mod lockstep;
mod progressive;
mod skim;
mod steps;
mod tables;
#[cfg(test)]
mod tests;
mod unstuff;

pub(crate) use self::best::{lockstep, skimmers};
pub(crate) use self::lane::{Fault, Lane, Predictors};
pub(crate) use self::lockstep::Lockstep;
pub(crate) use self::progressive::{Bits, Block, Run};
pub(crate) use self::skim::{Skim, Skimmers};
pub(crate) use self::steps::MOST_LANES;
pub(crate) use self::tables::huffman::Tables;
pub(crate) use self::tables::pairs::LaneTables;
pub(crate) use self::unstuff::{Unstuffed, unstuff};
