//! Which samples come, in which order, and how an epoch ends and goes on.

mod buckets;
pub(crate) mod endings;
pub(crate) mod orders;
mod packs;
mod resume;
mod selected;
mod whole;
