//! Decompression of files of several members, as the streams of the reader do it: zeros behind a member are padding.

pub(crate) use tarflume::internal::{GzipMembers, MemberDecoder, Members};
