//! MixUp and CutMix: rows of a batch are mixed with other rows of the same batch, and their labels with them.
//!
//! [`Mix`] has the settings. [`MixPlan`] is what was drawn for one batch: which rows are mixed with which, and how.
//! [`MixedRows`] changes pixels, [`SoftTarget`] writes what a loss compares with. No step allocates after the first batch.

pub(crate) mod blend;
pub mod copy_paste;
pub mod mosaic;
mod picture_shape;
mod plan;
mod rows;
mod settings;
mod target;

pub use self::plan::{How, MixPlan, MixedRow, Region, Taker};
pub use self::rows::MixedRows;
pub use self::settings::{Mix, MixMode, MixTargets, Partner};
pub use self::target::SoftTarget;
