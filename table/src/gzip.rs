//! Decompression of files of several members, as the streams of the reader do it: zeros behind a member are padding.

pub use tarflume::internal::GzipMembers;
pub use tarflume::internal::{MemberDecoder, Members, ZstdFrames};
