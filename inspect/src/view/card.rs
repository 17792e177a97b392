//! `Card`: one sample as the page shows it.

use serde::Serialize;
use serde_json::Value;
use tarflume_base::Failure;
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::json::{JsonRules, parse};
use tarflume_formats::{ClassTable, ObjectTable, name};
use tarflume_image::ImageSize;
use tarflume_shards::listing::Shard;

use super::picture::{Thumbnail, exchanges_sides, mask, thumbnail};
use super::rle;
use super::shapes::{BoxForm, Drawn, Meaning, Shape, shapes};
use crate::stats::{CLASS_PART, ClassSource, Looked, ShardParts, is_mask, is_picture, look};

/// Longer pictures are not decoded.
const PICTURE: u64 = 256 << 20;
/// Bytes of a text that a card shows.
const TEXT: usize = 1500;
/// Parts that a card shows.
const PARTS: usize = 40;
/// The name of a mask of regions of the JSON.
const REGIONS: &str = "segmentation";
/// Extensions of texts.
const TEXTS: [&str; 5] = ["json", "txt", "cls", "caption", "csv"];

/// A sample with what is shown of it.
#[derive(Debug, Clone, Serialize)]
pub struct Card {
    /// Its ordinal.
    pub ordinal: u64,
    /// Its key.
    pub key: String,
    /// The file name of its shard.
    pub shard: String,
    /// Width and height of its picture, upright.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<(u32, u32)>,
    /// Its classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Its parts.
    pub parts: Vec<CardPart>,
    /// Boxes, polygons and keypoints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<Shape>,
    /// The extension of its picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// Its texts: extension, and the beginning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<(String, String)>,
    /// Why it has no thumbnail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The thumbnail of its picture.
    #[serde(skip)]
    pub thumbnail: Option<Thumbnail>,
    /// Its masks as PNGs: extension (`segmentation` for regions of the JSON), and bytes.
    #[serde(skip)]
    pub masks: Vec<(String, Vec<u8>)>,
}

/// A part.
#[derive(Debug, Clone, Serialize)]
pub struct CardPart {
    /// The extension.
    pub ext: String,
    /// Its bytes.
    pub bytes: u64,
}

/// How cards are made.
#[derive(Debug, Clone, Default)]
pub struct CardOptions<'a> {
    /// Longer side of the thumbnail in pixels; 0 for none: then the picture is not decoded.
    pub side: u32,
    /// Longer side of masks; 0 for their names alone.
    pub mask_side: u32,
    /// Where classes are.
    pub class: Option<&'a ClassSource>,
    /// The form of boxes; `None`: as the data set states or the fields tell.
    pub boxes: Option<BoxForm>,
    /// Which texts are JSON.
    pub json: JsonRules,
    /// The classes of the data set.
    pub table: Option<&'a ClassTable>,
    /// What the data set states about objects.
    pub objects: Option<&'a ObjectTable>,
}

/// Reads a sample. What cannot be decoded is stated in [`Card::trouble`].
///
/// # Errors
/// Returns an error if a sidecar is damaged or the machine fails.
pub fn card(
    shard: &Shard,
    sample: &Sample<'_>,
    ordinal: u64,
    options: &CardOptions<'_>,
) -> Result<Card, Failure> {
    let parts = ShardParts::open(shard)?;
    let file = shard.tar.file_name().unwrap_or_default();
    let mut card = Card {
        ordinal,
        key: sample.shown_key(),
        shard: name::shown(file.as_encoded_bytes()),
        size: sample.dimensions,
        classes: Vec::new(),
        parts: Vec::new(),
        shapes: Vec::new(),
        picture: None,
        texts: Vec::new(),
        trouble: None,
        thumbnail: None,
        masks: Vec::new(),
    };
    let mut json = None;
    for part in sample.parts() {
        let part = part?;
        let ext = name::shown(part.ext);
        if card.parts.len() < PARTS {
            card.parts.push(CardPart { ext: ext.clone(), bytes: part.length });
        }
        if is_mask(part.ext) && part.length <= PICTURE {
            card.add_mask(&parts, &part, &ext, options)?;
        } else if is_picture(part.ext) && card.picture.is_none() {
            card.add_picture(&parts, &part, &ext, options)?;
        } else if is_text(&ext) && part.length <= CLASS_PART {
            card.add_text(&parts, &part, &ext, &mut json, options)?;
        }
    }
    let (width, height) = card.size.unwrap_or_default();
    let size = ImageSize::new(width, height);
    let meaning = Meaning { form: options.boxes, table: options.table, objects: options.objects };
    let drawn = json.map(|json| shapes(&json, size, meaning));
    let Drawn { shapes, regions } = drawn.unwrap_or_default();
    card.shapes = shapes;
    let png = match options.mask_side {
        0 => (!regions.is_empty()).then(Vec::new),
        side => rle::draw(&regions, side),
    };
    card.masks.extend(png.map(|png| (REGIONS.to_string(), png)));
    Ok(card)
}

