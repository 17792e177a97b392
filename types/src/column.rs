//! Types of a batch's content: the element type, the shape of a row, the bytes of a row.
//!
//! Owns no memory; `slab` owns the rows.

use bytemuck::AnyBitPattern;
use tarflume_formats::npy::Dtype;

use crate::error::{Error, ErrorKind, Result};
use tarflume_order::words;

/// The type of one element, in the machine's byte order (little-endian). As text it has its NumPy name.
///
/// ```
/// use tarflume::DType;
///
/// assert_eq!((DType::F16.size(), DType::F16.to_string()), (2, "float16".into()));
/// assert_eq!("uint8".parse::<DType>()?, DType::U8);
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// Unsigned byte.
    U8,
    /// Signed byte.
    I8,
    /// Unsigned, 2 bytes.
    U16,
    /// Signed, 2 bytes.
    I16,
    /// Unsigned, 4 bytes.
    U32,
    /// Signed, 4 bytes.
    I32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 8 bytes.
    I64,
    /// IEEE half precision.
    F16,
    /// bfloat16: the upper 16 bits of an IEEE single-precision number.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// One byte, 0 or 1.
    Bool,
}

words!(DType, "the type", {
    U8 => "uint8",
    I8 => "int8",
    U16 => "uint16",
    I16 => "int16",
    U32 => "uint32",
    I32 => "int32",
    U64 => "uint64",
    I64 => "int64",
    F16 => "float16",
    Bf16 => "bfloat16",
    F32 => "float32",
    F64 => "float64",
    Bool => "bool",
});

impl DType {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            DType::U8 | DType::I8 | DType::Bool => 1,
            DType::U16 | DType::I16 | DType::F16 | DType::Bf16 => 2,
            DType::U32 | DType::I32 | DType::F32 => 4,
            DType::U64 | DType::I64 | DType::F64 => 8,
        }
    }

    /// Whether elements are floats.
    #[doc(hidden)]
    pub fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::Bf16 | DType::F32 | DType::F64)
    }

    /// Converts a NumPy type, ignoring its byte order; `None` if it has no equivalent.
    #[doc(hidden)]
    pub fn of_npy(dtype: Dtype) -> Option<DType> {
        Some(match (dtype.kind, dtype.size) {
            ('b', 1) => DType::Bool,
            ('u', 1) => DType::U8,
            ('i', 1) => DType::I8,
            ('u', 2) => DType::U16,
            ('i', 2) => DType::I16,
            ('u', 4) => DType::U32,
            ('i', 4) => DType::I32,
            ('u', 8) => DType::U64,
            ('i', 8) => DType::I64,
            ('f', 2) => DType::F16,
            ('f', 4) => DType::F32,
            ('f', 8) => DType::F64,
            _ => return None,
        })
    }
}

/// A Rust type that corresponds to a [`DType`].
///
/// ```
/// use tarflume::Element;
///
/// fn mean<T: Element + Into<f64>>(values: &[T]) -> f64 {
///     values.iter().map(|&value| value.into()).sum::<f64>() / values.len() as f64
/// }
/// assert_eq!(mean(&[1u8, 2, 3]), 2.0);
/// ```
pub trait Element: AnyBitPattern + bytemuck::NoUninit {
    /// The corresponding [`DType`].
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),*) => { $(impl Element for $rust { const DTYPE: DType = DType::$dtype; })* };
}
elements!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64,
          half::f16 => F16, half::bf16 => Bf16, f32 => F32, f64 => F64);

/// The shape of one row of a column.
///
/// ```
/// use tarflume::{DType, RowShape};
///
/// let picture = RowShape::Fixed(DType::U8, vec![224, 224, 3]);
/// assert_eq!(picture.bytes(), Some(224 * 224 * 3));
/// assert_eq!(RowShape::Variable(DType::U16).bytes(), None); // each row has its own length
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowShape {
    /// Every row has the same shape; `[]` if a row is a single number.
    Fixed(DType, Vec<usize>),
    /// Rows have different lengths. The column is stored as offsets and bytes.
    Variable(DType),
    /// Rows have different lengths, and each is filled up to the longest one of its batch.
    Padded(PaddedRows),
    /// Several rows follow each other in a pack, which is filled up to its width.
    Packed(PackedRows),
}

/// Rows of whole numbers that a batch fills up to its longest row: the column is `[rows, width]`, and `width` differs between
/// batches.
///
/// ```
/// use tarflume::{DType, PaddedRows};
///
/// let rows = PaddedRows { dtype: DType::I64, most: 2048, multiple_of: 8, value: -100 };
/// assert_eq!((rows.width(13), rows.width(2047)), (16, 2048));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaddedRows {
    /// The element type: whole numbers or `bool`.
    pub dtype: DType,
    /// The most elements of a row, a multiple of `multiple_of`.
    pub most: usize,
    /// The width of a batch is a multiple of this number, which is 1 or more.
    pub multiple_of: usize,
    /// What is behind the elements of a shorter row.
    pub value: i64,
}

