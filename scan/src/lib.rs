//! Finds the samples of a data set in folders.
//!
//! | module | task |
//! |---|---|
//! | [`scan`] | folders, lists and rows as samples in the order of their keys |
//! | [`filter`] | selects samples by conditions |
//! | [`links`] | which symbolic links are followed |
//! | [`source`] | the files that samples come from, as a plan names them |
#![warn(missing_docs)]

pub mod filter;
pub mod links;
pub mod scan;
pub mod source;
