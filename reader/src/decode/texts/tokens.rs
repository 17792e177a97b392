//! `Tokens`: the columns that a language model needs, from a block of token ids and the places where documents begin in
//! it.
//!
//! Each column is computed from the parts into its row, without memory of its own.

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::npy::{Header, MAX_DIMS};
use tarflume_types::{DType, Element, Error, ErrorKind, Result, Row, RowShape};

use crate::decode::{Decode, Sample, Scratch};

/// The label that losses leave out.
const IGNORED: i64 = -100;

/// The columns of token blocks, such as `pack tokens` writes them: `ids.npy` with up to `length` ids, and
/// `cu_seqlens.npy` with the first id of each document and the number of ids without padding. A sample without the
/// second part is one document without padding.
///
/// Each method is a column of `[length]` elements, filled up behind the ids.
///
/// ```
/// use tarflume::{DType, Decode, RowShape, Tokens};
///
/// let tokens = Tokens::new(2048).padding(1);
/// let columns = [("input_ids", tokens.ids()), ("labels", tokens.labels()), ("position_ids", tokens.position_ids())];
/// assert_eq!(columns[1].1.shape(), RowShape::Fixed(DType::I64, vec![2048]));
/// ```
#[derive(Debug, Clone)]
pub struct Tokens {
    ids: String,
    cu_seqlens: String,
    length: usize,
    padding: i64,
    dtype: DType,
}

impl Tokens {
    /// Columns of `length` elements of the type `i64`, padded with 0.
    pub fn new(length: usize) -> Tokens {
        let ids = "ids.npy".into();
        let cu_seqlens = "cu_seqlens.npy".into();
        Tokens { ids, cu_seqlens, length, padding: 0, dtype: DType::I64 }
    }

    /// Sets the extensions of the ids and of the places where documents begin.
    #[must_use]
    pub fn parts(mut self, ids: impl Into<String>, cu_seqlens: impl Into<String>) -> Tokens {
        (self.ids, self.cu_seqlens) = (ids.into(), cu_seqlens.into());
        self
    }

    /// Sets the id behind the last one of a shorter array. Ids that are stored stay, also if they are padding.
    #[must_use]
    pub fn padding(mut self, id: i64) -> Tokens {
        self.padding = id;
        self
    }

    /// Sets the type of the elements, a whole number or `bool`.
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Tokens {
        self.dtype = dtype;
        self
    }

    /// The ids.
    pub fn ids(&self) -> TokenColumn {
        self.column(TokenView::Ids)
    }

    /// The ids as labels of a causal model that shifts them itself, as Hugging Face's do: -100 in the padding and at
    /// the first id of each document, which no id before it predicts.
    pub fn labels(&self) -> TokenColumn {
        self.column(TokenView::Labels)
    }

    /// The number of each id in its document; 0 in the padding.
    pub fn position_ids(&self) -> TokenColumn {
        self.column(TokenView::Positions)
    }

    /// The number of the document of each id, from 1; 0 in the padding.
    pub fn segment_ids(&self) -> TokenColumn {
        self.column(TokenView::Segments)
    }

    /// 1 for ids, 0 for padding. It does not keep the documents of a block apart: position ids and segment ids do.
    pub fn mask(&self) -> TokenColumn {
        self.column(TokenView::Mask)
    }

