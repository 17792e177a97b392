//! The parts of a sample: from a block to the bytes of `ids.npy`, `cu_seqlens.npy`, `loss.npy` and
//! `json`, and from these parts to documents again.

use serde::Serialize;
use tarflume_formats::npy::{Dtype, Header, write_header};
use tarflume_formats::{ErrorKind, Result, shown};

use crate::encoding::prompt;
use crate::packing::Block;

/// The extension of the ids.
pub const IDS: &str = "ids.npy";
/// The extension of the places where documents begin.
pub const CU_SEQLENS: &str = "cu_seqlens.npy";
/// The extension of the places where ids have loss.
pub const LOSS: &str = "loss.npy";

/// The type of stored ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Ids up to 65,535.
    U16,
    /// Ids up to 4,294,967,295.
    U32,
}

impl Width {
    /// Returns the narrowest type for ids up to `most`.
    pub fn of(most: u32) -> Width {
        if most > u32::from(u16::MAX) { Width::U32 } else { Width::U16 }
    }

    /// Returns the largest id.
    pub fn most(self) -> u32 {
        match self {
            Width::U16 => u16::MAX.into(),
            Width::U32 => u32::MAX,
        }
    }

    /// Returns NumPy's name.
    pub fn word(self) -> &'static str {
        match self {
            Width::U16 => "uint16",
            Width::U32 => "uint32",
        }
    }

    /// Returns the bytes of an id.
    pub fn bytes(self) -> usize {
        match self {
            Width::U16 => 2,
            Width::U32 => 4,
        }
    }
}

/// How blocks are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Ids of a sample; `None` if each sample is one document, as long as it is, without [`CU_SEQLENS`].
    pub length: Option<usize>,
    /// The type of ids. All ids, and `pad`, are at most [`Width::most`].
    pub width: Width,
    /// The id that fills up a block.
    pub pad: u32,
    /// Whether the ids of a block have marks of those without loss. Samples have [`LOSS`] then.
    pub has_marks: bool,
}

/// The bytes of a sample's parts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Parts {
    /// [`IDS`].
    pub ids: Vec<u8>,
    /// [`CU_SEQLENS`]; empty if there is no such part.
    pub cu_seqlens: Vec<u8>,
    /// [`LOSS`]; empty if there is no such part.
    pub loss: Vec<u8>,
    /// `json`.
    pub json: Vec<u8>,
}

#[derive(Serialize)]
struct Described<'a> {
    documents: &'a [String],
    tokens: usize,
}

/// Writes the parts of a block. `documents` has a name for each of its pieces.
///
/// # Errors
/// Returns an error if the block is longer than the layout or than `i32::MAX`.
pub fn write(block: &Block, documents: &[String], layout: &Layout, into: &mut Parts) -> Result<()> {
    let tokens = block.tokens();
    let length = layout.length.unwrap_or(tokens);
    if tokens > length || i32::try_from(tokens).is_err() {
        let text = format!("a block of {tokens} ids does not fit {length} ids");
        return Err(tarflume_formats::Error::new(ErrorKind::Limit, text));
    }
    let bytes = layout.width.bytes();
    into.ids.clear();
    let dtype = Dtype { kind: 'u', size: bytes as u32, little: true };
    write_header(&mut into.ids, dtype, false, &[length as u64])?;
    let padding = std::iter::repeat_n(layout.pad, length - tokens);
    for id in ids(block) {
        let id = if layout.has_marks { prompt::id_of(id) } else { id };
        into.ids.extend_from_slice(&id.to_le_bytes()[..bytes]);
    }
    padding.for_each(|id| into.ids.extend_from_slice(&id.to_le_bytes()[..bytes]));
    into.cu_seqlens.clear();
    if layout.length.is_some() {
        write_places(
            block.cu_seqlens().into_iter().map(|begin| begin as u32),
            &mut into.cu_seqlens,
        )?;
    }
    into.loss.clear();
    if layout.has_marks {
        write_places(prompt::runs(ids(block)).into_iter(), &mut into.loss)?;
    }
    into.json = shown::json(&Described { documents, tokens }).into_bytes();
    Ok(())
}

/// Returns the ids of a block, which may have marks.
fn ids(block: &Block) -> impl Iterator<Item = u32> {
    block.pieces.iter().flat_map(|piece| piece.ids.iter().copied())
}

/// Writes places of ids as an array.
fn write_places(places: impl ExactSizeIterator<Item = u32>, into: &mut Vec<u8>) -> Result<()> {
    let dtype = Dtype { kind: 'i', size: 4, little: true };
    write_header(into, dtype, false, &[places.len() as u64])?;
    places.for_each(|place| into.extend_from_slice(&place.to_le_bytes()));
    Ok(())
}

