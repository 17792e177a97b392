//! Perceptual hashes of the images of a data set: decoded by the loader, hashed by `image_hasher`.

use image::GrayImage;
use image_hasher::{HashAlg, Hasher, HasherConfig};
use rayon::prelude::*;
use tarflume::{Channels, Dataset, Image, Loader, OnBad, Remainder, Resize};
use tarflume_base::{Failure, Stop};

/// Width and height to which images are decoded: those of the transform, so that the library does not resize.
const SIDE: u32 = 16;
/// Images of a batch.
const BATCH: u64 = 256;

/// Returns the hashes of the images of these samples, ascending by ordinal. A sample whose image cannot be decoded is
/// left out.
///
/// # Errors
/// Returns an error if the machine fails, and after an interruption.
pub(super) fn all(
    dataset: &Dataset,
    ordinals: &[u32],
    exts: &[String],
    jobs: usize,
    stop: &Stop,
) -> Result<Vec<(u32, u64)>, Failure> {
    if ordinals.is_empty() {
        return Ok(Vec::new());
    }
    let picture = Image::new(exts.join(";"), Resize::exact(SIDE)).channels(Channels::Luma);
    let mut wanted = ordinals.iter().peekable();
    let loader = Loader::from_dataset(dataset.clone())
        .batch(BATCH)
        .remainder(Remainder::Uneven)
        .threads(jobs)
        .on_bad(OnBad::Skip)
        .filter(|facts| wanted.next_if(|&&next| u64::from(next) == facts.ordinal()).is_some())
        .column("image", picture)
        .build()?;
    let hasher = HasherConfig::with_bytes_type::<[u8; 8]>()
        .hash_size(8, 8)
        .hash_alg(HashAlg::Median)
        .preproc_dct()
        .to_hasher();
    let mut hashes = Vec::with_capacity(ordinals.len());
    for batch in loader.epoch(0) {
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        let batch = batch?;
        let column = batch.column("image")?;
        let rows: Vec<(usize, u64)> = batch.ordinals().enumerate().collect();
        hashes.par_extend(rows.par_iter().filter_map(|&(row, ordinal)| {
            hash(&hasher, column.row(row)).map(|hash| (ordinal as u32, hash))
        }));
    }
    hashes.sort_unstable();
    Ok(hashes)
}

fn hash(hasher: &Hasher<[u8; 8]>, pixels: &[u8]) -> Option<u64> {
    let image = GrayImage::from_raw(SIDE, SIDE, pixels.to_vec())?;
    Some(u64::from_le_bytes(hasher.hash_image(&image).into_inner()))
}