    fn column(&self, kind: TokenView) -> TokenColumn {
        TokenColumn { tokens: self.clone(), kind }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenView {
    Ids,
    Labels,
    Positions,
    Segments,
    Mask,
}

/// One column of [`Tokens`].
#[derive(Debug, Clone)]
pub struct TokenColumn {
    tokens: Tokens,
    kind: TokenView,
}

/// Whole numbers in an npy file of one dimension.
struct Numbers<'a> {
    data: &'a [u8],
    width: usize,
    signed: bool,
}

impl<'a> Numbers<'a> {
    fn parse(bytes: &'a [u8], ext: &str) -> Result<Numbers<'a>> {
        let head = Header::parse(bytes).map_err(|e| {
            let at = e.place().byte.unwrap_or(0);
            fault(ext, message!("{told}, at byte {at} of the part"; told = e.message()))
        })?;
        let data = &bytes[head.data as usize..];
        let width = head.dtype.size as usize;
        let known = matches!(head.dtype.kind, 'u' | 'i') && head.dtype.little;
        if !known || head.shape().len() != 1 || width > 8 {
            let dtype = head.dtype;
            let shape = &head.shape()[..head.shape().len().min(MAX_DIMS)];
            let text = format!(
                "expected little-endian integers of one dimension, found {dtype} {shape:?}"
            );
            return Err(fault(ext, text.into()));
        }
        if head.data_bytes() != data.len() as u64 {
            let declared = head.data_bytes();
            let found = data.len();
            let text = message!("its header declares {declared} bytes of data, {found} follow");
            return Err(fault(ext, text));
        }
        Ok(Numbers { data, width, signed: head.dtype.kind == 'i' })
    }

    fn len(&self) -> usize {
        self.data.len() / self.width
    }

    /// Returns a number; one of `u64` that `i64` cannot hold becomes negative.
    fn get(&self, at: usize) -> i64 {
        let bytes = &self.data[at * self.width..(at + 1) * self.width];
        let value = bytes.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte));
        let spare = 64 - 8 * self.width as u32;
        if self.signed { (value << spare).cast_signed() >> spare } else { value.cast_signed() }
    }
}

/// The error about a part with this extension.
fn fault(ext: &str, text: Message) -> Error {
    Error::new(ErrorKind::Decode, message!("{ext}: {text}"; text = text))
}

/// Where documents begin and end in a block.
struct Bounds<'a> {
    numbers: Option<Numbers<'a>>,
    /// The number of ids without padding.
    used: usize,
}

impl<'a> Bounds<'a> {
    /// Checks that the bounds begin at 0, do not decrease and stay inside `ids`.
    fn of(numbers: Option<Numbers<'a>>, ids: usize, ext: &str) -> Result<Bounds<'a>> {
        let Some(numbers) = numbers else { return Ok(Bounds { numbers: None, used: ids }) };
        let mut last = 0;
        for at in 0..numbers.len() {
            let bound = numbers.get(at);
            if bound < last || bound > ids as i64 || (at == 0 && bound != 0) {
                let text = format!(
                    "{ext}: element {at} is {bound}; bounds begin at 0, do not decrease and are at most {ids}"
                );
                return Err(Error::new(ErrorKind::Decode, text));
            }
            last = bound;
        }
        Ok(Bounds { numbers: Some(numbers), used: last as usize })
    }

    /// Returns the end of document `number`.
    fn end(&self, number: usize) -> usize {
        match &self.numbers {
            Some(numbers) if number + 1 < numbers.len() => numbers.get(number + 1) as usize,
            _ => self.used,
        }
    }
}

impl TokenColumn {
    /// Returns the elements of a row.
    fn values<'a>(
        &self,
        ids: &'a Numbers<'a>,
        bounds: &'a Bounds<'a>,
    ) -> impl Iterator<Item = i64> {
        let kind = self.kind;
        let padding = self.tokens.padding;
        let mut document = 0;
        let mut begin = 0;
        let mut end = bounds.end(0);
        (0..self.tokens.length).map(move |at| {
            while at >= end && end < bounds.used {
                document += 1;
                (begin, end) = (end, bounds.end(document));
            }
            let inside = at < bounds.used;
            match kind {
                TokenView::Ids if at < ids.len() => ids.get(at),
                TokenView::Ids => padding,
                TokenView::Labels if inside && at > begin => ids.get(at),
                TokenView::Labels => IGNORED,
                TokenView::Positions if inside => (at - begin) as i64,
                TokenView::Segments if inside => document as i64 + 1,
                TokenView::Positions | TokenView::Segments => 0,
                TokenView::Mask => i64::from(inside),
            }
        })
    }