impl PaddedRows {
    /// Returns the width of a batch whose longest row has `longest` elements.
    pub fn width(&self, longest: usize) -> usize {
        longest.next_multiple_of(self.multiple_of.max(1)).min(self.most)
    }

    /// Checks that the element type holds the value, and that the longest row has an allowed width.
    ///
    /// # Errors
    /// Returns an error of [`ErrorKind::Usage`] that names what does not fit.
    pub fn check(&self) -> Result<()> {
        if self.multiple_of == 0 || !self.most.is_multiple_of(self.multiple_of) {
            let text = format!(
                "the width of a batch is a multiple of {}, and the most elements of a row are {}: give a multiple",
                self.multiple_of, self.most
            );
            return Err(Error::usage(text));
        }
        if self.pattern().is_none() {
            let text = format!("rows of {} cannot be filled up with {}", self.dtype, self.value);
            return Err(Error::usage(text));
        }
        Ok(())
    }

    /// Returns the bytes of the value, of which the first are those of an element; `None` if the type does not hold it.
    pub fn pattern(&self) -> Option<[u8; 8]> {
        self.dtype.pattern(self.value)
    }
}

/// Rows of whole numbers that follow each other in packs: the column is `[packs, width]`.
///
/// ```
/// use tarflume::{DType, PackedRows, RowShape};
///
/// let rows = PackedRows { dtype: DType::I64, packs: 8, width: 4096, value: -100, numbered: false };
/// assert_eq!(RowShape::Packed(rows).bytes(), Some(4096 * 8)); // of one pack
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedRows {
    /// The element type: whole numbers or `bool`.
    pub dtype: DType,
    /// The most packs of a batch.
    pub packs: usize,
    /// The elements of a pack.
    pub width: usize,
    /// What is behind the last row of a pack.
    pub value: i64,
    /// Whether the numbers of a row go on from those of the row before it in the pack: its elements above 0 grow by the largest
    /// one there. For `int32` and `int64`.
    pub numbered: bool,
}

impl PackedRows {
    /// Checks that the element type holds the value, and that its rows can be numbered.
    ///
    /// # Errors
    /// Returns an error of [`ErrorKind::Usage`] that names what does not fit.
    pub fn check(&self) -> Result<()> {
        let PackedRows { dtype, value, numbered, .. } = *self;
        if dtype.pattern(value).is_none() {
            return Err(Error::usage(format!("rows of {dtype} cannot be filled up with {value}")));
        }
        if numbered && !matches!(dtype, DType::I32 | DType::I64) {
            return Err(Error::usage(format!(
                "rows of {dtype} cannot be numbered on: give int64 or int32"
            )));
        }
        Ok(())
    }
}

impl DType {
    /// Returns the bytes of a whole number, of which the first are those of an element; `None` if the type does not hold it.
    pub fn pattern(self, value: i64) -> Option<[u8; 8]> {
        let fits = match self {
            DType::Bool => (0..=1).contains(&value),
            DType::U8 => u8::try_from(value).is_ok(),
            DType::I8 => i8::try_from(value).is_ok(),
            DType::U16 => u16::try_from(value).is_ok(),
            DType::I16 => i16::try_from(value).is_ok(),
            DType::U32 => u32::try_from(value).is_ok(),
            DType::I32 => i32::try_from(value).is_ok(),
            DType::U64 => u64::try_from(value).is_ok(),
            DType::I64 => true,
            DType::F16 | DType::Bf16 | DType::F32 | DType::F64 => false,
        };
        fits.then(|| value.to_le_bytes())
    }
}

impl RowShape {
    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            RowShape::Fixed(dtype, _) | RowShape::Variable(dtype) => *dtype,
            RowShape::Padded(rows) => rows.dtype,
            RowShape::Packed(rows) => rows.dtype,
        }
    }

    /// Bytes of a row of fixed shape, of the longest row that a batch is padded to, or of a pack; `None` if a batch keeps rows
    /// of different lengths.
    #[inline]
    pub fn bytes(&self) -> Option<usize> {
        match self {
            RowShape::Fixed(dtype, shape) => {
                Some(shape.iter().fold(dtype.size(), |bytes, &n| bytes.saturating_mul(n)))
            }
            RowShape::Variable(_) => None,
            RowShape::Padded(rows) => Some(rows.dtype.size().saturating_mul(rows.most)),
            RowShape::Packed(rows) => Some(rows.dtype.size().saturating_mul(rows.width)),
        }
    }
}

