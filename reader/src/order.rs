//! Which sample comes when: pure arithmetic, no I/O.
//!
//! A *slot* numbers the samples that take part; a *pass* is an order of all slots; an endless stream
//! of passes is cut into *epochs*, epochs into *steps*, steps into the ranks' batches. All of it is a
//! function of (data set, shuffle, seed, epoch, position), so a position is all that a resume needs.
//!
//! Floors: `mix`, `contents` < `permutation` < `shuffle sequence selection` < `buffer blocks` < `pass` <
//! `course` < `steps state ledger`.

pub mod blocks;
pub mod buffer;
pub mod contents;
pub mod mix;
pub mod pass;
pub mod permutation;
pub mod sequence;
pub mod shuffle;

pub use contents::{Contents, Fingerprint};
pub use pass::Pass;
pub use permutation::Permutation;
pub use shuffle::Shuffle;

