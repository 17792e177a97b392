//! Types of picture geometry: sizes, cropped pixels, and the result of a transform.
//!
//! Pure: no pixels, no decoder. Pictures are upright here; see `orientation` for stored pictures that are not.

use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tarflume_types::{Error, ErrorKind, Result};

use crate::picture::random::Random;

/// Width and height in pixels.
///
/// ```
/// use tarflume::ImageSize;
///
/// assert_eq!(ImageSize::from((480, 640)), ImageSize { width: 640, height: 480 }); // (height, width)
/// assert_eq!("640 x 480".parse::<ImageSize>()?, ImageSize::new(640, 480)); // width x height
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSize {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl ImageSize {
    /// `width` x `height`.
    pub fn new(width: u32, height: u32) -> ImageSize {
        ImageSize { width, height }
    }

    /// The number of pixels.
    pub fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The size with width and height exchanged.
    #[must_use]
    pub fn transposed(self) -> ImageSize {
        ImageSize::new(self.height, self.width)
    }
}

impl fmt::Display for ImageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.width, self.height)
    }
}

impl FromStr for ImageSize {
    type Err = Error;

    /// Reads `640 x 480` (width x height), `640x480`, or a number for a square.
    ///
    /// # Errors
    /// Returns an error for any other text.
    fn from_str(text: &str) -> Result<ImageSize> {
        fn side(side: &str) -> Option<u32> {
            side.trim().parse::<u32>().ok()
        }

        let size = match text.split_once('x') {
            Some((width, height)) => {
                side(width).zip(side(height)).map(|(width, height)| ImageSize::new(width, height))
            }
            None => side(text).map(ImageSize::from),
        };
        size.ok_or_else(|| {
            Error::usage(format!("'{text}' is no size of a picture; write '640 x 480', or '224'"))
        })
    }
}

/// A number is a square, a pair is `(height, width)`.
impl From<u32> for ImageSize {
    fn from(side: u32) -> ImageSize {
        ImageSize::new(side, side)
    }
}

impl From<(u32, u32)> for ImageSize {
    fn from((height, width): (u32, u32)) -> ImageSize {
        ImageSize::new(width, height)
    }
}

/// A rectangle of whole pixels.
///
/// ```
/// use tarflume::{Cut, ImageSize};
///
/// let middle = Cut { left: 16, top: 16, size: ImageSize::new(32, 32) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first column.
    pub left: u32,
    /// The first row.
    pub top: u32,
    /// Number of columns and rows.
    pub size: ImageSize,
}

impl Cut {
    /// All pixels of a picture.
    pub fn whole(size: ImageSize) -> Cut {
        Cut { left: 0, top: 0, size }
    }
}

/// A rectangle in fractional pixels from the picture's upper left corner.
///
/// ```
/// use tarflume::{Area, Cut, ImageSize};
///
/// let area = Area::from(Cut::whole(ImageSize::new(640, 480)));
/// assert_eq!((area.left, area.width), (0.0, 640.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
}

impl From<Cut> for Area {
    fn from(cut: Cut) -> Area {
        Area {
            left: cut.left.into(),
            top: cut.top.into(),
            width: cut.size.width.into(),
            height: cut.size.height.into(),
        }
    }
}

/// How one picture is cropped, resized and mirrored.
///
/// ```
/// use tarflume::{Cut, ImageSize, Placement};
///
/// let source = ImageSize::new(640, 480);
/// let placement = Placement::of(Cut::whole(source), ImageSize::new(64, 48));
/// placement.check(source)?;
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// The pixels that may be read. A resize filter reads nothing outside, as if the picture had been
    /// cropped first.
    pub cut: Cut,
    /// The rectangle that is mapped to the output, inside `cut`.
    pub area: Area,
    /// The output size.
    pub size: ImageSize,
    /// Whether the output is mirrored left to right.
    pub flip: bool,
}

impl Placement {
    /// Resizes `cut` to `size`.
    pub fn of(cut: Cut, size: ImageSize) -> Placement {
        Placement { cut, area: cut.into(), size, flip: false }
    }

    /// Whether `cut` is exactly the whole pixels that `area` touches.
    #[doc(hidden)]
    pub fn is_tight(&self) -> bool {
        fn same(start: f64, length: f64, first: u32, all: u32) -> bool {
            start.floor() == f64::from(first)
                && (start + length).ceil() == f64::from(first) + f64::from(all)
        }

        let cut = self.cut;
        let area = self.area;
        same(area.left, area.width, cut.left, cut.size.width)
            && same(area.top, area.height, cut.top, cut.size.height)
    }

