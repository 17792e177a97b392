//! Which parts of a data set are images that can be decoded.

use std::collections::BTreeMap;

use tarflume_packer::Content;

/// The parts that are decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Images {
    /// Their extensions, the best first.
    pub(super) exts: Vec<String>,
    /// True if every sample is known to have one.
    pub(super) everywhere: bool,
}

/// The images of a data set: an extension that every sample has stands alone, or else the one of the
/// most samples comes first. Nothing if there is no image.
///
/// An extension with a dot (`seg.png`) is rather a mask than the picture.
pub(super) fn of(parts: &BTreeMap<String, u64>, samples: u64) -> Option<Images> {
    let images = parts.iter().filter(|(ext, _)| Content::of(ext.as_bytes()).is_image());
    let mut images: Vec<_> = images.collect();
    images.sort_by_key(|(ext, count)| (u64::MAX - **count, ext.contains('.'), ext.as_str()));
    let everywhere = *images.first()?.1 == samples;
    let taken = if everywhere { 1 } else { images.len() };
    let exts = images.into_iter().take(taken).map(|(ext, _)| ext.clone()).collect();
    Some(Images { exts, everywhere })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(parts: &[(&str, u64)]) -> Option<(String, bool)> {
        let parts = parts.iter().map(|&(ext, count)| (ext.to_string(), count)).collect();
        of(&parts, 10).map(|images| (images.exts.join(";"), images.everywhere))
    }

    #[test]
    fn the_picture_is_what_every_sample_has() {
        let found = |exts: &str, everywhere| Some((exts.to_string(), everywhere));
        assert_eq!(images(&[("jpg", 10), ("json", 10)]), found("jpg", true));
        assert_eq!(images(&[("a.png", 10), ("jpg", 3), ("png", 10)]), found("png", true));
        assert_eq!(images(&[("jpg", 4), ("png", 6), ("txt", 10)]), found("png;jpg", false));
        assert_eq!(images(&[("jpg", 9), ("json", 10)]), found("jpg", false));
        assert_eq!(images(&[("json", 10), ("npy", 10)]), None);
    }
}
