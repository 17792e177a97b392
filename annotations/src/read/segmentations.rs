//! Segmentations as COCO has them: polygons, run lengths, and compressed run lengths.

use std::ops::Range;

use tarflume_formats::json::{Scan, Token};
use tarflume_image::ImageSize;

use crate::fault::{Fault, Wrong};
use crate::field::{Field, wrong_kind};
use crate::mask::{Segmentation, rle};
use crate::part::{Part, list, number};

/// The segmentations of a sample's objects. The lists are kept from sample to sample.
#[derive(Debug, Clone, Default)]
pub struct Segmentations {
    objects: Vec<Shape>,
    /// The polygons of all objects, as ranges of `numbers`.
    polygons: Vec<Range<usize>>,
    /// x and y of each point.
    numbers: Vec<f64>,
    /// Run lengths.
    counts: Vec<u32>,
}

/// The segmentation of one object.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// A range of the polygons.
    Polygons(Range<usize>),
    /// A range of the run lengths.
    Runs(Range<usize>),
}

impl Segmentations {
    /// Removes all objects, and keeps the memory.
    pub fn clear(&mut self) {
        self.objects.clear();
        self.polygons.clear();
        self.numbers.clear();
        self.counts.clear();
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The most edges of a polygon.
    pub fn most_edges(&self) -> usize {
        self.polygons.iter().map(|polygon| polygon.len() / 2).max().unwrap_or(0)
    }

    /// The segmentation of object `number`, counted from 0.
    ///
    /// # Panics
    /// Panics if there is no such object.
    pub fn get(&self, number: usize) -> Segmentation<'_> {
        match &self.objects[number] {
            Shape::Polygons(of) => {
                Segmentation::Polygons { of: &self.polygons[of.clone()], numbers: &self.numbers }
            }
            Shape::Runs(at) => Segmentation::Runs(&self.counts[at.clone()]),
        }
    }

    /// Bytes that are kept.
    pub fn kept(&self) -> usize {
        self.objects.capacity() * size_of::<Shape>()
            + self.polygons.capacity() * size_of::<Range<usize>>()
            + self.numbers.capacity() * size_of::<f64>()
            + self.counts.capacity() * size_of::<u32>()
    }
}

/// Reads the segmentation of each object: a list of polygons `[[x, y, ...], ...]`, one polygon `[x, y, ...]`, run lengths
/// `{"size": [height, width], "counts": [...]}` or `{"size": ..., "counts": "..."}`. `null` and an empty list are no pixel. With
/// `relative`, coordinates of polygons are fractions of the picture's sides. Returns the number of objects.
///
/// # Errors
/// The text is not JSON, a polygon has fewer than three points or a coordinate that is not finite, or run lengths are not
/// those of a mask of the picture's size.
///
/// ```
/// use tarflume_annotations::field::Field;
/// use tarflume_annotations::read::{Part, Segmentations, segmentations};
///
/// let bytes = br#"{"segmentation": [[[1, 1, 9, 1, 9, 9]], {"size": [2, 3], "counts": [1, 5]}]}"#;
/// let part = Part { bytes, rules: Default::default(), on: tarflume_image::ImageSize::new(3, 2) };
/// let mut found = Segmentations::default();
/// segmentations(&Field::parse("/segmentation").unwrap(), part, false, &mut found)?;
/// assert_eq!(found.len(), 2);
/// # Ok::<(), tarflume_annotations::fault::Fault>(())
/// ```
pub fn segmentations(
    field: &Field,
    part: Part<'_>,
    relative: bool,
    to: &mut Segmentations,
) -> Result<u64, Fault> {
    field.each(part.bytes, part.rules, |scan, _| {
        match scan.token()? {
            Token::Null => {
                scan.word(Token::Null);
                let none = to.polygons.len();
                to.objects.push(Shape::Polygons(none..none));
            }
            Token::Array => polygons(scan, part, relative, to)?,
            Token::Object => runs(scan, part, to)?,
            other => return Err(wrong_kind("polygons or run lengths", other).into()),
        }
        Ok(())
    })
}

