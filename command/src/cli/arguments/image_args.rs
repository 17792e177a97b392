//! The arguments that prepare images while they are packed.

use tarflume_base::Failure;
use tarflume_packer::pictures::{Preparation, ResizeTo};

/// How images are prepared. Everything here is a part of the plan.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::cli) struct ImageArgs {
    /// Reduce larger images: short:320 and long:512 set a side and keep the ratio, 256x256 sets both
    ///
    /// Nothing is enlarged. Only parts named jpg, jpeg, png and webp are prepared: a part such as
    /// mask.png keeps its bytes and its size. JPEGs stay JPEGs and PNGs stay PNGs. WebP is resized with
    /// --to-jpeg only; PNGs with a palette or 16 bits, too.
    #[arg(help_heading = "Images", long, value_name = "SIZE", value_parser = ResizeTo::parse)]
    resize: Option<ResizeTo>,
    /// Encode JPEGs that are resized, turned or converted at this quality, 1 to 100 [default: 90]
    #[arg(help_heading = "Images", long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    quality: Option<u8>,
    /// Turn pixels upright by their EXIF orientation, and leave the tag out; JPEGs are encoded again
    #[arg(help_heading = "Images", long)]
    orient: bool,
    /// Convert PNG and WebP to JPEG, except for images with translucent pixels; a.png becomes a.jpg
    #[arg(help_heading = "Images", long)]
    to_jpeg: bool,
    /// Give JPEGs optimal Huffman tables where that makes them smaller; no pixel changes
    #[arg(help_heading = "Images", long)]
    optimize: bool,
    /// Make progressive JPEGs baseline, which is decoded faster and has entry points; no pixel changes
    #[arg(help_heading = "Images", long)]
    baseline: bool,
    /// Leave out metadata of JPEGs: camera, place, thumbnail, comments; no pixel changes.
    ///
    /// The color profile, the kind of color and the orientation stay.
    #[arg(help_heading = "Images", long)]
    strip_metadata: bool,
    /// Note the sizes of the first image in the sample's JSON: original_width, original_height,
    /// original_bytes, width, height
    ///
    /// Fields that the JSON has already stay as they are. A sample without a JSON gets one.
    #[arg(help_heading = "Images", long)]
    keep_original_size: bool,
}

impl ImageArgs {
    /// Returns what is done to images.
    ///
    /// # Errors
    /// Returns an error for a quality that no image would have.
    pub(in crate::cli) fn preparation(self) -> Result<Preparation, Failure> {
        let encodes = self.resize.is_some() || self.orient || self.to_jpeg;
        if self.quality.is_some() && !encodes {
            let text = "--quality: no image is encoded; give --resize, --orient or --to-jpeg, too";
            return Err(Failure::usage(text));
        }
        let usual = Preparation::default();
        Ok(Preparation {
            resize: self.resize,
            quality: self.quality.unwrap_or(usual.quality),
            strip_metadata: self.strip_metadata,
            orient: self.orient,
            optimize: self.optimize,
            baseline: self.baseline,
            to_jpeg: self.to_jpeg,
            keep_original_size: self.keep_original_size,
        })
    }
}
