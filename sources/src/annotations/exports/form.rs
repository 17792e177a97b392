//! `Form`: what the coordinates of a file are.

use tarflume_formats::BoxForm;

/// The pointer of the class table.
pub(super) const POINTER: &str = "/class";

/// The form of the boxes of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) boxes: BoxForm,
    /// Whether coordinates are relative to width and height.
    pub(super) is_relative: bool,
    /// Whether pictures without objects are left out of the file.
    pub(super) omits_empty: bool,
}
