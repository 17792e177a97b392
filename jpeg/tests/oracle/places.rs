//! `points`: entry points of another JPEG; `positions`: where they are; `false_claims`: forged ones.

mod false_claims;
mod points;
mod positions;
