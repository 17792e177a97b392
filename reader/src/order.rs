//! Which sample comes when: pure arithmetic, no I/O.
//!
//! Floors: keyed hashing and permutations; the shuffles and the order of one pass; contents and
//! selection; one data set's endless stream; several by a schedule; epochs of that; what a rank takes
//! of it, in steps; the state to resume from, and the ledger.

mod bits;
pub mod contents;
pub mod epochs;
pub mod fingerprint;
pub mod ledger;
pub mod mix;
pub mod parts;
pub mod pass;
pub mod permutation;
pub mod schedule;
pub mod score;
pub mod selection;
pub mod share;
pub mod shuffle;
pub mod split;
pub mod state;
pub mod steps;
pub mod stream;

pub use contents::Contents;
pub use epochs::Order;
pub use fingerprint::Fingerprint;
pub use ledger::Ledger;
pub use mix::ORDER_VERSION;
pub use parts::Cursor;
pub use pass::{Pass, PassCursor};
pub use schedule::Weights;
pub use selection::Selection;
pub use share::Share;
pub use shuffle::Shuffle;
pub use split::{By, Split};
pub use state::LoaderState;
pub use steps::{Remainder, Rows, Steps};
pub use stream::Draw;
