//! JPEG for training: bytes in, pixels out; no files, no threads, nothing of shards.
//!
//! Baseline and extended sequential Huffman JPEGs are decoded here, byte for byte as libjpeg-turbo
//! does by default; everything else goes to `zune-jpeg` behind the same interface.

mod simd;
