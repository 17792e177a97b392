//! `FiveCrop` and `TenCrop`: operations that make several pictures of one, at the end of a recipe.
//!
//! A recipe makes one picture. [`Recipe::picture`](crate::Recipe::picture) is the recipe of one of the crops.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, ErrorKind, Result};

use super::{Draw, Draws, Placing, Shape};
use crate::actions::{Action, Crop, HorizontalFlip, VerticalFlip};
use crate::limits::check_size;

/// Crops of one picture: four corners and the center.
pub(crate) const FIVE: usize = 5;

/// Crops of a fixed size: upper left, upper right, lower left, lower right, center.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiveCrop {
    /// Height and width.
    pub size: [u32; 2],
    /// The crop that is made, in this order.
    #[serde(skip)]
    chosen: Option<usize>,
}

/// The crops of [`FiveCrop`], and those of the mirrored picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenCrop {
    /// Height and width.
    pub size: [u32; 2],
    /// Mirrors top to bottom in place of left to right.
    #[serde(default)]
    pub vertical_flip: bool,
    /// The crop that is made, in this order.
    #[serde(skip)]
    chosen: Option<usize>,
}

impl FiveCrop {
    /// Crops of this height and width.
    pub fn new(size: [u32; 2]) -> FiveCrop {
        FiveCrop { size, chosen: None }
    }

    /// The operation that makes crop `number`.
    pub(crate) fn choosing(&self, number: usize) -> FiveCrop {
        FiveCrop { chosen: Some(number), ..self.clone() }
    }

    /// The number of pictures: 1 if one is chosen.
    pub(crate) fn pictures(&self) -> usize {
        self.chosen.map_or(FIVE, |_| 1)
    }
}

impl TenCrop {
    /// Crops of this height and width, of the picture and of the picture mirrored left to right.
    pub fn new(size: [u32; 2]) -> TenCrop {
        TenCrop { size, vertical_flip: false, chosen: None }
    }

    /// The operation that makes crop `number`.
    pub(crate) fn choosing(&self, number: usize) -> TenCrop {
        TenCrop { chosen: Some(number), ..self.clone() }
    }

    /// The number of pictures: 1 if one is chosen.
    pub(crate) fn pictures(&self) -> usize {
        self.chosen.map_or(2 * FIVE, |_| 1)
    }
}

/// The error of an operation that makes several pictures where one is made.
fn several(operation: &str, pictures: usize) -> Error {
    Error::usage(format!(
        "{operation} makes {pictures} pictures of one: use it as the last operation of the recipe of a column, which then has \
         {pictures} pictures in each row"
    ))
}

/// The crop with this number.
///
/// # Errors
/// Returns an error if the picture is smaller than the crop, as torchvision does.
fn crop(operation: &str, on: Shape, size: [u32; 2], number: usize) -> Result<Crop> {
    fn middle(all: u32, length: u32) -> u32 {
        (f64::from(all - length) / 2.0).round_ties_even() as u32
    }

    let [height, width] = size;
    let all = on.size;
    if all.width < width || all.height < height {
        return Err(Error::new(
            ErrorKind::Decode,
            format!(
                "{operation}: a picture of {all} is smaller than the crop of {width} x {height}; resize it before"
            ),
        ));
    }
    let [top, left] = match number {
        0 => [0, 0],
        1 => [0, all.width - width],
        2 => [all.height - height, 0],
        3 => [all.height - height, all.width - width],
        4 => [middle(all.height, height), middle(all.width, width)],
        _ => {
            return Err(Error::usage(format!(
                "{operation} makes no picture with the number {number}"
            )));
        }
    };
    Ok(Crop { top, left, height, width })
}

impl Draw for FiveCrop {
    fn draw(&self, on: Shape, _: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let number = self.chosen.ok_or_else(|| several("FiveCrop", FIVE))?;
        actions.push(crop("FiveCrop", on, self.size, number)?.into());
        Ok(())
    }

    fn placing(&self) -> Option<Placing> {
        Some(Placing::Crop(ImageSize::new(self.size[1], self.size[0])))
    }

    fn validate(&self) -> Result<()> {
        check_size("FiveCrop", "size", self.size)
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        Some(ImageSize::new(self.size[1], self.size[0]))
    }

    fn most_pixels(&self, _: u64) -> u64 {
        u64::from(self.size[0]) * u64::from(self.size[1])
    }
}