    /// Checks the placement against the size of its picture.
    ///
    /// # Errors
    /// Returns an error if a rectangle is empty or outside the picture.
    pub fn check(&self, source: ImageSize) -> Result<()> {
        fn ends(start: u32, length: u32, all: u32) -> bool {
            length > 0 && u64::from(start) + u64::from(length) <= u64::from(all)
        }

        // Tolerates a rounding error at the edge.
        fn within(start: f64, length: f64, first: u32, all: u32) -> bool {
            let start = start - f64::from(first);
            let all = f64::from(all);
            start >= 0.0 && length > 0.0 && start + length <= all * (1.0 + 1e-9)
        }

        let cut = self.cut;
        let area = self.area;
        let fits = ends(cut.left, cut.size.width, source.width)
            && ends(cut.top, cut.size.height, source.height)
            && within(area.left, area.width, cut.left, cut.size.width)
            && within(area.top, area.height, cut.top, cut.size.height)
            && self.size.pixels() > 0;
        if fits {
            return Ok(());
        }
        let text = format!("a transform returned {self:?}, outside a picture of {source} pixels");
        Err(Error::new(ErrorKind::Decode, text))
    }
}

/// The output size of a transform.
///
/// ```
/// use tarflume::{Extent, Resize, Transform};
///
/// assert_eq!(Resize::exact(64).extent(), Extent::Fixed(64.into()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// The same size for every picture.
    Fixed(ImageSize),
    /// A size that depends on the picture, with at most this many pixels.
    UpTo(u64),
}

/// Decides for each picture which rectangle is used and the output size.
///
/// ```
/// use tarflume::{Cut, Extent, ImageSize, Placement, Random, Result, Transform};
///
/// /// A square of 64 pixels at a random place.
/// #[derive(Debug)]
/// struct Square;
///
/// impl Transform for Square {
///     fn extent(&self) -> Extent {
///         Extent::Fixed(64.into())
///     }
///     fn place(&self, source: ImageSize, random: &mut Random) -> Result<Placement> {
///         let left = random.below(u64::from(source.width.saturating_sub(63))) as u32;
///         let cut = Cut { left, top: 0, size: 64.into() };
///         Ok(Placement::of(cut, cut.size))
///     }
/// }
/// ```
pub trait Transform: fmt::Debug + Send + Sync + 'static {
    /// The output size.
    fn extent(&self) -> Extent;

    /// Returns the placement for an upright picture of size `source`. May depend on the arguments only: it is called more
    /// than once for a sample.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be used. The message must state why.
    fn place(&self, source: ImageSize, random: &mut Random) -> Result<Placement>;

    /// Maximum number of output pixels for a picture of `pixels` pixels, for which memory is reserved.
    fn most(&self, pixels: u64) -> u64 {
        let _ = pixels;
        match self.extent() {
            Extent::Fixed(size) => size.pixels(),
            Extent::UpTo(most) => most,
        }
    }

    /// Checks the parameters of the transform.
    ///
    /// # Errors
    /// Returns an error if they are invalid. The message must state valid ones.
    fn validate(&self) -> Result<()> {
        match self.extent() {
            Extent::Fixed(size) if size.pixels() == 0 => Err(Error::usage(format!(
                "the output size {size} has no pixels; pass sides of 1 or more"
            ))),
            Extent::UpTo(0) => {
                Err(Error::usage("the limit of 0 pixels refuses every picture; pass 1 or more"))
            }
            _ => Ok(()),
        }
    }

    /// The transform as its own type, if it changes pixels beside placing them: a recipe. [`Transform::extent`] is then
    /// that of the result, and [`Transform::place`] what a decoder does of it.
    #[doc(hidden)]
    fn recipe(&self) -> Option<&dyn Any> {
        None
    }
}

macro_rules! pointers {
    ($($pointer:ident),*) => { $(
/// A transform whose type is chosen at run time.
impl<T: Transform + ?Sized> Transform for $pointer<T> {
    fn extent(&self) -> Extent {
        (**self).extent()
    }

    fn place(&self, source: ImageSize, random: &mut Random) -> Result<Placement> {
        (**self).place(source, random)
    }

    fn most(&self, pixels: u64) -> u64 {
        (**self).most(pixels)
    }

    fn validate(&self) -> Result<()> {
        (**self).validate()
    }

    fn recipe(&self) -> Option<&dyn Any> {
        (**self).recipe()
    }
}
    )* };
}
pointers!(Arc, Box);
