//! `Draws`: some samples of a data set beside what a recipe of transforms makes of them.

use std::path::Path;

use image::imageops::{self, FilterType};
use image::{ImageBuffer, Rgb};
use serde::Serialize;
use tarflume::internal::{SingleRow, sample_seed};
use tarflume::transforms::actions::Action;
use tarflume::transforms::{Recipe, Shape};
use tarflume::{Image, Sample as Decoded, Scratch};
use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::index::{Part, Sample};
use tarflume_image::ImageSize;
use tarflume_shards::listing::{Listing, Shard};
use tarflume_types::{Error, ErrorKind, Result};

use super::picture::{jpeg, jpeg_url, thumbnail};
use crate::ordinals::Ordinals;
use crate::stats::{ShardParts, is_mask, is_picture};

/// What makes the file of a recipe.
const SAVE: &str = "write it with `recipe.save(\"recipe.json\")` of tarflume.transforms";

/// Longer pictures are not decoded.
const PICTURE: u64 = 256 << 20;

/// How many samples are drawn, and how often.
#[derive(Debug, Clone, Copy)]
pub struct DrawOptions {
    /// Samples, spread evenly over the data set.
    pub samples: u64,
    /// Draws of each: those of the epochs from 0 on.
    pub draws: u64,
    /// The seed of the loader.
    pub seed: u64,
    /// Longer side of a picture on the page in pixels.
    pub side: u32,
}

impl Default for DrawOptions {
    fn default() -> DrawOptions {
        DrawOptions { samples: 8, draws: 4, seed: 0, side: 160 }
    }
}

/// What a recipe makes of some samples.
#[derive(Debug, Clone, Serialize)]
pub struct Draws {
    /// The operations of the recipe.
    pub operations: Vec<String>,
    /// The samples.
    pub samples: Vec<DrawnSample>,
}

/// A sample, and draws of it.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnSample {
    /// Its ordinal.
    pub ordinal: u64,
    /// Its key.
    pub key: String,
    /// Why it is not drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Its picture, a JPEG in a data URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// Its draws.
    pub draws: Vec<DrawnPicture>,
}

/// What a recipe makes of a sample in one epoch.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnPicture {
    /// The epoch.
    pub epoch: u64,
    /// Its width and height.
    pub size: (u32, u32),
    /// What was drawn, in order.
    pub actions: Vec<Action>,
    /// The picture, a JPEG in a data URL.
    pub url: String,
}

/// Reads a recipe from a file: a list of operations as JSON, as `save` of Python's recipes writes it.
///
/// # Errors
/// Returns an error that names the file, and the line and column of what is no recipe.
pub fn read_recipe(path: &Path) -> Result<Recipe, Failure> {
    let bytes = files::read_whole(path, "read the recipe").map_err(|error| {
        if error.is_missing() {
            Failure::from(error).with_remedy(SAVE)
        } else {
            Failure::from(error)
        }
    })?;
    let recipe: Recipe = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::usage(format!("this is not a recipe: {error}; {SAVE}")).in_file(path)
    })?;
    if recipe.pictures() > 1 {
        let text = "FiveCrop and TenCrop make several pictures of one, and the page shows one: leave out the last operation";
        return Err(Failure::usage(text).in_file(path));
    }
    match recipe.validate() {
        Ok(()) => Ok(recipe),
        Err(error) => Err(Failure::usage(error.text()).in_file(path)),
    }
}

/// Applies a recipe to samples of a data set, as the column of a loader does. What cannot be decoded is stated in
/// [`DrawnSample::trouble`].
///
/// # Errors
/// Returns an error if a sidecar is damaged or the machine fails.
pub fn draws(listing: &Listing, recipe: &Recipe, options: DrawOptions) -> Result<Draws, Failure> {
    let ordinals = Ordinals::of(listing);
    let all = ordinals.samples();
    let count = all.min(options.samples);
    let mut samples = Vec::new();
    for number in 0..count {
        let ordinal = (u128::from(number) * u128::from(all) / u128::from(count)) as u64;
        if let Some((shard, sample)) = ordinals.sample(listing, ordinal)? {
            samples.push(drawn_sample(shard, &sample, ordinal, recipe, options)?);
        }
    }
    Ok(Draws { operations: recipe.labels(), samples })
}

