//! Huffman decoding (ITU-T T.81, annex F.2), several independent streams in step.
//!
//! One stream waits most of the time: the place of a code is known only when the one before it was
//! looked up. Three or four streams whose steps alternate fill each other's gaps. Coefficients come
//! out; nothing here knows of pixels.

mod best;
#[cfg(target_arch = "x86_64")]
mod fast;
mod huffman;
mod lane;
mod lockstep;
mod progressive;
mod unstuff;

pub(crate) use self::best::{lockstep, scan_lockstep};
pub(crate) use self::huffman::Tables;
pub(crate) use self::lane::{Fault, Lane, Predictors};
pub(crate) use self::lockstep::{Lockstep, MOST_LANES};
pub(crate) use self::progressive::{Bits, Block, Run};
pub(crate) use self::unstuff::{Unstuffed, unstuff};
