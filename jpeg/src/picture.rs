//! One picture: its request, its samples, and the walk of a lane over it.

pub(super) mod excerpt;
pub(super) mod extent;
pub(super) mod job;
pub(super) mod layout;
pub(super) mod lines;
pub(super) mod planes;
pub(super) mod slot;
pub(super) mod strand;
