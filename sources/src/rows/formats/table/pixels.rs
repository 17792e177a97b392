//! `csv:FILE?png=pixel*&shape=28x28`: the pixels of a picture in many columns, or in one as numbers between blanks.

use tarflume_formats::message::Message;
use tarflume_table::{Cell, TableRow};

use crate::rows::columns::array_names;
use crate::rows::columns::array_names::is_png;
use crate::rows::columns::pictures::{Layout, RowPicture};
use crate::rows::url::SourceUrl;

/// The options of pictures whose pixels are in columns.
const SHAPE: &str = "shape";
const LAYOUT: &str = "layout";

/// The columns with the pixels of a picture.
#[derive(Debug)]
pub(super) struct Pixels {
    /// The extension of its part.
    pub(super) ext: String,
    pub(super) columns: Vec<usize>,
    picture: RowPicture,
    shape: String,
    count: usize,
}

/// Returns the pictures whose pixels are in columns: those of `png=`, if there is a shape.
///
/// # Errors
/// Returns why columns are not the pixels of a picture.
pub(super) fn pictures(source: &SourceUrl, names: &[String]) -> Result<Vec<Pixels>, String> {
    let Some(shape) = source.option(SHAPE).filter(|_| !names.iter().any(|name| name == SHAPE))
    else {
        return Ok(Vec::new());
    };
    let layout = source.option(LAYOUT).map(array_names::layout).transpose();
    let layout = layout.map_err(|failure| failure.text())?;
    let options = source.options.iter().filter(|(option, _)| is_png(option));
    let columns = options.filter(|(_, value)| !value.starts_with('@'));
    columns.map(|(ext, value)| Pixels::of(ext, value, shape, layout, names)).collect()
}

/// Returns true for an option of these pictures.
pub(super) fn is_option_of(pictures: &[Pixels], option: &str) -> bool {
    let is_one = pictures.iter().any(|picture| picture.ext == option.to_lowercase());
    !pictures.is_empty() && (is_one || matches!(option, SHAPE | LAYOUT))
}

/// Parses `28x28`, `48x48x3`; `None` for another text.
pub(super) fn shape(text: &str) -> Option<Vec<u64>> {
    let dims = text.split(['x', ',']).map(|dim| dim.parse::<u64>().ok().filter(|&dim| dim > 0));
    dims.collect::<Option<Vec<u64>>>().filter(|dims| matches!(dims.len(), 2 | 3))
}

impl Pixels {
    /// Finds the columns of `value`: one, or all that begin as it does up to its `*`, in the order of the numbers at
    /// their ends.
    ///
    /// # Errors
    /// Returns why they are not the pixels of a picture of this shape.
    pub(super) fn of(
        ext: &str,
        value: &str,
        shape: &str,
        layout: Option<Layout>,
        names: &[String],
    ) -> Result<Pixels, String> {
        let dims = self::shape(shape).ok_or_else(|| {
            format!("shape={shape} is no shape of a picture; give height and width: shape=28x28")
        })?;
        let picture = RowPicture::of(&dims, "uint8", layout)?;
        let count = dims.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim));
        let count = count
            .filter(|&count| count <= 1 << 24)
            .ok_or_else(|| format!("shape={shape} has more pixels than a row of a table"))?
            as usize;
        let columns = match value.strip_suffix('*') {
            Some(prefix) => numbered(prefix, names),
            None => names.iter().position(|name| name == value).into_iter().collect(),
        };
        if columns.is_empty() {
            let shown: Vec<String> = names.iter().take(30).map(|n| format!("'{n}'")).collect();
            return Err(format!("there is no column '{value}'; there are {}", shown.join(", ")));
        }
        if columns.len() > 1 && columns.len() != count {
            return Err(format!(
                "{} columns are '{value}', and a picture of shape={shape} has {count} numbers",
                columns.len()
            ));
        }
        Ok(Pixels { ext: ext.to_lowercase(), columns, picture, shape: shape.into(), count })
    }

    /// Returns the PNG of a row.
    ///
    /// # Errors
    /// Returns what is no pixel, and that their number is another one.
    pub(super) fn png(&self, row: &TableRow) -> Result<Vec<u8>, Message> {
        let mut pixels = Vec::with_capacity(self.count);
        for &column in &self.columns {
            match row.cell(column) {
                Cell::Word(span) | Cell::Text(span) | Cell::Digits(span) => {
                    for word in row.text(span).split_ascii_whitespace() {
                        pixels.push(pixel(word, pixels.len())?);
                    }
                }
                Cell::Int(number) => pixels.push(in_range(number, pixels.len())?),
                Cell::Float(number) if number.fract() == 0.0 => {
                    pixels.push(in_range(number as i64, pixels.len())?);
                }
                cell => {
                    return Err(format!("pixel {} is {cell:?}, no number", pixels.len()).into());
                }
            }
            if pixels.len() > self.count {
                break;
            }
        }
        if pixels.len() != self.count {
            let more = if pixels.len() > self.count { "more" } else { "fewer" };
            return Err(format!(
                "it has {more} than the {} numbers of a picture of shape={}",
                self.count, self.shape
            )
            .into());
        }
        self.picture.encode(&pixels).map_err(Message::from)
    }
}

