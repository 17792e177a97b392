//! Parts of a scan that several machines make, and scans in files.

pub mod stored;
pub mod subtree;
