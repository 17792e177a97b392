//! `Tokens`: the columns that a language model needs, from a block of token ids and the places where documents begin in
//! it.
//!
//! Each column is computed from the parts into its row, without memory of its own.

mod stored_ids;

use std::sync::Arc;

use tarflume_types::{
    DType, Element, Error, ErrorKind, PackedRows, PaddedRows, Result, Row, RowShape,
};

use self::stored_ids::{Bounds, Numbers, Runs};
use crate::decode::values::pack_columns::PackColumns;
use crate::decode::{Decode, DecodeHooks, Sample, Scratch};

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
    /// The packs that rows follow each other in.
    packed: Option<PackColumns>,
}

impl Tokens {
    /// Columns of `length` elements of the type `i64`, padded with 0.
    pub fn new(length: usize) -> Tokens {
        let ids = "ids.npy".into();
        let cu_seqlens = "cu_seqlens.npy".into();
        let loss = "loss.npy".into();
        let dtype = DType::I64;
        Tokens { ids, cu_seqlens, loss, length, padding: 0, dtype, multiple_of: None, packed: None }
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

    /// Returns whether the column can be packed as its tokens say.
    fn fits_packs(&self, rows: PackedRows) -> Result<()> {
        let Tokens { length, multiple_of, .. } = self.tokens;
        if multiple_of.is_some() {
            let text = "rows in packs are filled up to the width of the pack, not to the longest one: leave out the \
                        padding to the longest";
            return Err(Error::usage(text));
        }
        if length != rows.width {
            let width = rows.width;
            let text = format!("a column of {length} tokens in packs of {width}: give {width}");
            return Err(Error::usage(text));
        }
        rows.check()
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
        let Tokens { dtype, length, multiple_of, packed, .. } = self.tokens;
        let value = self.fill();
        if let Some(PackColumns { packs, width, .. }) = packed {
            let numbered = self.kind == TokenView::Segments;
            return RowShape::Packed(PackedRows { dtype, packs, width, value, numbered });
        }
        match multiple_of {
            None => RowShape::Fixed(dtype, vec![length]),
            Some(multiple_of) => {
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
            RowShape::Packed(rows) => self.fits_packs(rows),
            RowShape::Fixed(..) | RowShape::Variable(_) => Ok(()),
        }
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let Tokens { ids: ext, cu_seqlens, loss, length, .. } = &self.tokens;
        if sample.ext(0).is_empty() {
            return Err(Error::new(ErrorKind::Decode, format!("the sample has no part {ext}")));
        }
        let ids = Numbers::parse(sample.part(0), ext)?;
        // A pack has no padding between its rows.
        let is_packed = self.tokens.packed.is_some();
        let room = row.bytes().len() / self.tokens.dtype.size();
        if let Some(PackColumns { cut, .. }) = self.tokens.packed
            && ids.len() > room
            && !(cut && room == *length)
        {
            return Err(longer_than_stated(ext, ids.len(), room));
        }
        if ids.len() > *length && !is_packed {
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
        let count = match self.tokens {
            Tokens { packed: Some(_), .. } => ids.len().min(room),
            Tokens { multiple_of: Some(_), .. } => ids.len(),
            Tokens { .. } => *length,
        };
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

impl DecodeHooks for TokenColumn {
    fn in_packs(&self, packed: PackColumns) -> Option<Arc<dyn Decode>> {
        let tokens = Tokens { packed: Some(packed), ..self.tokens.clone() };
        Some(Arc::new(TokenColumn { tokens, kind: self.kind }))
    }
}

/// The error of a sample that has more ids than a pack has room for it.
fn longer_than_stated(ext: &str, ids: usize, room: usize) -> Error {
    let text = format!(
        "{ext}: {ids} ids, and the lengths of samples, from which packs were made, state {room}: give the lengths of this part"
    );
    Error::new(ErrorKind::Decode, text)
}

#[cfg(test)]
mod tests;
