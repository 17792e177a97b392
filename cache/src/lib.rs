//! A cache of blocks on a local disk that all processes of a machine share.
//!
//! [`Cache`] is one file: a header, an index of slots that is mapped into memory, and the slots. A slot has
//! a block of at most [`BLOCK`] bytes. The file is allocated once, so it cannot grow. A [`Key`] is made of
//! a digest of content, so a block is never out of date. There are no lock files: slots are claimed by
//! compare-and-swap, claims of dead processes are taken over, and each byte that is read is compared with
//! its checksum.
//!
//! ```
//! use tarflume_cache::{BLOCK, Cache, Key, Lookup, Settings};
//!
//! # fn main() -> tarflume_cache::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! let cache = Cache::open(&Settings::new(64 << 20).folder(folder.path()))?;
//! let key = Key::new([7; 32], 0); // the first block of the object with this digest
//! let block = vec![1; 1000];
//! if let Some(fill) = cache.begin(key).fill() {
//!     fill.finish(&block)?;
//! }
//! let mut into = [0; 10];
//! assert_eq!(cache.read(key, 990, &mut into), Lookup::Hit);
//! assert_eq!(into, [1; 10]);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod cache;
mod claim;
mod counters;
mod create;
mod entry;
mod error;
mod fill;
mod key;
mod layout;
mod place;
mod scrub;
#[cfg(test)]
mod tests;

pub use cache::{Cache, Lookup};
pub use counters::CacheStats;
pub use error::{Error, Result};
pub use fill::{Begun, Fill};
pub use key::{Key, Share};
pub use layout::BLOCK;
pub use place::Settings;
pub use scrub::{Contents, Scrubbed};
