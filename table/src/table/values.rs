//! The values of a table: their types, their numbers, and a row as JSON.

pub mod json;
pub(crate) mod kind;
pub mod numbers;
pub(crate) mod odd;
pub mod recorded;
pub mod survey;
pub mod types;
