//! Values in text and JSON, and numbers as elements of a type. Pure.

pub(crate) mod json_advice;
pub(super) mod json_value;
pub(crate) mod number;
pub(crate) mod on_picture;
pub(crate) mod pack_columns;
pub(crate) mod picture_buckets;
pub(crate) mod rotated;
pub(super) mod sample;
