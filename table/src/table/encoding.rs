//! `TextEncoding`: the encoding of a text that is not UTF-8, and a reader that converts it.

use std::fmt;
use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding};

/// Bytes that are converted at a time.
const BUFFER: usize = 16 << 10;

/// An encoding by its name in the WHATWG Encoding Standard: `latin1`, `utf-16le`, `shift_jis`, `gbk`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// Returns the encoding of a name or one of its other names.
    pub(super) fn parse(name: &str) -> Option<TextEncoding> {
        Encoding::for_label(name.as_bytes()).map(TextEncoding)
    }

    /// Converts a whole text to UTF-8.
    ///
    /// # Errors
    /// Returns an error for bytes that are none of the encoding.
    pub fn text(self, bytes: &[u8]) -> Result<String, String> {
        let text = self.0.decode_with_bom_removal(bytes);
        match text {
            (text, false) => Ok(text.into_owned()),
            (_, true) => Err(format!(
                "it has bytes that are not {}; give its encoding= or save it as UTF-8",
                self.name()
            )),
        }
    }

    /// Its name in the standard.
    pub(super) fn name(self) -> &'static str {
        self.0.name()
    }
}

impl fmt::Debug for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of a read: bytes that are none of the encoding.
#[derive(Debug, Clone, Copy)]
struct NotEncoded {
    encoding: TextEncoding,
    /// The first byte that was converted after them, counted in the text.
    byte: u64,
}

impl fmt::Display for NotEncoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the bytes before byte {} of the text are not {}; give its encoding= or save it as UTF-8",
            self.byte,
            self.encoding.name()
        )
    }
}

impl std::error::Error for NotEncoded {}

/// Converts a text to UTF-8. Bytes that are none of the encoding are an error.
pub(super) struct Converted<R> {
    text: R,
    encoding: TextEncoding,
    decoder: Decoder,
    bytes: Box<[u8]>,
    /// The bytes of `bytes` that are not converted yet.
    from: usize,
    to: usize,
    /// Bytes of the text that were converted.
    count: u64,
    is_last: bool,
    is_done: bool,
    /// Converted bytes for which a caller had no room.
    rest: Vec<u8>,
}

impl<R: Read> Converted<R> {
    pub(super) fn new(text: R, encoding: TextEncoding) -> Converted<R> {
        Converted {
            text,
            encoding,
            decoder: encoding.0.new_decoder_with_bom_removal(),
            bytes: vec![0; BUFFER].into_boxed_slice(),
            from: 0,
            to: 0,
            count: 0,
            is_last: false,
            is_done: false,
            rest: Vec::new(),
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.from < self.to || self.is_last {
            return Ok(());
        }
        self.from = 0;
        self.to = self.text.read(&mut self.bytes)?;
        self.is_last = self.to == 0;
        Ok(())
    }

    /// Converts bytes that were read into `self.rest`.
    fn convert(&mut self) -> io::Result<()> {
        let bytes = &self.bytes[self.from..self.to];
        let most = self.decoder.max_utf8_buffer_length_without_replacement(bytes.len());
        let most = most.expect("a buffer of 16 kB has a length in UTF-8");
        self.rest.resize(most, 0);
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(bytes, &mut self.rest, self.is_last);
        self.rest.truncate(written);
        self.from += read;
        self.count += read as u64;
        if let DecoderResult::Malformed(..) = result {
            let fault = NotEncoded { encoding: self.encoding, byte: self.count };
            return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
        }
        self.is_done = self.is_last && matches!(result, DecoderResult::InputEmpty);
        Ok(())
    }
}

impl<R: Read> Read for Converted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.is_done && !into.is_empty() {
            self.fill()?;
            self.convert()?;
        }
        let count = self.rest.len().min(into.len());
        into[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], encoding: &str) -> io::Result<String> {
        let encoding = TextEncoding::parse(encoding).unwrap();
        let mut text = Vec::new();
        // In pieces, as a caller with little room reads it.
        let mut converted = Converted::new(bytes, encoding);
        let mut piece = [0; 3];
        loop {
            match converted.read(&mut piece)? {
                0 => return Ok(String::from_utf8(text).unwrap()),
                count => text.extend_from_slice(&piece[..count]),
            }
        }
    }

    #[test]
    fn texts_become_utf_8() {
        assert_eq!(read(b"caf\xe9,1\n", "latin1").unwrap(), "café,1\n");
        let utf_16: Vec<u8> = "\u{feff}é,𝄞\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&utf_16, "utf-16").unwrap(), "é,𝄞\n");
        let long = "ü".repeat(BUFFER);
        let bytes = encoding_rs::WINDOWS_1252.encode(&long).0.into_owned();
        assert_eq!(read(&bytes, "iso-8859-1").unwrap(), long);
        assert!(TextEncoding::parse("klingon").is_none());
    }

    #[test]
    fn bytes_of_another_encoding_are_an_error() {
        let error = read(b"a\xff\xffb", "shift_jis").unwrap_err().to_string();
        assert!(error.contains("are not Shift_JIS"), "{error}");
        assert!(read(b"\x00", "utf-16le").is_err());
    }
}