    /// Returns whether the type of elements can hold the values; the text names those that can.
    fn fits(&self) -> Result<()> {
        let needed = match (self.kind, self.tokens.dtype) {
            (_, DType::I64 | DType::I32) | (TokenView::Mask, DType::Bool | DType::U8) => {
                return Ok(());
            }
            (TokenView::Ids, DType::U16 | DType::U32) => return Ok(()),
            (TokenView::Ids, _) => "int64, int32, uint32 or uint16",
            (TokenView::Mask, _) => "int64, int32, uint8 or bool",
            _ => "int64 or int32",
        };
        let found = self.tokens.dtype;
        Err(Error::usage(format!("this column of tokens is {needed}, not {found}")))
    }
}

/// Writes whole numbers as elements of type `T`.
fn write<T: Element + TryFrom<i64>>(
    row: &mut Row<'_>,
    values: impl Iterator<Item = i64>,
) -> Result<()> {
    for (to, value) in row.elements::<T>()?.iter_mut().zip(values) {
        *to = T::try_from(value).map_err(|_| {
            let text = format!("the id {value} is outside the range of {}", T::DTYPE);
            Error::new(ErrorKind::Decode, text)
        })?;
    }
    Ok(())
}

impl Decode for TokenColumn {
    fn parts(&self) -> Vec<String> {
        match self.kind {
            TokenView::Ids => vec![self.tokens.ids.clone()],
            _ => vec![self.tokens.ids.clone(), self.tokens.cu_seqlens.clone()],
        }
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(self.tokens.dtype, vec![self.tokens.length])
    }

    fn optional(&self) -> bool {
        self.kind != TokenView::Ids
    }