/// The shape of one picture in a column of pictures of different sizes.
///
/// ```
/// use tarflume::{Image, Loader, Whole};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let whole = Image::new("jpg", Whole::up_to(1 << 20));
/// let loader = Loader::builder(shards).column("image", whole).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let shape = batch.column("image")?.picture(0).unwrap();
/// assert_eq!((shape.dims().len(), shape.channels), (3, 3));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureShape {
    /// Height in pixels.
    pub height: u32,
    /// Width in pixels.
    pub width: u32,
    /// Elements of a pixel.
    pub channels: u32,
    /// True if the layout is `[channels, height, width]`, false if it is `[height, width, channels]`.
    pub channels_first: bool,
}

impl PictureShape {
    /// The dimensions, in the order of the layout.
    #[inline]
    pub fn dims(self) -> [usize; 3] {
        let PictureShape { height, width, channels, channels_first } = self;
        let height = height as usize;
        let width = width as usize;
        let channels = channels as usize;
        if channels_first { [channels, height, width] } else { [height, width, channels] }
    }

    /// The number of elements.
    pub fn elements(self) -> usize {
        self.dims().iter().fold(1, |count, &length| count.saturating_mul(length))
    }
}

/// The bytes of one row, which a `Decode` fills. They may hold values of an earlier batch, so every
/// byte of a fixed row must be written.
///
/// ```
/// use tarflume::Row;
///
/// let mut memory = [0; 4];
/// Row::fixed(&mut memory).put(&[1, 2, 3, 4])?;
/// let mut used = 0;
/// Row::variable(&mut memory, &mut used).put(&[9])?; // at most four bytes
/// assert_eq!((memory[0], used), (9, 1));
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug)]
pub struct Row<'a> {
    bytes: &'a mut [u8],
    used: Option<&'a mut usize>,
    picture: Option<&'a mut Option<PictureShape>>,
}

impl<'a> Row<'a> {
    /// A row of fixed shape.
    #[inline]
    pub fn fixed(bytes: &'a mut [u8]) -> Row<'a> {
        Row { bytes, used: None, picture: None }
    }

    /// A row of any length up to `bytes.len()`. `used` receives the number of bytes written.
    #[inline]
    pub fn variable(bytes: &'a mut [u8], used: &'a mut usize) -> Row<'a> {
        *used = 0;
        Row { bytes, used: Some(used), picture: None }
    }

    /// A variable row that may hold a picture. `picture` receives its shape.
    #[inline]
    pub fn pictured(
        bytes: &'a mut [u8],
        used: &'a mut usize,
        picture: &'a mut Option<PictureShape>,
    ) -> Row<'a> {
        (*used, *picture) = (0, None);
        Row { bytes, used: Some(used), picture: Some(picture) }
    }

    /// All bytes of the row. For a variable row, its whole capacity.
    #[inline]
    pub fn bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// The row as elements of type `T`, which must be the column's type.
    ///
    /// # Errors
    /// Returns an error if the row's length or alignment does not fit the type.
    pub fn elements<T: Element>(&mut self) -> Result<&mut [T]> {
        let bytes = self.bytes.len();
        bytemuck::try_cast_slice_mut(self.bytes).map_err(|e| {
            let text = format!("a row of {bytes} bytes cannot be viewed as {:?}: {e}", T::DTYPE);
            Error::usage(text)
        })
    }

    /// Writes `bytes` as the whole content of the row.
    ///
    /// # Errors
    /// Returns an error if a fixed row has a different length or a variable row is too short.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let fits = match self.used {
            Some(_) => bytes.len() <= self.bytes.len(),
            None => bytes.len() == self.bytes.len(),
        };
        if !fits {
            let room = self.bytes.len();
            let text = format!("{} bytes do not fit a row of {room}", bytes.len());
            return Err(Error::new(ErrorKind::Decode, text));
        }
        self.bytes[..bytes.len()].copy_from_slice(bytes);
        self.set_used(bytes.len());
        Ok(())
    }

    /// Declares that the content of a variable row is a picture of this shape.
    #[inline]
    pub fn set_picture(&mut self, shape: PictureShape) {
        if let Some(picture) = &mut self.picture {
            **picture = Some(shape);
        }
    }

    /// Sets the length of a variable row that was written through [`Row::bytes`].
    #[inline]
    pub fn set_used(&mut self, bytes: usize) {
        if let Some(used) = &mut self.used {
            **used = bytes;
        }
    }
}
