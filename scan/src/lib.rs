//! Finds the samples of a data set in folders.
//!
//! | module | task |
//! |---|---|
//! | [`scan()`] | folders as samples in the order of their keys: a [`Scan`] |
//! | [`names`] | which names are keys, extensions, or left out |
//! | [`samples`] | the samples in compact form |
//! | [`folders`] | the names in folders, grouped into samples |
//! | [`lists`], [`pair`], [`grouped`], [`several`] | lists of files, pairs of files, folders as samples, and several folders as one scan |
//! | [`rows`] | samples that are rows of other files |
//! | [`parts`] | a scan on several machines, and in a file |
//! | [`attach`] | parts that are added to the samples of a scan |
//! | [`options`] | the options of a scan, and its problems |
//! | [`filter`] | selects samples by conditions |
//! | [`links`] | which symbolic links are followed |
//! | [`source`] | the files that samples come from, as a plan names them |
#![warn(missing_docs)]

mod combined;
pub mod filter;
pub mod folders;
pub mod links;
pub mod lists;
pub mod names;
pub mod options;
pub mod parts;
pub mod rows;
pub mod samples;
mod scan;
pub mod source;

pub use self::combined::attach;
pub use self::combined::grouped;
pub use self::combined::pair;
pub use self::combined::several;
pub use scan::{Scan, scan};
