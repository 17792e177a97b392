//! Finds the parts of a data set that are decodable images.

use std::collections::BTreeMap;

use tarflume_base::check::Content;

/// The image parts to decode.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Images {
    /// Their extensions, the preferred one first.
    pub(super) exts: Vec<String>,
    /// True if every sample is known to have one.
    pub(super) everywhere: bool,
}

/// Returns the images of a data set: the extension that every sample has, or else all of them, the
/// most frequent first. Returns `None` if there is no image.
///
/// An extension with a dot (`seg.png`) has lower priority: it is more likely a mask than the
/// picture.
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
