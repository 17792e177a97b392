//! Columns of pictures: what they have, what they refuse, and what they read.

mod excerpts;
mod fallback;
mod false_claims;
mod kinds;
mod large;
mod oversize;
mod photos;
mod points;
