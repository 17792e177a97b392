//! Memory that Python and other libraries view: NumPy, Arrow, DLPack.

pub(super) mod array_format;
pub(super) mod arrow;
pub(super) mod arrow_view;
pub(super) mod dlpack;
pub(super) mod memory;
pub(super) mod row_index;
