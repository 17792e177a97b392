//! Decompression of files of several members, as the streams of the reader do it: zeros behind a member are padding.

pub use tarflume_dataset::GzipMembers;
pub use tarflume_dataset::{MemberDecoder, Members, ZstdFrames};
