//! What a decoder returns: samples of pixels, and their channels.

pub(super) mod channels;
pub(super) mod pixel_decoder;
