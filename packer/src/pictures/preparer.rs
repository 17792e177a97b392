//! `Preparer`: the bytes of an image -> the bytes that are packed.

use fast_image_resize::Resizer;
use tarflume_image::ImageSize;
use tarflume_jpeg::{
    Decoder, ErrorKind, Header, Metadata, Rewriter, color_profile, strip_metadata,
};

use super::decode::{self, Other};
use super::fault::PictureFault;
use super::options::Preparation;
use super::pixels::{Raster, Segments};

/// Limit on the bytes of a decoder's buffers that are kept.
const KEPT: usize = 16 << 20;

/// An image that was prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its extension if that is another one now: `jpg`.
    pub ext: Option<&'static str>,
    /// Its size before, as stored.
    pub before: ImageSize,
    /// Its size after, as stored.
    pub after: ImageSize,
    /// Whether it was resized.
    pub resized: bool,
    /// Whether it was turned upright.
    pub turned: bool,
    /// Whether it has another format.
    pub converted: bool,
    /// Whether its pixels are the same: only its coding and its metadata may differ.
    pub lossless: bool,
}

/// Prepares images. It reuses its memory from image to image, so each thread should keep one. The
/// result depends on the options and the bytes alone.
#[derive(Debug)]
pub struct Preparer {
    options: Preparation,
    decoder: Decoder,
    rewriter: Rewriter,
    resizer: Resizer,
}

/// Returns true for the extensions of JPEGs.
fn is_named_jpeg(ext: &[u8]) -> bool {
    [&b"jpg"[..], b"jpeg", b"jfif", b"jpe", b"mpo"].iter().any(|jpg| ext.eq_ignore_ascii_case(jpg))
}

impl Preparer {
    /// Creates a preparer with these options.
    pub fn new(options: Preparation) -> Preparer {
        Preparer {
            options,
            decoder: Decoder::new(),
            rewriter: Rewriter::new(),
            resizer: Resizer::new(),
        }
    }

    /// Returns the options.
    pub fn options(&self) -> &Preparation {
        &self.options
    }

    /// Returns true if parts of this extension are prepared: those of JPEGs, `png` and `webp`. Parts
    /// with a name before that (`mask.png`) are not: they may be masks, whose values must not be
    /// mixed.
    pub fn concerns(ext: &[u8]) -> bool {
        is_named_jpeg(ext)
            || [&b"png"[..], b"webp"].iter().any(|known| ext.eq_ignore_ascii_case(known))
    }

    /// Prepares an image of this extension; `None` if it stays as it is. A PNG or WebP becomes
    /// a `jpg` only if `may_rename`; give false if the sample has a part of that name.
    ///
    /// Left as they are: formats other than JPEG, PNG and WebP, animations, JPEGs that are not
    /// decoded (12 bits, arithmetic coding, lossless) except for their metadata, PNGs with a palette
    /// or with 16 bits unless they become JPEG, WebP unless it becomes JPEG, images of more than
    /// 2^28 pixels. An image with translucent pixels does not become a JPEG.
    ///
    /// # Errors
    /// [`PictureFault::Data`]: the image is damaged. [`PictureFault::Machine`]: no memory.
    pub fn prepare(
        &mut self,
        ext: &[u8],
        bytes: &[u8],
        may_rename: bool,
    ) -> Result<Option<Prepared>, PictureFault> {
        if !Preparer::concerns(ext) {
            return Ok(None);
        }
        let rename = self.options.to_jpeg && may_rename && !is_named_jpeg(ext);
        if bytes.starts_with(&[0xff, 0xd8]) {
            return self.jpeg(bytes); // the content decides, as in the reader
        }
        match Other::of(bytes) {
            Some(kind) => self.other(bytes, kind, rename),
            None => Ok(None),
        }
    }

    fn jpeg(&mut self, bytes: &[u8]) -> Result<Option<Prepared>, PictureFault> {
        let header = Header::parse(bytes).map_err(|e| PictureFault::of_jpeg(&e))?;
        let size = ImageSize::new(header.width(), header.height());
        let orientation = header.orientation().unwrap_or(1);
        let to = self.target(size, orientation);
        let turn = if self.options.orient { orientation } else { 1 };
        let is_decoded = header.unsupported().is_none() && decode::is_decoded(size);
        if !is_decoded || (to == size && turn == 1) {
            return self.rewritten(bytes, &header, is_decoded);
        }
        let raster = decode::jpeg(&mut self.decoder, bytes, &header, to)?;
        self.decoder.drop_large(KEPT);
        // The profile of inks does not fit red, green and blue.
        let profile = if header.channels() == 4 { None } else { color_profile(bytes) };
        let orientation = Some(orientation).filter(|&known| known > 1 && turn == 1);
        let raster = self.finished(raster, to, turn)?;
        let bytes = self.encoded(&raster, &Segments { profile, orientation })?;
        let resized = to != size;
        let turned = turn > 1;
        let after = raster.size;
        let ext = None;
        let before = size;
        Ok(Some(Prepared {
            bytes,
            ext,
            before,
            after,
            resized,
            turned,
            converted: false,
            lossless: false,
        }))
    }

