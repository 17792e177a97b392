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

mod bounded;
mod cause;
mod certificate;
mod client;
mod connector;
mod credentials;
mod download;
mod error;
mod first_contact;
mod guard;
mod hub;
mod location;
mod metrics;
mod object;
mod open;
mod options;
mod runtime;
#[cfg(any(test, feature = "simulated"))]
#[doc(hidden)]
pub mod simulated;
mod store;
#[cfg(test)]
mod tests;
mod upload;
mod url_list;
mod web;

pub use bytes::Bytes;
pub use error::{Error, ErrorKind, Result};
pub use location::{SCHEMES, is_url};
pub use metrics::StoreStats;
pub use object::Object;
pub use options::{NAMES, Options};
pub use store::{Facts, Listed, Store};
pub use upload::{PART, Upload};
pub use url_list::UrlList;

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