fn drawn_sample(
    shard: &Shard,
    sample: &Sample<'_>,
    ordinal: u64,
    recipe: &Recipe,
    options: DrawOptions,
) -> Result<DrawnSample, Failure> {
    let mut drawn = DrawnSample {
        ordinal,
        key: sample.shown_key(),
        trouble: None,
        original: None,
        draws: Vec::new(),
    };
    match picture_of(shard, sample)? {
        Ok(bytes) => {
            if let Err(error) = drawn.fill(&bytes, recipe, options) {
                if error.kind() == ErrorKind::Machine {
                    return Err(Failure::try_again(error.text()));
                }
                drawn.trouble = Some(error.text().to_string());
            }
        }
        Err(why) => drawn.trouble = Some(why),
    }
    Ok(drawn)
}

/// The bytes of the picture of a sample, or why there are none.
fn picture_of(shard: &Shard, sample: &Sample<'_>) -> Result<Result<Vec<u8>, String>, Failure> {
    let mut found: Option<Part<'_>> = None;
    for part in sample.parts() {
        let part = part?;
        if found.is_none() && is_picture(part.ext) && !is_mask(part.ext) {
            found = Some(part);
        }
    }
    let Some(part) = found else { return Ok(Err("it has no picture".into())) };
    if part.length > PICTURE {
        return Ok(Err("its picture is longer than 256 MiB".into()));
    }
    let bytes = ShardParts::open(shard)?.read(&part, PICTURE)?;
    Ok(bytes.map_err(|error| error.text().to_string()))
}

impl DrawnSample {
    /// Adds the picture and its draws.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be decoded, or the recipe cannot be applied to it, and if the machine fails.
    fn fill(&mut self, bytes: &[u8], recipe: &Recipe, options: DrawOptions) -> Result<()> {
        let small = thumbnail(bytes, options.side).map_err(undecodable)?;
        self.original = Some(jpeg_url(&small.bytes));
        let (width, height) = small.size;
        let on = Shape { size: ImageSize::new(width, height), channels: 3 };
        let column = Image::new("picture", recipe.clone());
        let mut scratch = Scratch::default();
        for epoch in 0..options.draws {
            let seed = sample_seed(options.seed, epoch, self.ordinal);
            let mut actions = Vec::new();
            recipe.draw(seed, 0, on, &mut actions)?;
            let made = decode(&column, bytes, seed, &mut scratch)?;
            let size = made.dimensions();
            let small = reduced(made, options.side).map_err(undecodable)?;
            self.draws.push(DrawnPicture { epoch, size, actions, url: jpeg_url(&small) });
        }
        Ok(())
    }
}

fn undecodable(why: String) -> Error {
    Error::new(ErrorKind::Decode, why)
}

type Pixels = ImageBuffer<Rgb<u8>, Vec<u8>>;

/// The row of a picture in a column of red, green and blue.
fn decode(column: &Image, bytes: &[u8], seed: u64, scratch: &mut Scratch) -> Result<Pixels> {
    let parts = [("picture", bytes)];
    let sample = Decoded { seed, parts: &parts, ..Decoded::default() };
    let mut row = SingleRow::default();
    row.decode(column, &sample, scratch)?;
    let dims = row.dims(column);
    let pixels = Pixels::from_raw(dims[1] as u32, dims[0] as u32, row.bytes().to_vec());
    Ok(pixels.expect("a row of a column of RGB has three bytes a pixel"))
}

