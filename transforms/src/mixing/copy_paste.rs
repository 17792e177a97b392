//! Copy-paste: objects of one picture of a batch are pasted over another one, by their masks.
//!
//! [`CopyPaste`] has the settings. [`PastePlan`] is what was drawn for one batch: which row gets objects of which.
//! [`PastedPictures`] copies pixels; a [`VisiblePart`] is what pasted objects leave of a mask. After Ghiasi et al., "Simple
//! Copy-Paste is a Strong Data Augmentation Method for Instance Segmentation" (2021).

mod pictures;
mod plan;
mod settings;
mod visible;

pub use self::pictures::PastedPictures;
pub use self::plan::{PasteDraw, PastePlan, PastedRow};
pub use self::settings::CopyPaste;
pub use self::visible::{VisiblePart, add_to_cover};
