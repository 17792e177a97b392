//! The tensors of webdataset, `ten`: chunks of a magic number, a length, and bytes that are padded to 64; a header chunk
//! before each chunk of data.

use tarflume_formats::Result;

use super::Looked;
use super::cursor::{Cursor, fault};

const MAGIC: &[u8; 8] = b"~TenBin~";
/// Chunks are padded to a multiple of these bytes.
const PADDING: usize = 64;
/// Numbers of a header before its dimensions: the type, a name, the number of dimensions.
const BEFORE: usize = 3;

/// Checks chunks, and the length of each array.
///
/// # Errors
/// Returns the first fault.
pub(super) fn check(bytes: &[u8]) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    if cursor.is_done() {
        return Err(fault(0, "it has no bytes"));
    }
    while !cursor.is_done() {
        let at = cursor.at();
        let header = chunk(&mut cursor, "a header")?;
        let needed = array_bytes(header, at)?;
        let at = cursor.at();
        if cursor.is_done() {
            return Err(fault(at, "it ends after the header of an array"));
        }
        let data = chunk(&mut cursor, "the data of an array")?.len() as u64;
        if data != needed {
            let text = format!("the shape of an array needs {needed} bytes, its chunk has {data}");
            return Err(fault(at, text));
        }
    }
    Ok(Looked::Whole)
}

/// Reads a chunk. The padding of the last one may be missing.
fn chunk<'a>(cursor: &mut Cursor<'a>, what: &str) -> Result<&'a [u8]> {
    let at = cursor.at();
    if cursor.array::<8>("the magic number of a chunk")? != *MAGIC {
        return Err(fault(at, "a chunk does not begin with ~TenBin~"));
    }
    let length = i64::from_le_bytes(cursor.array("the length of a chunk")?);
    let Ok(length) = u64::try_from(length) else {
        return Err(fault(at + 8, format!("a chunk states {length} bytes")));
    };
    let data = cursor.take(length, what)?;
    let padding = data.len().next_multiple_of(PADDING) - data.len();
    cursor.take(padding.min(cursor.left()) as u64, "padding")?;
    Ok(data)
}

/// Returns the bytes of the array that a header describes.
fn array_bytes(header: &[u8], at: usize) -> Result<u64> {
    let numbers: Vec<i64> =
        header.as_chunks::<8>().0.iter().map(|number| i64::from_le_bytes(*number)).collect();
    let Some((first, dims)) = numbers.split_at_checked(BEFORE) else {
        return Err(fault(at, format!("the header of an array has {} bytes", header.len())));
    };
    if !header.len().is_multiple_of(8) || usize::try_from(first[2]) != Ok(dims.len()) {
        let text = format!("a header states {} dimensions and lists {}", first[2], dims.len());
        return Err(fault(at, text));
    }
    let name = first[0].to_le_bytes();
    let size = match &name {
        b"i1\0\0\0\0\0\0" | b"u1\0\0\0\0\0\0" => 1,
        b"f2\0\0\0\0\0\0" | b"i2\0\0\0\0\0\0" | b"u2\0\0\0\0\0\0" => 2,
        b"f4\0\0\0\0\0\0" | b"i4\0\0\0\0\0\0" | b"u4\0\0\0\0\0\0" => 4,
        b"f8\0\0\0\0\0\0" | b"i8\0\0\0\0\0\0" | b"u8\0\0\0\0\0\0" => 8,
        _ => {
            let name = tarflume_formats::name::shown(&name);
            return Err(fault(at, format!("'{name}' is no type of an array in this format")));
        }
    };
    let product = dims.iter().try_fold(size, |product: u64, &dim| {
        u64::try_from(dim).ok().and_then(|dim| product.checked_mul(dim))
    });
    product.ok_or_else(|| fault(at, "a header states a shape that no array has"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(out: &mut Vec<u8>, data: &[u8]) {
        out.extend(MAGIC);
        out.extend((data.len() as i64).to_le_bytes());
        out.extend(data);
        out.resize(out.len() + data.len().next_multiple_of(PADDING) - data.len(), 0);
    }

    fn tensor(kind: &[u8; 8], dims: &[i64], data: usize) -> Vec<u8> {
        let mut header = kind.to_vec();
        header.extend([0; 8]);
        header.extend((dims.len() as i64).to_le_bytes());
        dims.iter().for_each(|dim| header.extend(dim.to_le_bytes()));
        let mut out = Vec::new();
        put(&mut out, &header);
        put(&mut out, &vec![9; data]);
        out
    }

    #[test]
    fn arrays_have_the_bytes_of_their_shapes() {
        let whole = tensor(b"f4\0\0\0\0\0\0", &[2, 3], 24);
        assert_eq!(check(&whole).unwrap(), Looked::Whole);
        assert_eq!(check(&[whole.clone(), whole.clone()].concat()).unwrap(), Looked::Whole);
        // The last padding may be missing, nothing else.
        let needed = whole.len() - 40;
        for length in 0..whole.len() {
            assert_eq!(check(&whole[..length]).is_ok(), length >= needed, "cut to {length}");
        }
        for bad in [
            tensor(b"f4\0\0\0\0\0\0", &[2, 3], 25),
            tensor(b"q9\0\0\0\0\0\0", &[2, 3], 24),
            tensor(b"f4\0\0\0\0\0\0", &[-2, 3], 24),
            tensor(b"f8\0\0\0\0\0\0", &[i64::MAX, i64::MAX], 24),
        ] {
            assert!(check(&bad).is_err());
        }
    }
}