    /// Returns the size of the pixels as stored after resizing.
    fn target(&self, size: ImageSize, orientation: u8) -> ImageSize {
        match self.options.resize {
            Some(resize) if orientation >= 5 => resize.of(size.transposed()).transposed(),
            Some(resize) => resize.of(size),
            None => size,
        }
    }

    fn finished(
        &mut self,
        raster: Raster,
        to: ImageSize,
        turn: u8,
    ) -> Result<Raster, PictureFault> {
        let raster =
            if raster.size == to { raster } else { raster.resized(&mut self.resizer, to)? };
        if self.resizer.size_of_internal_buffers() > KEPT {
            self.resizer.reset_internal_buffers();
        }
        Ok(raster.turned(turn))
    }

    /// Encodes a JPEG of one scan with optimal Huffman tables. (The encoder's own optimal tables come
    /// with a scan for each component, which takes longer to decode and has no entry points.)
    fn encoded(&mut self, raster: &Raster, segments: &Segments) -> Result<Vec<u8>, PictureFault> {
        let usual = raster.to_jpeg(self.options.quality, segments)?;
        let header = Header::parse(&usual).map_err(|e| PictureFault::of_jpeg(&e))?;
        let optimal = self.rewriter.baseline(&usual, &header, Metadata::Keep);
        optimal.map_err(|e| PictureFault::of_jpeg(&e))
    }

    /// Writes a JPEG again without a change of its pixels.
    fn rewritten(
        &mut self,
        bytes: &[u8],
        header: &Header,
        is_decoded: bool,
    ) -> Result<Option<Prepared>, PictureFault> {
        if !self.options.rewrites() {
            return Ok(None);
        }
        let Preparation { optimize, baseline, strip_metadata: strip, .. } = self.options;
        let mut found = None;
        if strip {
            found = Some(strip_metadata(bytes, header).map_err(|e| PictureFault::of_jpeg(&e))?);
        }
        let must = baseline && header.has_several_scans();
        if is_decoded && (optimize || must) && Rewriter::memory(header) <= decode::MEMORY {
            let metadata = if strip { Metadata::Strip } else { Metadata::Keep };
            match self.rewriter.baseline(bytes, header, metadata) {
                Ok(new) if must || new.len() < found.as_deref().unwrap_or(bytes).len() => {
                    found = Some(new);
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                Err(error) => return Err(PictureFault::of_jpeg(&error)),
            }
        }
        let size = ImageSize::new(header.width(), header.height());
        Ok(found.filter(|new| new != bytes).map(|bytes| Prepared {
            bytes,
            ext: None,
            before: size,
            after: size,
            resized: false,
            turned: false,
            converted: false,
            lossless: true,
        }))
    }

    fn other(
        &mut self,
        bytes: &[u8],
        kind: Other,
        rename: bool,
    ) -> Result<Option<Prepared>, PictureFault> {
        let (size, orientation) = decode::facts(bytes)?;
        let to = self.target(size, orientation);
        let turns = self.options.orient && orientation > 1;
        let is_plain = kind == Other::Png && (to != size || turns);
        if !decode::is_decoded(size) || !(rename || is_plain) {
            return Ok(None);
        }
        let raster = decode::other(bytes)?;
        let fits = to.width.max(to.height) <= u32::from(u16::MAX);
        let converted = rename && fits && !raster.is_translucent();
        if !converted && !is_plain {
            return Ok(None);
        }
        // The tag of a JPEG may stay; a PNG is written without.
        let turn = if self.options.orient || !converted { orientation } else { 1 };
        let raster = self.finished(raster, to, turn)?;
        let bytes = if converted {
            let orientation = Some(orientation).filter(|&known| known > 1 && turn == 1);
            self.encoded(&raster, &Segments { profile: None, orientation })?
        } else {
            raster.to_png()?
        };
        Ok(Some(Prepared {
            bytes,
            ext: converted.then_some("jpg"),
            before: size,
            after: raster.size,
            resized: to != size,
            turned: turn > 1,
            converted,
            lossless: false,
        }))
    }
}
