//! Files: opened, mapped, published and examined again.

#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod freshness;
#[doc(hidden)]
pub mod lfs;
pub(super) mod map;
#[doc(hidden)]
pub mod output;
pub mod publish;
pub(super) mod recheck;
pub(super) mod resident;
