//! `Tokens`: the columns that a language model needs, from a block of token ids and the places where documents begin in
//! it.
//!
//! Each column is computed from the parts into its row, without memory of its own.

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::npy::{Header, MAX_DIMS};
use tarflume_types::{DType, Element, Error, ErrorKind, PaddedRows, Result, Row, RowShape};

use crate::decode::{Decode, Sample, Scratch};

/// The label that losses leave out.
const IGNORED: i64 = -100;

/// The columns of token blocks, such as `pack tokens` writes them: `ids.npy` with up to `length` ids, and
/// `cu_seqlens.npy` with the first id of each document and the number of ids without padding. A sample without the
/// second part is one document without padding. `loss.npy`, if it is there, has the places of ids with loss, a begin and
/// an end for each run of them, as `pack tokens --mask-prompt` writes it.
///
/// Each method is a column of `[length]` elements, filled up behind the ids. With [`Tokens::pad_to_longest`] it is as long
/// as the longest row of its batch.
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
    loss: String,
    length: usize,
    padding: i64,
    dtype: DType,
    /// Of the width of a batch; `None` if all rows have `length` elements.
    multiple_of: Option<usize>,
}

impl Tokens {
    /// Columns of `length` elements of the type `i64`, padded with 0.
    pub fn new(length: usize) -> Tokens {
        let ids = "ids.npy".into();
        let cu_seqlens = "cu_seqlens.npy".into();
        let loss = "loss.npy".into();
        let dtype = DType::I64;
        Tokens { ids, cu_seqlens, loss, length, padding: 0, dtype, multiple_of: None }
    }

    /// Sets the extensions of the ids and of the places where documents begin.
    #[must_use]
    pub fn parts(mut self, ids: impl Into<String>, cu_seqlens: impl Into<String>) -> Tokens {
        (self.ids, self.cu_seqlens) = (ids.into(), cu_seqlens.into());
        self
    }

    /// Sets the extension of the places of ids with loss. All ids have loss in samples without this part.
    #[must_use]
    pub fn loss(mut self, loss: impl Into<String>) -> Tokens {
        self.loss = loss.into();
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

    /// Fills rows up to the longest one of their batch, rounded up to a multiple of `multiple_of`, and not to `length`, which
    /// stays the limit of a row.
    ///
    /// ```
    /// use tarflume::{Decode, RowShape, Tokens};
    ///
    /// let tokens = Tokens::new(2048).pad_to_longest(8);
    /// assert!(matches!(tokens.labels().shape(), RowShape::Padded(rows) if rows.value == -100 && rows.most == 2048));
    /// ```
    #[must_use]
    pub fn pad_to_longest(mut self, multiple_of: usize) -> Tokens {
        self.multiple_of = Some(multiple_of);
        self
    }

    /// The ids.
    pub fn ids(&self) -> TokenColumn {
        self.column(TokenView::Ids)
    }

    /// The ids as labels of a causal model that shifts them itself, as Hugging Face's do: -100 in the padding, at
    /// the first id of each document, which no id before it predicts, and at ids without loss, such as prompts.
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

/// The runs of ids with loss.
struct Runs<'a> {
    /// A begin and an end for each; `None` if all ids have loss.
    bounds: Option<Numbers<'a>>,
}

impl<'a> Runs<'a> {
    /// Checks that the runs are in order and stay inside `ids`.
    fn of(bounds: Option<Numbers<'a>>, ids: usize, ext: &str) -> Result<Runs<'a>> {
        let Some(numbers) = bounds else { return Ok(Runs { bounds: None }) };
        let mut last = 0;
        for at in 0..numbers.len() {
            let bound = numbers.get(at);
            if bound < last || bound > ids as i64 {
                let text = format!(
                    "{ext}: element {at} is {bound}; the places of loss do not decrease and are at most {ids}"
                );
                return Err(Error::new(ErrorKind::Decode, text));
            }
            last = bound;
        }
        if numbers.len() % 2 == 1 {
            let text = format!("{ext}: {} elements, and each run of loss has two", numbers.len());
            return Err(Error::new(ErrorKind::Decode, text));
        }
        Ok(Runs { bounds: Some(numbers) })
    }

    /// Returns whether an id has loss. `passed` is the number of bounds before it, which grows.
    fn have(&self, at: usize, passed: &mut usize) -> bool {
        let Some(bounds) = &self.bounds else { return true };
        while *passed < bounds.len() && bounds.get(*passed) <= at as i64 {
            *passed += 1;
        }
        *passed % 2 == 1
    }
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
    /// Returns what is behind the ids of a row.
    fn fill(&self) -> i64 {
        match self.kind {
            TokenView::Ids => self.tokens.padding,
            TokenView::Labels => IGNORED,
            TokenView::Positions | TokenView::Segments | TokenView::Mask => 0,
        }
    }

    /// Returns the first `count` elements of a row.
    fn values<'a>(
        &self,
        count: usize,
        ids: &'a Numbers<'a>,
        bounds: &'a Bounds<'a>,
        runs: &'a Runs<'a>,
    ) -> impl Iterator<Item = i64> {
        let kind = self.kind;
        let fill = self.fill();
        let mut document = 0;
        let mut begin = 0;
        let mut end = bounds.end(0);
        let mut passed = 0;
        (0..count).map(move |at| {
            while at >= end && end < bounds.used {
                document += 1;
                (begin, end) = (end, bounds.end(document));
            }
            let inside = at < bounds.used;
            match kind {
                TokenView::Ids if at < ids.len() => ids.get(at),
                TokenView::Labels if inside && at > begin && runs.have(at, &mut passed) => {
                    ids.get(at)
                }
                TokenView::Positions if inside => (at - begin) as i64,
                TokenView::Segments if inside => document as i64 + 1,
                TokenView::Mask => i64::from(inside),
                _ => fill,
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
            TokenView::Labels => {
                let Tokens { ids, cu_seqlens, loss, .. } = &self.tokens;
                vec![ids.clone(), cu_seqlens.clone(), loss.clone()]
            }
            _ => vec![self.tokens.ids.clone(), self.tokens.cu_seqlens.clone()],
        }
    }

    fn shape(&self) -> RowShape {
        let Tokens { dtype, length, multiple_of, .. } = self.tokens;
        match multiple_of {
            None => RowShape::Fixed(dtype, vec![length]),
            Some(multiple_of) => {
                let value = self.fill();
                RowShape::Padded(PaddedRows { dtype, most: length, multiple_of, value })
            }
        }
    }

    fn optional(&self) -> bool {
        self.kind != TokenView::Ids
    }

    fn validate(&self) -> Result<()> {
        if self.tokens.length == 0 {
            return Err(Error::usage("a column of tokens needs a length of 1 or more"));
        }
        self.fits()?;
        match self.shape() {
            RowShape::Padded(rows) => rows.check(),
            _ => Ok(()),
        }
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let Tokens { ids: ext, cu_seqlens, loss, length, .. } = &self.tokens;
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
        let has_loss = self.kind == TokenView::Labels && !sample.ext(2).is_empty();
        let runs = has_loss.then(|| Numbers::parse(sample.part(2), loss)).transpose()?;
        let runs = Runs::of(runs, bounds.used, loss)?;
        let count = if self.tokens.multiple_of.is_some() { ids.len() } else { *length };
        row.set_used(count * self.tokens.dtype.size());
        let values = self.values(count, &ids, &bounds, &runs);
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
mod tests;