impl Draw for TenCrop {
    fn draw(&self, on: Shape, _: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let number = self.chosen.ok_or_else(|| several("TenCrop", 2 * FIVE))?;
        let Some(mirrored) = number.checked_sub(FIVE) else {
            actions.push(crop("TenCrop", on, self.size, number)?.into());
            return Ok(());
        };
        let mut crop = crop("TenCrop", on, self.size, mirrored)?;
        // The mirrored crop at the mirrored place: a decoder crops first.
        if self.vertical_flip {
            crop.top = on.size.height - crop.height - crop.top;
            actions.push(crop.into());
            actions.push(VerticalFlip {}.into());
        } else {
            crop.left = on.size.width - crop.width - crop.left;
            actions.push(crop.into());
            actions.push(HorizontalFlip {}.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_size("TenCrop", "size", self.size)
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        Some(ImageSize::new(self.size[1], self.size[0]))
    }

    fn most_pixels(&self, _: u64) -> u64 {
        u64::from(self.size[0]) * u64::from(self.size[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::Operation;
    use crate::operations::turn::RandomHorizontalFlip;
    use crate::{Frame, Recipe, apply};

    const ON: Shape = Shape { size: ImageSize { width: 7, height: 6 }, channels: 1 };

    /// Crop `number` of a picture whose pixels are their places.
    fn made(operation: impl Into<Operation>, number: usize) -> Vec<u8> {
        let recipe = Recipe::new([operation.into()]).picture(number);
        recipe.validate().unwrap();
        let mut actions = Vec::new();
        recipe.draw(1, 0, ON, &mut actions).unwrap();
        let mut frame = Frame::default();
        let pixels = frame.begin(ON.size, 1).unwrap();
        pixels.iter_mut().zip(0..).for_each(|(pixel, at)| *pixel = at);
        apply(&actions, &mut frame).unwrap();
        frame.pixels().to_vec()
    }

    #[test]
    fn a_number_out_of_range_is_an_error() {
        for (operation, number) in
            [(Operation::from(FiveCrop::new([2, 2])), 5), (TenCrop::new([2, 2]).into(), 10)]
        {
            let recipe = Recipe::new([operation]).picture(number);
            let error = recipe.draw(1, 0, ON, &mut Vec::new()).unwrap_err();
            assert!(error.to_string().contains("no picture with the number"), "{error}");
        }
    }

    #[test]
    fn crops_are_the_corners_and_the_center_and_those_of_the_mirrored_picture() {
        let five =
            [[0, 1, 7, 8], [5, 6, 12, 13], [28, 29, 35, 36], [33, 34, 40, 41], [16, 17, 23, 24]];
        for (number, want) in five.iter().enumerate() {
            assert_eq!(made(FiveCrop::new([2, 2]), number), want);
            assert_eq!(made(TenCrop::new([2, 2]), number), want);
        }
        // The center is 2 columns from the left of the mirrored picture: 3 from the left of the picture.
        let mirrored =
            [[6, 5, 13, 12], [1, 0, 8, 7], [34, 33, 41, 40], [29, 28, 36, 35], [18, 17, 25, 24]];
        for (number, want) in mirrored.iter().enumerate() {
            assert_eq!(made(TenCrop::new([2, 2]), FIVE + number), want);
        }
        let upended = TenCrop { vertical_flip: true, ..TenCrop::new([2, 2]) };
        assert_eq!(made(upended.clone(), 5), [35, 36, 28, 29]);
        assert_eq!(made(upended, 9), [23, 24, 16, 17]);
    }

    #[test]
    fn several_pictures_are_made_at_the_end_of_a_recipe_alone() {
        fn text(recipe: &Recipe) -> String {
            recipe.validate().unwrap_err().text().to_string()
        }

        let flip = Operation::from(RandomHorizontalFlip { p: 0.5 });
        let last = Recipe::new([flip.clone(), FiveCrop::new([2, 2]).into()]);
        last.validate().unwrap();
        assert_eq!(
            (last.pictures(), Recipe::new([TenCrop::new([2, 2]).into()]).pictures()),
            (5, 10)
        );
        assert_eq!((Recipe::new([flip.clone()]).pictures(), last.picture(3).pictures()), (1, 1));
        let first = Recipe::new([FiveCrop::new([2, 2]).into(), flip]);
        assert!(text(&first).contains("last operation"), "{}", text(&first));
        let inner = r#"[{"Compose": {"transforms": [{"TenCrop": {"size": [2, 2]}}]}}]"#;
        let inner: Recipe = serde_json::from_str(inner).unwrap();
        assert!(text(&inner).contains("last operation"), "{}", text(&inner));
        let error = last.draw(1, 0, ON, &mut Vec::new()).unwrap_err();
        assert!(error.text().contains("makes 5 pictures"), "{error}");
        assert!(text(&Recipe::new([TenCrop::new([0, 2]).into()])).contains("size"));
        let large = Recipe::new([FiveCrop::new([7, 2]).into()]).picture(0);
        assert!(large.draw(1, 0, ON, &mut Vec::new()).is_err());
    }
}