    fn validate(&self) -> Result<()> {
        if self.tokens.length == 0 {
            return Err(Error::usage("a column of tokens needs a length of 1 or more"));
        }
        self.fits()
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let Tokens { ids: ext, cu_seqlens, length, .. } = &self.tokens;
        if sample.ext(0).is_empty() {
            return Err(Error::new(ErrorKind::Decode, format!("the sample has no part {ext}")));
        }
        let ids = Numbers::parse(sample.part(0), ext)?;
        if ids.len() > *length {
            let text = format!(
                "{ext}: {} ids are more than {length}; give the length of the data",
                ids.len()
            );
            return Err(Error::new(ErrorKind::Decode, text));
        }
        let has_bounds = self.kind != TokenView::Ids && !sample.ext(1).is_empty();
        let bounds = has_bounds.then(|| Numbers::parse(sample.part(1), cu_seqlens)).transpose()?;
        let bounds = Bounds::of(bounds, ids.len(), cu_seqlens)?;
        let values = self.values(&ids, &bounds);
        match self.tokens.dtype {
            DType::I64 => write::<i64>(&mut row, values),
            DType::I32 => write::<i32>(&mut row, values),
            DType::U32 => write::<u32>(&mut row, values),
            DType::U16 => write::<u16>(&mut row, values),
            DType::U8 | DType::Bool => write::<u8>(&mut row, values),
            _ => self.fits(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tarflume_formats::npy::{Dtype, write_header};

    use super::*;

    fn array(kind: char, size: u32, values: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let dtype = Dtype { kind, size, little: true };
        write_header(&mut bytes, dtype, false, &[values.len() as u64]).unwrap();
        for value in values {
            bytes.extend_from_slice(&value.to_le_bytes()[..size as usize]);
        }
        bytes
    }

    fn decode(column: &TokenColumn, ids: &[u8], bounds: Option<&[u8]>) -> Result<Vec<u8>, String> {
        column.validate().map_err(|e| e.to_string())?;
        let parts = [("ids.npy", ids), bounds.map_or(("", &[][..]), |b| ("cu_seqlens.npy", b))];
        let parts = &parts[..column.parts().len()];
        let sample = Sample { key: b"a", parts, ..Sample::default() };
        // Of `u64`, so that elements of any type are aligned.
        let bytes = column.shape().bytes().unwrap();
        let mut row = vec![u64::MAX; bytes.div_ceil(8)];
        let row: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut row)[..bytes];
        let decoded = column.decode(&sample, Row::fixed(row), &mut Scratch::default());
        decoded.map(|()| row.to_vec()).map_err(|e| e.to_string())
    }

    fn rows(column: &TokenColumn, ids: &[u8], bounds: Option<&[u8]>) -> Vec<i64> {
        bytemuck::pod_collect_to_vec(&decode(column, ids, bounds).unwrap())
    }

    #[test]
    fn columns_follow_the_documents() {
        let ids = array('u', 2, &[5, 6, 7, 65_535, 9, 1]);
        let bounds = array('i', 4, &[0, 3, 3, 5]);
        let tokens = Tokens::new(7).padding(2);
        for (column, row) in [
            (tokens.ids(), [5, 6, 7, 65_535, 9, 1, 2]),
            (tokens.labels(), [-100, 6, 7, -100, 9, -100, -100]),
            (tokens.position_ids(), [0, 1, 2, 0, 1, 0, 0]),
            (tokens.segment_ids(), [1, 1, 1, 3, 3, 0, 0]),
            (tokens.mask(), [1, 1, 1, 1, 1, 0, 0]),
        ] {
            assert_eq!(rows(&column, &ids, Some(&bounds)), row, "{:?}", column.kind);
        }
        let narrow = tokens.dtype(DType::Bool).mask();
        assert_eq!(decode(&narrow, &ids, Some(&bounds)).unwrap(), [1, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn a_sample_without_bounds_is_one_document() {
        let ids = array('i', 8, &[5, 6]);
        let tokens = Tokens::new(3);
        assert_eq!(rows(&tokens.labels(), &ids, None), [-100, 6, -100]);
        assert_eq!(rows(&tokens.mask(), &ids, None), [1, 1, 0]);
        let none = array('i', 4, &[]);
        assert_eq!(rows(&tokens.mask(), &ids, Some(&none)), [0, 0, 0]);
    }

    #[test]
    fn wrong_parts_are_errors_with_their_extension() {
        let tokens = Tokens::new(3);
        let ids = array('u', 4, &[5, 6, 70_000]);
        for (column, ids, bounds, expected) in [
            (tokens.ids(), array('f', 4, &[1]), None, "ids.npy: expected little-endian integers"),
            (tokens.ids(), array('u', 2, &[1; 4]), None, "4 ids are more than 3"),
            (
                tokens.ids(),
                ids[..ids.len() - 1].to_vec(),
                None,
                "declares 12 bytes of data, 11 follow",
            ),
            (tokens.ids(), b"no".to_vec(), None, "ids.npy: "),
            (
                tokens.mask(),
                ids.clone(),
                Some(array('i', 4, &[1, 3])),
                "cu_seqlens.npy: element 0 is 1",
            ),
            (tokens.mask(), ids.clone(), Some(array('i', 4, &[0, 4])), "element 1 is 4"),
            (tokens.mask(), ids.clone(), Some(array('i', 4, &[0, 2, 1])), "element 2 is 1"),
            (tokens.mask(), ids.clone(), Some(array('u', 8, &[0, -1])), "element 1 is -1"),
            (
                tokens.clone().dtype(DType::U16).ids(),
                ids.clone(),
                None,
                "70000 is outside the range of uint16",
            ),
            (
                tokens.clone().dtype(DType::U16).labels(),
                ids.clone(),
                None,
                "int64 or int32, not uint16",
            ),
            (Tokens::new(0).ids(), ids.clone(), None, "a length of 1 or more"),
        ] {
            let error = decode(&column, &ids, bounds.as_deref()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
