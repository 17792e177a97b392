//! `ZstdFrames`: the data of a zstd file of several frames, one behind the other. Zeros behind a frame are padding, as
//! behind the members of other compressions: no frame begins with a zero.

use std::io::{self, BufRead, Read};

use tarflume_formats::frames::LargeWindow;
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode::{
    ZSTD_error_frameParameter_windowTooLarge, ZSTD_error_memory_allocation,
};
use zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer};

use super::members::pass_zeros;

/// The data of all frames.
pub struct ZstdFrames<R> {
    reader: R,
    decoder: DCtx<'static>,
    /// The next byte begins a frame, or is padding.
    between: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    /// Creates a reader of the frames in `reader`, whose windows may have 2^`window_log` bytes.
    ///
    /// # Errors
    /// Returns an error if memory is exhausted.
    pub fn new(reader: R, window_log: u32) -> io::Result<ZstdFrames<R>> {
        let mut decoder = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
        decoder.set_parameter(DParameter::WindowLogMax(window_log)).map_err(of_library)?;
        Ok(ZstdFrames { reader, decoder, between: true })
    }

    /// Returns the compressed bytes.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() {
            if self.between && !pass_zeros(&mut self.reader)? {
                break;
            }
            let bytes = self.reader.fill_buf()?;
            let at_end = bytes.is_empty();
            let mut from = InBuffer::around(bytes);
            let mut to = OutBuffer::around(into);
            let left = self.decoder.decompress_stream(&mut to, &mut from).map_err(of_library)?;
            let made = to.pos();
            let taken = from.pos();
            self.reader.consume(taken);
            self.between = left == 0;
            if made > 0 {
                return Ok(made);
            }
            if at_end && !self.between {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "incomplete frame"));
            }
        }
        Ok(0)
    }
}

/// Converts a code of the library, which is the negative number of its error.
fn of_library(code: zstd_safe::ErrorCode) -> io::Error {
    let number = code.wrapping_neg();
    if number == ZSTD_error_frameParameter_windowTooLarge as usize {
        return io::Error::new(io::ErrorKind::InvalidData, LargeWindow);
    }
    if number == ZSTD_error_memory_allocation as usize {
        return io::ErrorKind::OutOfMemory.into();
    }
    io::Error::other(zstd_safe::get_error_name(code))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn frame(data: &[u8]) -> Vec<u8> {
        zstd::encode_all(data, 3).unwrap()
    }

    fn read(packed: &[u8]) -> io::Result<Vec<u8>> {
        // Small buffers, so that frames and padding begin and end in all places of them.
        let mut frames = ZstdFrames::new(BufReader::with_capacity(7, packed), 27)?;
        let mut data = Vec::new();
        let mut piece = [0; 5];
        loop {
            match frames.read(&mut piece)? {
                0 => return Ok(data),
                bytes => data.extend_from_slice(&piece[..bytes]),
            }
        }
    }

    #[test]
    fn frames_follow_each_other_with_or_without_padding() {
        let skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
        let long: Vec<u8> = (0..200_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        let parts = [
            skippable,
            frame(b"one "),
            frame(b""),
            vec![0; 10],
            frame(b"two"),
            frame(&long),
            vec![0; 512],
        ];
        assert_eq!(read(&parts.concat()).unwrap(), [b"one two".as_slice(), &long].concat());
        assert_eq!(read(&frame(b"alone")).unwrap(), b"alone");
        // Zeros at the end of a frame are its own: a block of zeros, stored as they are.
        let header = [0x28, 0xb5, 0x2f, 0xfd, 0, 0];
        let block = [1 | 8 << 3, 0, 0]; // the last one, of eight bytes
        assert_eq!(read(&[&header[..], &block, &[0; 8]].concat()).unwrap(), [0; 8]);
    }

    #[test]
    fn missing_memory_is_no_damage() {
        let code = (ZSTD_error_memory_allocation as usize).wrapping_neg();
        assert_eq!(of_library(code).kind(), io::ErrorKind::OutOfMemory);
        let damage = of_library(ZSTD_error_memory_allocation as usize);
        assert_ne!(damage.kind(), io::ErrorKind::OutOfMemory);
    }

    #[test]
    fn damage_and_other_bytes_are_errors() {
        let good = frame(b"some data that is compressed");
        for cut in 1..good.len() {
            let error = read(&good[..cut]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{cut}");
        }
        // A window of 2^28 bytes, in front of a block that is stored.
        let wide = [0x28, 0xb5, 0x2f, 0xfd, 0, (28 - 10) << 3, 1 | 8 << 3, 0, 0, 7];
        assert!(LargeWindow::is(&read(&wide).unwrap_err()));
        let damaged = read(&[&good[..6], b"\xff\xff\xff\xff"].concat()).unwrap_err();
        assert!(!LargeWindow::is(&damaged), "{damaged}");
        assert!(read(&[&good[..], b"\0\0x"].concat()).is_err());
        assert!(read(&[&good[..], b"\0\0xabcdefg"].concat()).is_err());
    }
}
