//! What follows the end marker of a tar, if it is more than zeros: another tar, or bytes of no tar.

use crate::errors::error::{Error, ErrorKind};
use crate::message;
use crate::message::Name;
use crate::parts::content::Content;
use crate::tar::header::{BLOCK, Header};

/// Returns the error for bytes behind the end marker at `end`. `at` is the first byte that is not
/// zero; `block` are the bytes from the start of its block on, of which 512 are examined.
///
/// Bytes are counted in the tar, after decompression.
pub fn behind_end(end: u64, at: u64, block: &[u8]) -> Error {
    let place = at / BLOCK * BLOCK;
    if block.first_chunk().is_some_and(|block| Header::parse(block).is_ok()) {
        let text = message!(
            "another tar begins here, behind the end marker at byte {end}, where readers of tars stop: \
             read on with {ignore_zeros}, or keep joined tars as separate files";
            ignore_zeros = Name::IgnoreZeros.on()
        );
        return Error::new(ErrorKind::AfterEnd, text).with_byte(place);
    }
    let zeros = block.iter().take_while(|&&byte| byte == 0).count();
    let what =
        Content::of(&block[zeros..]).map_or(String::new(), |found| format!(" ({})", found.name));
    let text = message!(
        "bytes of no tar{what} follow the end marker at byte {end}, where readers of tars stop, and \
         {ignore_zeros} cannot read them on; the tar is whole in its first {} bytes, which `head -c {0}` copies",
        end + 2 * BLOCK;
        ignore_zeros = Name::IgnoreZeros.on()
    );
    Error::new(ErrorKind::AfterEnd, text).with_byte(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tar::write_header;

    #[test]
    fn another_tar_and_other_bytes_are_told_apart() {
        let mut header = Vec::new();
        write_header(&mut header, b"a.jpg", 3).expect("a short name");
        let error = behind_end(1024, 2048, &header);
        assert_eq!((error.kind(), error.place().byte), (ErrorKind::AfterEnd, Some(2048)));
        assert!(error.text().contains("another tar begins here"), "{error}");
        assert!(error.text().contains("--ignore-zeros"), "{error}");
        let error = behind_end(1024, 2051, b"\0\0\0\x1f\x8b\x08");
        assert_eq!(error.place().byte, Some(2051));
        assert!(error.text().contains("bytes of no tar (gzip data)"), "{error}");
        assert!(error.text().contains("`head -c 2048`"), "{error}");
        assert!(behind_end(1024, 2048, b"x").text().contains("bytes of no tar follow"));
    }
}
