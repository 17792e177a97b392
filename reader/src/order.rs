//! Which sample comes when: pure arithmetic, no I/O.
//!
//! Floors: contents, selection and the shuffles' passes; one data set's endless stream; several by a
//! schedule; epochs of that; what a rank takes of it; the state to resume from, and the ledger.

mod bits;
mod contents;
mod epochs;
mod fingerprint;
pub mod mix;
mod parts;
mod pass;
pub mod permutation;
mod schedule;
pub mod score;
mod selection;
mod share;
mod shuffle;
mod split;
mod steps;
mod stream;

pub use contents::{Contents, MAX_SAMPLES};
pub use epochs::Order;
pub use fingerprint::Fingerprint;
pub use parts::Cursor;
pub use mix::ORDER_VERSION;
pub use pass::{Pass, PassCursor};
pub use schedule::{MAX_PERIOD, Weights};
pub use selection::Selection;
pub use share::Share;
pub use shuffle::Shuffle;
pub use split::{By, Split};
pub use steps::{Remainder, Rows, Steps};
pub use stream::Draw;
