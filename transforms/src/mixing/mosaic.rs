//! Mosaic: four pictures of a batch become one, and what lies on them moves with them.
//!
//! [`Mosaic`] has the settings. [`MosaicPlan`] is what was drawn for one batch: which four rows make each row, and where they
//! meet. [`TiledRows`] copies pixels, [`TiledBits`] masks of bits; a [`Tile`] moves boxes and points. After Bochkovskiy et al., "YOLOv4: Optimal Speed and
//! Accuracy of Object Detection" (2020).

mod bits;
mod plan;
mod rows;
mod settings;
mod tile;

pub use self::bits::TiledBits;
pub use self::plan::{MosaicPlan, MosaicRow};
pub use self::rows::TiledRows;
pub use self::settings::Mosaic;
pub use self::tile::{TILES, Tile};
