//! Actions that move pixels.

pub(crate) mod motion;
mod moves;
mod warps;

pub use self::moves::{Crop, HorizontalFlip, Pad, QuarterTurn, VerticalFlip};
pub use self::warps::{Affine, Elastic, Perspective};
