//! Columns of what lies on a picture: classes that have their settings, and the columns of a loader that they become.

pub(super) mod bound;
pub(super) mod boxes;
pub(super) mod mask;
pub(super) mod points;
pub(super) mod segments;
pub(super) mod settings;
