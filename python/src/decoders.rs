//! Decoders and transforms as Python classes.

pub(super) mod apply;
pub(super) mod class_label;
pub(super) mod conversion;
pub(super) mod fallback;
pub(super) mod gate;
pub(super) mod json_default;
pub(super) mod parts;
pub(super) mod piece_columns;
pub(super) mod pieces;
pub(super) mod recipes;
pub(super) mod tokens;
pub(super) mod transforms;
