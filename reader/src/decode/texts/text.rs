//! `Text`: a UTF-8 part as a variable column of bytes. Copies the text unchanged.

use tarflume_formats::Content;
use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use crate::decode::{Decode, DecodeHooks, Sample, Scratch};

/// A column of text. Invalid UTF-8 is an error; [`Raw`](crate::decode::bytes::raw::Raw) accepts any bytes.
///
/// ```
/// use tarflume::{Loader, Text};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).column("caption", Text::new("txt")).build()?;
/// assert_eq!(loader.epoch(0).next().unwrap()?.column("caption")?.row(0), b"photo 0");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Text(String);

impl Text {
    /// Reads the part `ext`.
    pub fn new(ext: impl Into<String>) -> Text {
        Text(ext.into())
    }
}

impl Decode for Text {
    fn parts(&self) -> Vec<String> {
        vec![self.0.clone()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Variable(DType::U8)
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let bytes = sample.part(0);
        if let Err(e) = std::str::from_utf8(bytes) {
            let at = e.valid_up_to();
            let text = match packed(bytes, &self.0) {
                Some(text) => text,
                None => format!("not UTF-8 at byte {at} of the part ({:02x})", bytes[at]),
            };
            return Err(Error::new(ErrorKind::Decode, text));
        }
        row.put(bytes)
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for Text {
    fn copies(&self) -> bool {
        true
    }
}

/// Returns why compressed data is no text, and how it is read; `None` for other data.
pub(in crate::decode) fn packed(bytes: &[u8], ext: &str) -> Option<String> {
    let found = Content::of(bytes).filter(|found| found.is_compressed())?;
    Some(format!(
        "the part is {}; take its bytes with Raw({ext:?}) and decompress them, or pack the files without compression",
        found.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<Vec<u8>> {
        let sample = Sample {
            key: b"a",
            ordinal: 0,
            seed: 0,
            parts: &[("txt", bytes)],
            ..Sample::default()
        };
        let mut row = vec![0; bytes.len()];
        let mut used = 0;
        let variable = Row::variable(&mut row, &mut used);
        Text::new("txt").decode(&sample, variable, &mut Scratch::default())?;
        row.truncate(used);
        Ok(row)
    }

    #[test]
    fn text_passes_and_other_bytes_are_errors() {
        assert_eq!(text("Wörter".as_bytes()).unwrap(), "Wörter".as_bytes());
        assert_eq!(text(b"").unwrap(), b"");
        let error = text(b"ab\xffcd").unwrap_err();
        assert!(error.text().contains("byte 2 of the part (ff)"), "{error}");
        assert!(text(b"ab\xc3").is_err());
        let packed = text(b"\x1f\x8b\x08\0").unwrap_err();
        assert!(packed.text().contains("gzip data; take its bytes with Raw(\"txt\")"), "{packed}");
        assert_eq!(text(b"BZh is a text").unwrap(), b"BZh is a text");
    }
}