/// Returns the columns that begin with a prefix: in the order of the numbers after it, if all have one.
fn numbered(prefix: &str, names: &[String]) -> Vec<usize> {
    let found = names.iter().enumerate().filter_map(|(at, name)| {
        let rest = name.strip_prefix(prefix)?;
        Some((at, rest.parse::<u64>().ok()))
    });
    let mut found: Vec<(usize, Option<u64>)> = found.collect();
    if found.iter().all(|(_, number)| number.is_some()) {
        found.sort_by_key(|(_, number)| *number);
    }
    found.into_iter().map(|(at, _)| at).collect()
}

fn pixel(word: &str, at: usize) -> Result<u8, Message> {
    match (word.parse::<i64>(), word.parse::<f64>()) {
        (Ok(whole), _) => in_range(whole, at),
        (_, Ok(float)) if float.fract() == 0.0 => in_range(float as i64, at),
        _ => {
            let word = tarflume_formats::name::shown(word.as_bytes());
            Err(format!("pixel {at} is '{word}', no whole number").into())
        }
    }
}

fn in_range(number: i64, at: usize) -> Result<u8, Message> {
    u8::try_from(number)
        .map_err(|_| Message::from(format!("pixel {at} is {number}, and pixels are from 0 to 255")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["label", "pixel2", "pixel10", "pixel0", "pixel1", "pixels"].map(String::from).to_vec()
    }

    #[test]
    fn columns_are_in_the_order_of_their_numbers() {
        assert_eq!(numbered("pixel", &names()[..5]), [3, 4, 1, 2]);
        assert_eq!(numbered("p", &names()), [1, 2, 3, 4, 5]);
        let found = Pixels::of("png", "pixel*", "2x2", None, &names()[..5]).unwrap();
        assert_eq!(found.columns, [3, 4, 1, 2]);
        assert_eq!(Pixels::of("png", "pixels", "48x48", None, &names()).unwrap().columns, [5]);
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        for (value, shape, says) in [
            ("pixel*", "2x2", "5 columns are 'pixel*'"),
            ("nope", "2x2", "there is no column 'nope'"),
            ("pixels", "28", "no shape of a picture"),
            ("pixels", "0x28", "no shape of a picture"),
            ("pixels", "8x8x2", "[8, 8, 2]"),
            ("pixels", "100000x100000", "more pixels"),
        ] {
            let error = Pixels::of("png", value, shape, None, &names()).err().unwrap();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn numbers_are_from_0_to_255() {
        assert_eq!(pixel("255", 0).unwrap(), 255);
        assert_eq!(pixel("7.0", 0).unwrap(), 7);
        for wrong in ["256", "-1", "0.5", "x", "nan", "1e300"] {
            assert!(pixel(wrong, 3).unwrap_err().text().contains("pixel 3 is"), "{wrong}");
        }
    }
}
