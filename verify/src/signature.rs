//! Signatures of data sets: minisign's, over the bytes of `dataset.json`, in `dataset.json.minisig` beside it.
//!
//! The manifest has the digests of all tars and sidecars, so its signature is one of the whole set. The command
//! `minisign` makes and checks the same files: `minisign -Vm dataset.json -p release.pub`.

mod check;
mod keys;
mod sign;

pub(crate) use check::problem;
pub use keys::{NewKey, PASSWORD, Signers, make_keys};
pub use sign::{Signed, SigningKey, sign};
