//! What decoding costs beside the decoders themselves: functions of the user, and operations of recipes.

pub(crate) mod calls;
pub(crate) mod operations;