/// A picture as a JPEG whose longer side has at most `side` pixels.
fn reduced(picture: Pixels, side: u32) -> Result<Vec<u8>, String> {
    let longer = picture.width().max(picture.height());
    if longer <= side {
        return jpeg(picture.as_raw(), picture.width(), picture.height());
    }
    let sides = [picture.width(), picture.height()].map(u64::from);
    let [width, height] =
        sides.map(|n| (n * u64::from(side)).div_ceil(u64::from(longer)).max(1) as u32);
    let small = imageops::resize(&picture, width, height, FilterType::Triangle);
    jpeg(small.as_raw(), width, height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_fixtures::PHOTOS;
    use tarflume_formats::message::Face;

    fn recipe(json: &str) -> Recipe {
        serde_json::from_str(json).unwrap()
    }

    fn sample() -> DrawnSample {
        DrawnSample {
            ordinal: 3,
            key: "a".into(),
            trouble: None,
            original: None,
            draws: Vec::new(),
        }
    }

    const OPTIONS: DrawOptions = DrawOptions { samples: 8, draws: 3, seed: 7, side: 96 };

    #[test]
    fn each_epoch_has_a_picture_and_the_actions_that_made_it() {
        let recipe = recipe(
            r#"[{"RandomResizedCrop": {"size": [64, 128]}}, {"RandomHorizontalFlip": {"p": 0.5}},
                {"GaussianBlur": {"kernel_size": [5, 5]}}]"#,
        );
        let mut drawn = sample();
        drawn.fill(PHOTOS[0].jpeg, &recipe, OPTIONS).unwrap();
        assert!(drawn.original.unwrap().starts_with("data:image/jpeg;base64,"));
        assert_eq!(drawn.draws.len(), 3);
        let crops: Vec<&Action> = drawn.draws.iter().map(|draw| &draw.actions[0]).collect();
        assert!(crops[0] != crops[1] && crops[1] != crops[2], "{crops:?}");
        for draw in &drawn.draws {
            assert_eq!(draw.size, (128, 64));
            assert!(matches!(draw.actions.last(), Some(Action::GaussianBlur(_))));
        }
    }

    #[test]
    fn results_of_any_size_are_reduced_to_the_side() {
        let recipe = recipe(r#"[{"Resize": {"size": 150}}, {"RandomVerticalFlip": {"p": 1.0}}]"#);
        let mut drawn = sample();
        drawn.fill(PHOTOS[0].jpeg, &recipe, DrawOptions { draws: 1, ..OPTIONS }).unwrap();
        let (width, height) = drawn.draws[0].size;
        assert_eq!(width.min(height), 150);
        let column = Image::new("picture", recipe);
        let made = decode(&column, PHOTOS[0].jpeg, 0, &mut Scratch::default()).unwrap();
        let shown = image::load_from_memory(&reduced(made, 96).unwrap()).unwrap();
        assert_eq!(shown.width().max(shown.height()), 96);
    }

    #[test]
    fn a_file_that_is_no_recipe_is_named_with_the_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recipe.json");
        for (text, words) in [
            ("[\n {\"RandomFlip\": {}}]", vec!["unknown variant `RandomFlip`", "line 2 column"]),
            ("[{\"RandomRotation\": {\"degree\": 3}}]", vec!["unknown field `degree`", "line 1"]),
            ("[{\"RandomHorizontalFlip\": {\"p\": 2.0}}]", vec!["a probability is 0 to 1"]),
            ("recipe", vec!["this is not a recipe", "line 1 column 1"]),
        ] {
            std::fs::write(&path, text).unwrap();
            let message = read_recipe(&path).unwrap_err().message().in_face(Face::Command);
            for word in [path.to_str().unwrap()].into_iter().chain(words) {
                assert!(message.contains(word), "{text}: {message}");
            }
        }
        std::fs::write(&path, "[{\"RandomHorizontalFlip\": {}}]").unwrap();
        assert_eq!(read_recipe(&path).unwrap().labels(), ["RandomHorizontalFlip"]);
        let missing = read_recipe(&dir.path().join("none.json"))
            .unwrap_err()
            .message()
            .in_face(Face::Command);
        assert!(missing.contains("none.json") && missing.contains("recipe.save"), "{missing}");
    }
}
