//! Which parts of a data set are images that can be decoded.

use std::collections::BTreeMap;

use crate::check::Content;

/// The extensions of images, the best first: one that every sample has stands alone, or else the parts
/// that are found in most samples come first. Nothing if there is no image.
///
/// An extension with a dot (`seg.png`) is rather a mask than the picture.
pub(super) fn of(parts: &BTreeMap<String, u64>, samples: u64) -> Vec<String> {
    let images = parts.iter().filter(|(ext, _)| Content::of(ext.as_bytes()).is_image());
    let mut images: Vec<_> = images.collect();
    images.sort_by_key(|(ext, count)| (u64::MAX - **count, ext.contains('.'), ext.as_str()));
    let all = images.first().is_some_and(|(_, count)| **count == samples);
    let taken = if all { 1 } else { images.len() };
    images.into_iter().take(taken).map(|(ext, _)| ext.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(parts: &[(&str, u64)]) -> Vec<String> {
        of(&parts.iter().map(|&(ext, count)| (ext.to_string(), count)).collect(), 10)
    }

    #[test]
    fn the_picture_is_what_every_sample_has() {
        assert_eq!(images(&[("jpg", 10), ("json", 10)]), ["jpg"]);
        assert_eq!(images(&[("a.png", 10), ("jpg", 3), ("png", 10)]), ["png"]);
        assert_eq!(images(&[("jpg", 4), ("png", 6), ("txt", 10)]), ["png", "jpg"]);
        assert!(images(&[("json", 10), ("npy", 10)]).is_empty());
    }
}
