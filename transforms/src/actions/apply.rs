//! `Apply`: what each action does.

use tarflume_image::ImageSize;
use tarflume_types::Result;

use crate::actions::record::Record;
use crate::frame::Frame;
use crate::kernels::color::table::Table;

/// Changes the pixels of a frame.
pub(crate) trait Apply {
    /// Applies the action.
    ///
    /// # Errors
    /// Returns an error if memory is short.
    fn apply(&self, frame: &mut Frame) -> Result<()>;

    /// The size of a picture of size `from` after the action.
    fn size(&self, from: ImageSize) -> ImageSize {
        from
    }

    /// The most bytes that the action takes beside the picture and its successor, for a picture of size `from`.
    fn room(&self, from: ImageSize, channels: usize) -> u64 {
        if self.table().is_some() {
            return 0;
        }
        // A float for each value.
        from.pixels().saturating_mul(4 * channels as u64)
    }

    /// The table of an action that maps each byte alone, and all channels alike. Neighboring tables become one.
    fn table(&self) -> Option<Table> {
        None
    }

    /// Writes what a device needs to do the same with a picture of this size, which the action keeps. Writes nothing if
    /// nothing has to be done. Returns false if a device has no kernel for it.
    fn in_words(&self, on: ImageSize, channels: usize, to: &mut Record) -> bool {
        let _ = (on, channels, to);
        false
    }
}