fn polygons(
    scan: &mut Scan<'_>,
    part: Part<'_>,
    relative: bool,
    to: &mut Segmentations,
) -> Result<(), Fault> {
    let first = to.polygons.len();
    let start = to.numbers.len();
    let mut is_flat = false;
    let mut is_nested = false;
    let scale =
        if relative { [f64::from(part.on.width), f64::from(part.on.height)] } else { [1.0, 1.0] };
    list(scan, "a list of polygons", |scan| {
        if scan.token()? != Token::Array {
            is_flat = true;
            return coordinate(scan, start, scale, &mut to.numbers);
        }
        is_nested = true;
        let from = to.numbers.len();
        list(scan, "a list of numbers", |scan| coordinate(scan, from, scale, &mut to.numbers))?;
        close(from, to)
    })?;
    if is_flat && is_nested {
        return Err(wrong_kind("polygons alone, or the numbers of one", Token::Array).into());
    }
    if is_flat {
        close(start, to)?;
    }
    to.objects.push(Shape::Polygons(first..to.polygons.len()));
    Ok(())
}

/// Takes a coordinate of the polygon that begins at `from`.
fn coordinate(
    scan: &mut Scan<'_>,
    from: usize,
    scale: [f64; 2],
    to: &mut Vec<f64>,
) -> Result<(), Fault> {
    let number = number(scan)? * scale[(to.len() - from) % 2];
    if !number.is_finite() {
        return Err(Wrong::NotFinite.into());
    }
    to.push(number);
    Ok(())
}

/// Ends the polygon that begins at `from`.
fn close(from: usize, to: &mut Segmentations) -> Result<(), Fault> {
    let count = to.numbers.len() - from;
    if count < 6 || !count.is_multiple_of(2) {
        return Err(Wrong::Polygon { numbers: count as u64 }.into());
    }
    to.polygons.push(from..to.numbers.len());
    Ok(())
}

/// Reads `{"size": [height, width], "counts": ...}`.
fn runs(scan: &mut Scan<'_>, part: Part<'_>, to: &mut Segmentations) -> Result<(), Fault> {
    let first = to.counts.len();
    let mut size = None;
    let mut counted = false;
    scan.object(|scan, name| {
        match scan.piece(name) {
            "\"size\"" => size = Some(two(scan)?),
            "\"counts\"" => {
                counted = true;
                counts(scan, part.on.pixels(), &mut to.counts)?;
            }
            _ => scan.skip()?,
        }
        Ok::<(), Fault>(())
    })?;
    let Some([height, width]) = size.filter(|_| counted) else {
        return Err(Wrong::Runs.into());
    };
    let mask = ImageSize::new(width, height);
    if mask != part.on {
        return Err(Wrong::MaskSize { mask, picture: part.on }.into());
    }
    let sum: u64 = to.counts[first..].iter().map(|&count| u64::from(count)).sum();
    if sum != mask.pixels() {
        return Err(Wrong::Sum { expected: mask.pixels() }.into());
    }
    to.objects.push(Shape::Runs(first..to.counts.len()));
    Ok(())
}

/// Height and width.
fn two(scan: &mut Scan<'_>) -> Result<[u32; 2], Fault> {
    let mut sides = [0; 2];
    let mut count = 0;
    list(scan, "a height and a width", |scan| {
        let side = whole(scan)?;
        if let Some(to) = sides.get_mut(count) {
            *to = side;
        }
        count += 1;
        Ok(())
    })?;
    if count == 2 {
        return Ok(sides);
    }
    let expected = "a height and a width".to_string();
    Err(Wrong::Length { expected, found: count as u64 }.into())
}

/// Run lengths: a list of numbers, or a compressed text. `pixels` bounds each of them.
fn counts(scan: &mut Scan<'_>, pixels: u64, to: &mut Vec<u32>) -> Result<(), Fault> {
    match scan.token()? {
        Token::String => {
            let text = scan.take_string()?;
            Ok(rle::decompress(text.as_bytes(), pixels, to)?)
        }
        Token::Array => list(scan, "run lengths", |scan| {
            to.push(whole(scan)?);
            Ok(())
        }),
        other => Err(wrong_kind("a list of run lengths, or a text", other).into()),
    }
}

/// A whole number of at most 32 bits.
fn whole(scan: &mut Scan<'_>) -> Result<u32, Fault> {
    match scan.token()? {
        Token::Number => {
            let whole = scan.take_number()?.whole().and_then(|whole| u32::try_from(whole).ok());
            let wrong =
                Wrong::Kind { expected: "a whole number, 0 or more", found: "another number" };
            whole.ok_or_else(|| wrong.into())
        }
        other => Err(wrong_kind("a whole number", other).into()),
    }
}

#[cfg(test)]
mod tests;