/// Returns the ids of each document in a sample, from its parts: what an export needs.
///
/// # Errors
/// Returns an error if a part is no array of the right type, or if the two disagree.
pub fn documents(ids: &[u8], cu_seqlens: &[u8]) -> Result<Vec<Vec<u32>>> {
    let ids = numbers(ids, 'u')?;
    let begins = numbers(cu_seqlens, 'i')?;
    if begins.first() != Some(&0) || !begins.windows(2).all(|pair| is_inside(pair, ids.len())) {
        let text = "cu_seqlens does not begin at 0, decreases, or is larger than the number of ids";
        return Err(tarflume_formats::Error::new(ErrorKind::WrongFormat, text));
    }
    Ok(begins.windows(2).map(|pair| ids[pair[0] as usize..pair[1] as usize].to_vec()).collect())
}

/// Returns true if a document from the first to the second of a pair is inside of `count` ids.
fn is_inside(pair: &[u32], count: usize) -> bool {
    pair[0] <= pair[1] && pair[1] as usize <= count
}

/// Returns the elements of a one-dimensional array of whole numbers without sign.
///
/// # Errors
/// Returns an error if the bytes are no such array.
pub(crate) fn numbers(npy: &[u8], kind: char) -> Result<Vec<u32>> {
    let header = Header::parse(npy)?;
    let data = npy.get(header.data as usize..).unwrap_or_default();
    let width = header.dtype.size as usize;
    let fits = header.dtype.kind == kind
        && matches!(width, 2 | 4)
        && header.dtype.little
        && header.shape().len() == 1
        && header.data_bytes() == data.len() as u64;
    if !fits {
        let text = format!(
            "expected a one-dimensional array of '{kind}2' or '{kind}4' elements, found {} in {} bytes",
            header.dtype,
            data.len()
        );
        return Err(tarflume_formats::Error::new(ErrorKind::WrongFormat, text));
    }
    Ok(data.chunks_exact(width).map(little_endian).collect())
}

/// Returns the number in up to four little-endian bytes.
pub(crate) fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packing::{DocumentId, Piece};

    fn piece(number: u64, ids: &[u32]) -> Piece {
        Piece { document: DocumentId { source: 0, number }, from: 0, ids: ids.into() }
    }

    fn block() -> Block {
        Block { pieces: vec![piece(3, &[1, 2, 3]), piece(5, &[9])] }
    }

    #[test]
    fn parts_are_arrays_as_numpy_writes_them() {
        let mut parts = Parts::default();
        let layout = Layout { length: Some(6), width: Width::U16, pad: 7, has_marks: false };
        let names = ["a#3".to_string(), "b\u{202e}#5".into()];
        write(&block(), &names, &layout, &mut parts).unwrap();
        assert_eq!(parts.ids.len(), 128 + 12);
        assert!(parts.ids.starts_with(b"\x93NUMPY\x01\x00"));
        assert_eq!(parts.ids[128..], [1, 0, 2, 0, 3, 0, 9, 0, 7, 0, 7, 0]);
        assert_eq!(parts.cu_seqlens[128..], [0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
        let json = String::from_utf8(parts.json.clone()).unwrap();
        assert_eq!(json, r#"{"documents":["a#3","b\u202e#5"],"tokens":4}"#);
        assert_eq!(documents(&parts.ids, &parts.cu_seqlens).unwrap(), [vec![1, 2, 3], vec![9]]);
        let wide = Layout { length: Some(4), width: Width::U32, ..layout };
        write(&block(), &names, &wide, &mut parts).unwrap();
        assert_eq!(parts.ids[128..136], [1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(documents(&parts.ids, &parts.cu_seqlens).unwrap(), [vec![1, 2, 3], vec![9]]);
        let short = Layout { length: Some(3), ..wide };
        assert!(write(&block(), &names, &short, &mut parts).is_err());
    }

    #[test]
    fn rows_have_their_length_and_places_of_loss() {
        let mut parts = Parts::default();
        let layout = Layout { length: None, width: Width::U16, pad: 7, has_marks: true };
        let mut ids = [1, 2, 3, 4, 5];
        for at in [0, 3] {
            ids[at] = prompt::without_loss(ids[at]).unwrap();
        }
        let block = Block { pieces: vec![piece(3, &ids)] };
        write(&block, &["a#3".to_string()], &layout, &mut parts).unwrap();
        assert_eq!(parts.ids[128..], [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
        assert_eq!(numbers(&parts.loss, 'i').unwrap(), [1, 3, 4, 5]);
        assert!(parts.cu_seqlens.is_empty());
    }

    #[test]
    fn parts_that_disagree_are_refused() {
        fn array(kind: char, values: &[u32]) -> Vec<u8> {
            let mut bytes = Vec::new();
            let dtype = Dtype { kind, size: 4, little: true };
            write_header(&mut bytes, dtype, false, &[values.len() as u64]).unwrap();
            values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            bytes
        }

        let ids = array('u', &[1, 2, 3]);
        for begins in [&[][..], &[1, 3], &[0, 4], &[0, 2, 1], &[0, u32::MAX]] {
            assert!(documents(&ids, &array('i', begins)).is_err(), "{begins:?}");
        }
        assert!(documents(&ids, &array('f', &[0, 3])).is_err());
        assert!(documents(&ids[..ids.len() - 1], &array('i', &[0, 3])).is_err());
        assert_eq!(documents(&ids, &array('i', &[0, 0, 2])).unwrap(), [vec![], vec![1, 2]]);
    }
}
