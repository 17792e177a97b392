//! Object stores for tarflume: S3, GCS, Azure, HTTP servers, lists of URLs and the Hugging Face Hub.
//!
//! [`Store`] is a prefix of a store, [`Object`] one object of it, pinned to the state in which it
//! was opened. [`UrlList`] names objects by URLs, such as presigned ones. Methods wait for the answer; [`Object::begin`] calls back. Requests are made by the
//! crate `object_store`; this crate adds what it lacks: profiles and `credential_process`,
//! `Retry-After`, objects that never change while they are read, counters, and errors that say what
//! to set.
//!
//! ```no_run
//! use tarflume_store::{Options, Store};
//!
//! let options = Options::from_pairs([("profile", "lab")])?;
//! let store = Store::open("s3://bucket/photos", &options)?;
//! for object in store.list("shard-")? {
//!     println!("{} {}", object.name, object.facts.length);
//! }
//! # Ok::<(), tarflume_store::Error>(())
//! ```
#![warn(missing_docs)]

mod errors;
mod hub;
mod open;
mod requests;
mod runtime;
mod settings;
#[cfg(any(test, feature = "simulated"))]
#[doc(hidden)]
pub mod simulated;
mod store;
#[cfg(test)]
mod tests;
mod transfer;
mod url_list;
mod web;

pub use bytes::Bytes;
pub use errors::error::{Error, ErrorKind, Result};
pub use errors::part::ErrorPart;
pub use requests::metrics::StoreStats;
pub use settings::location::{SCHEMES, is_url};
pub use settings::options::{NAMES, Options};
pub use store::{Listed, ObjectFacts, Store};
pub use transfer::object::Object;
pub use transfer::upload::{PART, Upload};
pub use url_list::UrlList;

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
