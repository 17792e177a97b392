//! From ordinals to bytes: which reads a batch needs, and the parts that they bring.
//!
//! [`wanted`] says which parts are needed, [`plan`] turns ordinals into merged reads, [`fetched`]
//! does one run of them and lends the parts. No thread is started here, and once the vectors have
//! grown to a batch's size nothing is allocated for a sample that is good.

pub(crate) mod fetched;
pub(crate) mod plan;
pub(crate) mod wanted;
