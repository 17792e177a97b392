//! `Members`: the data of a compressed file of several members, one behind the other, as `cat a.gz b.gz` makes it.
//! Zeros behind a member are padding, as gzip takes them: tapes and `dd` fill up their last block.

use std::io::{self, BufRead, Read};

/// A decoder of one member, which reads no byte behind it.
pub trait MemberDecoder<R>: Read + Sized {
    /// Creates a decoder of the member that begins here.
    fn begin(reader: R) -> Self;
    /// Returns the compressed bytes.
    fn reader(&mut self) -> &mut R;
    /// Returns the compressed bytes.
    fn into_reader(self) -> R;
}

impl<R: BufRead> MemberDecoder<R> for flate2::bufread::GzDecoder<R> {
    fn begin(reader: R) -> Self {
        Self::new(reader)
    }

    fn reader(&mut self) -> &mut R {
        self.get_mut()
    }

    fn into_reader(self) -> R {
        self.into_inner()
    }
}

/// The data of all members.
#[derive(Debug)]
pub struct Members<R, D> {
    /// `None` only inside `begin_next`.
    decoder: Option<D>,
    over: bool,
    reader: std::marker::PhantomData<R>,
}

/// Gzip files.
pub type GzipMembers<R> = Members<R, flate2::bufread::GzDecoder<R>>;

impl<R: BufRead, D: MemberDecoder<R>> Members<R, D> {
    /// Creates a reader of the members in `reader`.
    pub fn new(reader: R) -> Members<R, D> {
        let decoder = Some(D::begin(reader));
        Members { decoder, over: false, reader: std::marker::PhantomData }
    }

    /// Returns the compressed bytes.
    pub fn get_mut(&mut self) -> &mut R {
        self.held().reader()
    }

    fn held(&mut self) -> &mut D {
        self.decoder.as_mut().expect("`begin_next` puts a decoder back")
    }

    /// Skips zeros, and begins the next member. False at the end of the data.
    fn begin_next(&mut self) -> io::Result<bool> {
        if !pass_zeros(self.get_mut())? {
            return Ok(false);
        }
        if let Some(decoder) = self.decoder.take() {
            self.decoder = Some(D::begin(decoder.into_reader()));
        }
        Ok(true)
    }
}

/// Skips zeros. False if the data ends.
pub(in crate::stream) fn pass_zeros(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let all = bytes.len();
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        reader.consume(zeros);
        if zeros < all {
            return Ok(true);
        }
    }
}

impl<R: BufRead, D: MemberDecoder<R>> Read for Members<R, D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() && !self.over {
            match self.held().read(into)? {
                0 => self.over = !self.begin_next()?,
                bytes => return Ok(bytes),
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(data).unwrap();
        out.finish().unwrap()
    }

    fn read(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        // A small buffer, so that members and padding begin and end in all places of it.
        let packed = BufReader::with_capacity(7, packed);
        GzipMembers::new(packed).read_to_end(&mut data).map(|_| data)
    }

    #[test]
    fn members_follow_each_other_with_or_without_padding() {
        let parts = [gzip(b"one "), gzip(b""), vec![0; 10], gzip(b"two"), vec![0; 512]];
        assert_eq!(read(&parts.concat()).unwrap(), b"one two");
        assert_eq!(read(&gzip(b"alone")).unwrap(), b"alone");
    }

    #[test]
    fn damage_and_other_bytes_are_errors() {
        let good = gzip(b"some data that is compressed");
        for cut in 1..good.len() {
            assert!(read(&good[..cut]).is_err(), "{cut}");
        }
        assert!(read(&[&good[..], b"\0\0x"].concat()).is_err());
        let mut flipped = good.clone();
        let checksum = flipped.len() - 8;
        flipped[checksum] ^= 1;
        assert!(read(&flipped).is_err());
    }
}
