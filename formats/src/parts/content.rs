//! The extensions of images; and recognizes a file type by its first bytes, so that a message can name what was found ("a PNG").

/// Extensions of the images that are packed as such: the requirement `image` counts them, and a sidecar may have their
/// dimensions.
pub const IMAGE_EXTS: [&str; 15] = [
    "jpg", "jpeg", "jfif", "jpe", "mpo", "png", "webp", "gif", "bmp", "tif", "tiff", "ppm", "pgm",
    "pbm", "pnm",
];

/// First bytes, the type's name with its article, and its usual extension.
const KNOWN: [(&[u8], &str, &str); 41] = [
    (b"\xff\xd8\xff", "a JPEG", "jpg"),
    (b"\x89PNG\r\n\x1a\n", "a PNG", "png"),
    (b"GIF8", "a GIF", "gif"),
    (b"II*\0", "a TIFF", "tiff"),
    (b"MM\0*", "a TIFF", "tiff"),
    (b"II+\0", "a TIFF", "tiff"),
    (b"MM\0+", "a TIFF", "tiff"),
    (b"II\xbc\x01", "a JPEG XR", "jxr"),
    (b"\xff\x0a", "a JPEG XL", "jxl"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "a JPEG XL", "jxl"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000", "jp2"),
    (b"\xff\x4f\xff\x51", "a JPEG 2000", "j2k"),
    (b"8BPS\0\x01", "a PSD", "psd"),
    (b"qoif", "a QOI", "qoi"),
    (b"P1\n", "a portable bitmap", "pbm"),
    (b"P1 ", "a portable bitmap", "pbm"),
    (b"P2\n", "a portable graymap", "pgm"),
    (b"P2 ", "a portable graymap", "pgm"),
    (b"P3\n", "a portable pixmap", "ppm"),
    (b"P3 ", "a portable pixmap", "ppm"),
    (b"P4\n", "a portable bitmap", "pbm"),
    (b"P4 ", "a portable bitmap", "pbm"),
    (b"P5\n", "a portable graymap", "pgm"),
    (b"P5 ", "a portable graymap", "pgm"),
    (b"P6\n", "a portable pixmap", "ppm"),
    (b"P6 ", "a portable pixmap", "ppm"),
    (b"BM", "a BMP", "bmp"),
    (b"\x1f\x8b", "gzip data", "gz"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "zst"),
    (b"\xfd7zXZ", "xz data", "xz"),
    (b"BZh", "bzip2 data", "bz2"),
    (b"\x04\x22\x4d\x18", "lz4 data", "lz4"),
    (b"PK\x03\x04", "a zip file", "zip"),
    (b"%PDF-", "a PDF", "pdf"),
    (b"PAR1", "a Parquet file", "parquet"),
    (b"\x89HDF\r\n", "an HDF5 file", "h5"),
    (b"\x93NUMPY", "an npy file", "npy"),
    (b"\x89TFIDX\r\n", "a sidecar of tarflume", "index"),
    (b"<!DOCTYPE", "an HTML page", "html"),
    (b"<html", "an HTML page", "html"),
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer (`git lfs pull` fetches the file)",
        "lfs",
    ),
];

/// A file type recognized by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The name with its article: `a PNG`.
    pub name: &'static str,
    /// The usual extension.
    pub ext: &'static str,
}

impl Content {
    /// Recognizes the first bytes of a file; returns `None` for unknown types.
    pub fn of(start: &[u8]) -> Option<Content> {
        match start {
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
                return Some(Content { name: "a WebP", ext: "webp" });
            }
            [_, _, _, _, b'f', b't', b'y', b'p', ..] if has_brand(start, b"avi") => {
                return Some(Content { name: "an AVIF", ext: "avif" });
            }
            [_, _, _, _, b'f', b't', b'y', b'p', b'h', b'e', b'i' | b'v', ..]
            | [_, _, _, _, b'f', b't', b'y', b'p', b'm', b'i' | b's', b'f', b'1', ..] => {
                return Some(Content { name: "a HEIC", ext: "heic" });
            }
            _ => {}
        }
        let found = KNOWN.iter().find(|(first, ..)| start.starts_with(first));
        found.map(|&(_, name, ext)| Content { name, ext })
    }

    /// Returns true for compressed data.
    pub fn is_compressed(self) -> bool {
        matches!(self.ext, "gz" | "zst" | "xz" | "bz2" | "lz4")
    }

    /// Returns true for pictures.
    pub fn is_image(self) -> bool {
        let decoded = ["jpg", "png", "gif", "tiff", "bmp", "webp", "pbm", "pgm", "ppm"];
        let others = ["avif", "heic", "jxl", "jxr", "jp2", "j2k", "psd", "qoi"];
        decoded.contains(&self.ext) || others.contains(&self.ext)
    }
}

/// Returns true if a file that begins with an `ftyp` box has a brand that begins with `brand`: the major one, or a compatible
/// one as far as `start` has them.
fn has_brand(start: &[u8], brand: &[u8; 3]) -> bool {
    let length = start.first_chunk().map_or(0, |length| u32::from_be_bytes(*length)) as usize;
    let end = length.min(start.len());
    // The second word is the version of the major brand.
    let brands = start.get(8..end).unwrap_or_default().chunks_exact(4).enumerate();
    brands.filter(|(n, _)| *n != 1).any(|(_, found)| found.starts_with(brand))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognized_by_their_first_bytes() {
        for (start, name) in [
            (&b"\xff\xd8\xff\xe0\0\x10JFIF"[..], Some("a JPEG")),
            (b"\x89PNG\r\n\x1a\n\0\0", Some("a PNG")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some("a WebP")),
            (b"RIFF\x24\0\0\0WAVE", None),
            (b"\0\0\0\x20ftypavif", Some("an AVIF")),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif", Some("an AVIF")),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1heic", Some("a HEIC")),
            (b"\0\0\0\x18ftypheix\0\0\0\0mif1heic", Some("a HEIC")),
            (b"\0\0\0\x18ftypisom\0\0\0\0isommp41", None),
            (b"\xff\x0a\xfa", Some("a JPEG XL")),
            (b"II+\0\x08\0", Some("a TIFF")),
            (b"\x1f\x8b", Some("gzip data")),
            (b"text", None),
            (b"", None),
        ] {
            assert_eq!(Content::of(start).map(|found| found.name), name);
        }
        assert!(KNOWN.iter().all(|(first, ..)| Content::of(first).is_some()));
    }
}
