//! The header of an npy file: no panic, no read past the input, and a parsed header can be written and
//! parsed again. The first byte decides whether a version 1 header is put before the input.

use tarflume_formats::npy::{Header, MAX_DIMS, needed, write_header};

/// Parses the input as the header of an npy file, and writes it back.
pub fn npy(input: &[u8]) {
    let Some((&mode, rest)) = input.split_first() else { return };
    let rest = &rest[..rest.len().min(usize::from(u16::MAX))];
    let bytes = match mode % 2 {
        0 => rest.to_vec(),
        _ => [b"\x93NUMPY\x01\x00", &(rest.len() as u16).to_le_bytes()[..], rest].concat(),
    };
    let Ok(header) = Header::parse(&bytes) else { return };
    assert!(header.data <= bytes.len() as u64 && header.shape().len() <= MAX_DIMS);
    assert_eq!(header.elements().checked_mul(header.dtype.size.into()), Some(header.data_bytes()));
    assert_eq!(needed(&bytes[..12]).expect("a head"), header.data as usize);
    assert!(Header::parse(&bytes[..header.data as usize - 1]).is_err());
    let mut again = Vec::new();
    write_header(&mut again, header.dtype, header.fortran, header.shape()).expect("few dimensions");
    let again = Header::parse(&again).expect("what was written");
    assert_eq!((again.dtype, again.fortran), (header.dtype, header.fortran));
    assert_eq!(again.shape(), header.shape());
}
