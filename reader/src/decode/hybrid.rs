//! decode::hybrid

pub mod balance;
pub(crate) mod request;
pub(crate) mod row;
#[doc(hidden)]
pub mod support;
#[doc(hidden)]
pub mod verdict;
