//! Decides from its header whether a device can decode a JPEG: the formats that NVIDIA documents for its hardware,
//! minus those that were never verified. Calls no device.
//!
//! The CPU decodes all other JPEGs and reports their errors. Damage is kept from the library, because one damaged
//! picture fails a whole batch there.

use std::fmt;

use tarflume_jpeg::{Header, whole};

/// The chroma subsampling of a supported JPEG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// One component.
    Gray,
    /// Chroma at the resolution of luma.
    Yuv444,
    /// Half the horizontal resolution.
    Yuv422,
    /// Half the resolution on both axes.
    Yuv420,
    /// Half the vertical resolution.
    Yuv440,
}

impl Sampling {
    /// All variants.
    pub const ALL: [Sampling; 5] =
        [Sampling::Gray, Sampling::Yuv444, Sampling::Yuv422, Sampling::Yuv420, Sampling::Yuv440];
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sampling::Gray => "one component",
            Sampling::Yuv444 => "4:4:4",
            Sampling::Yuv422 => "4:2:2",
            Sampling::Yuv420 => "4:2:0",
            Sampling::Yuv440 => "4:4:0",
        })
    }
}

/// Returns the subsampling of a JPEG that a device can decode.
///
/// # Errors
/// Returns the reason if a device cannot decode it.
pub fn supported(header: &Header) -> Result<Sampling, &'static str> {
    // Covers arithmetic coding, 12 bits, lossless, progressive, four components and several scans.
    if let Some(why) = header.without_entry_points() {
        return Err(why);
    }
    if !header.is_baseline() {
        return Err("it is sequential, but not baseline");
    }
    if header.channels() == 3 && !header.is_luma_first() {
        return Err("its colors are stored as red, green and blue");
    }
    let mut blocks = [(0, 0); 3];
    for (each, found) in blocks.iter_mut().zip(header.blocks_of_mcu()) {
        *each = found;
    }
    match (header.channels(), blocks) {
        (1, _) => Ok(Sampling::Gray),
        (3, [(1, 1), (1, 1), (1, 1)]) => Ok(Sampling::Yuv444),
        (3, [(2, 1), (1, 1), (1, 1)]) => Ok(Sampling::Yuv422),
        (3, [(2, 2), (1, 1), (1, 1)]) => Ok(Sampling::Yuv420),
        (3, [(1, 2), (1, 1), (1, 1)]) => Ok(Sampling::Yuv440),
        _ => Err("its colors are sampled in an unusual way"),
    }
}

/// Returns the header of a complete JPEG that a device can decode. Does not read the Huffman codes, so damage in them
/// is left to the library to detect, if it does.
///
/// # Errors
/// Returns the reason if a device cannot decode it.
pub fn checked(bytes: &[u8]) -> Result<Header, String> {
    fn damaged(error: tarflume_jpeg::Error) -> String {
        match error.byte() {
            Some(byte) => format!("it is damaged at byte {byte}: {}", error.text()),
            None => format!("it is damaged: {}", error.text()),
        }
    }

    let header = Header::parse(bytes).map_err(damaged)?;
    supported(&header)?;
    whole(bytes).map_err(damaged)?;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};

    use super::*;

    #[test]
    fn baseline_pictures_of_usual_sampling_are_taken_and_others_are_refused_in_words() {
        fn of(kind: PhotoKind) -> Result<Sampling, String> {
            let jpeg = Photo::new(40, 24, kind).encode(1).unwrap();
            checked(&jpeg).map(|header| supported(&header).unwrap())
        }

        assert_eq!(of(PhotoKind::Yuv444), Ok(Sampling::Yuv444));
        assert_eq!(of(PhotoKind::Yuv422), Ok(Sampling::Yuv422));
        assert_eq!(of(PhotoKind::Yuv420), Ok(Sampling::Yuv420));
        assert_eq!(of(PhotoKind::Gray), Ok(Sampling::Gray));
        assert_eq!(of(PhotoKind::Exif(6)), Ok(Sampling::Yuv420));
        assert!(of(PhotoKind::Progressive).unwrap_err().contains("progressive"));
        assert!(of(PhotoKind::Cmyk).unwrap_err().contains("four components"));
    }

    /// A JPEG with a modified frame header.
    fn changed(change: impl Fn(&mut [u8])) -> Result<Sampling, String> {
        let mut jpeg = PHOTOS[0].jpeg.to_vec();
        let at = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        change(&mut jpeg[at..]);
        checked(&jpeg).map(|header| supported(&header).unwrap())
    }

    #[test]
    fn nearly_supported_samplings_are_refused() {
        assert!(changed(|_| ()).is_ok());
        assert!(changed(|frame| frame[1] = 0xc1).unwrap_err().contains("not baseline"));
        assert!(changed(|frame| frame[1] = 0xc9).unwrap_err().contains("arithmetically"));
        assert!(changed(|frame| frame[4] = 12).unwrap_err().contains("8 bits"));
        // 4:1:1.
        assert!(changed(|frame| frame[11] = 0x41).unwrap_err().contains("unusual"));
        // Components named R, G and B are refused, too. Here they mismatch the names in the scan header.
        assert!(changed(|frame| frame[10] = b'R').unwrap_err().contains("damaged"));
    }

    #[test]
    fn truncated_input_is_refused_at_every_length() {
        let jpeg = PHOTOS[1].jpeg;
        for length in [0, 1, 20, 300, jpeg.len() / 2, jpeg.len() - 2] {
            assert!(checked(&jpeg[..length]).unwrap_err().contains("damaged"), "{length} bytes");
        }
    }
}
