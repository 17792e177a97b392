//! One data set packed by several machines.

pub(super) mod machines;
pub(super) mod scan_parts;
pub(super) mod stealing;