/// Returns the bytes of the largest part that [`card`] holds in memory.
///
/// # Errors
/// Returns an error if a sidecar is damaged.
pub fn bytes_of_card(sample: &Sample<'_>) -> Result<u64, Failure> {
    let mut most = 0;
    for part in sample.parts() {
        let part = part?;
        let limit = if is_mask(part.ext) || is_picture(part.ext) {
            PICTURE
        } else if is_text(&name::shown(part.ext)) {
            CLASS_PART
        } else {
            0
        };
        if part.length <= limit {
            most = most.max(part.length);
        }
    }
    Ok(most)
}

fn is_text(ext: &str) -> bool {
    TEXTS.iter().any(|text| ext.rsplit('.').next() == Some(text))
}

/// Returns true if a picture that is not a JPEG states an orientation that exchanges width and height. The metadata may
/// follow the pixels.
fn is_turned(parts: &ShardParts<'_>, part: &Part<'_>) -> Result<bool, Failure> {
    if part.length > PICTURE {
        return Ok(false);
    }
    let Ok(bytes) = parts.read(part, PICTURE)? else { return Ok(false) };
    Ok(exchanges_sides(&bytes))
}

impl Card {
    fn add_picture(
        &mut self,
        parts: &ShardParts<'_>,
        part: &Part<'_>,
        ext: &str,
        options: &CardOptions<'_>,
    ) -> Result<(), Failure> {
        self.picture = Some(ext.to_string());
        if options.side == 0 {
            if let Looked::Known(kind) = look(parts, part)? {
                self.size = self.size.or(kind.size);
                let is_turned = match kind.format {
                    "JPEG" => kind.is_turned,
                    _ => is_turned(parts, part)?,
                };
                self.size = self.size.map(|(w, h)| if is_turned { (h, w) } else { (w, h) });
            }
            return Ok(());
        }
        if part.length > PICTURE {
            self.trouble = Some(format!("{ext}: longer than 256 MiB"));
            return Ok(());
        }
        match parts.read(part, PICTURE)? {
            Ok(bytes) => match thumbnail(&bytes, options.side) {
                Ok(small) => {
                    self.size = Some(small.size);
                    self.thumbnail = Some(small);
                }
                Err(why) => self.trouble = Some(format!("{ext}: {why}")),
            },
            Err(error) => self.trouble = Some(format!("{ext}: {}", error.text())),
        }
        Ok(())
    }

    fn add_mask(
        &mut self,
        parts: &ShardParts<'_>,
        part: &Part<'_>,
        ext: &str,
        options: &CardOptions<'_>,
    ) -> Result<(), Failure> {
        if options.mask_side == 0 {
            self.masks.push((ext.to_string(), Vec::new()));
        } else if let Ok(bytes) = parts.read(part, PICTURE)?
            && let Ok(png) = mask(&bytes, options.mask_side)
        {
            self.masks.push((ext.to_string(), png.bytes));
        }
        Ok(())
    }

    fn add_text(
        &mut self,
        parts: &ShardParts<'_>,
        part: &Part<'_>,
        ext: &str,
        json: &mut Option<Value>,
        options: &CardOptions<'_>,
    ) -> Result<(), Failure> {
        let bytes = match parts.read(part, CLASS_PART)? {
            Ok(bytes) => bytes,
            Err(error) => {
                self.trouble = Some(format!("{ext}: {}", error.text()));
                return Ok(());
            }
        };
        if let Some(class) = options.class.filter(|class| class.ext() == ext) {
            self.classes = class.classes(&bytes, options.table, options.json).unwrap_or_default();
        }
        if ext == "json" {
            // Boxes are drawn to the pixel.
            *json = parse(&bytes, options.json).ok().map(|json| json.approximate());
        }
        self.texts.push((ext.to_string(), beginning(&bytes)));
        Ok(())
    }
}

/// Returns the first characters of a text.
fn beginning(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT)]);
    if bytes.len() > TEXT { format!("{text} ...") } else { text.into_owned() }
}
