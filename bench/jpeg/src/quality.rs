//! How far each competitor's pixels are from the reference's.

use crate::work::{Competitor, Data, Queue};

/// Differences over all images.
#[derive(Default)]
pub(crate) struct Quality {
    pub(crate) images: usize,
    /// Images that are equal in every byte.
    pub(crate) equal: usize,
    pub(crate) largest: u8,
    absolute: u64,
    squared: u64,
    bytes: u64,
}

impl Quality {
    /// The mean of all differences.
    pub(crate) fn mean(&self) -> f64 {
        self.absolute as f64 / self.bytes as f64
    }

    /// Of all bytes together, dB; infinite where all are equal.
    pub(crate) fn psnr(&self) -> f64 {
        10.0 * (255.0 * 255.0 * self.bytes as f64 / self.squared as f64).log10()
    }

    fn add(&mut self, ours: &[u8], reference: &[u8]) {
        assert_eq!(ours.len(), reference.len());
        self.images += 1;
        self.bytes += ours.len() as u64;
        self.equal += usize::from(ours == reference);
        for (a, b) in ours.iter().zip(reference) {
            let off = a.abs_diff(*b);
            self.largest = self.largest.max(off);
            self.absolute += u64::from(off);
            self.squared += u64::from(off).pow(2);
        }
    }
}

/// All pixels that a competitor makes, by item.
fn pixels(data: &Data, competitor: &Competitor) -> Result<Vec<Vec<u8>>, String> {
    let mut all = vec![Vec::new(); data.items.len()];
    let mut see = |item: usize, pixels: &[u8]| all[item] = pixels.to_vec();
    let done = (competitor.make)(data).work(&Queue::new(data, 1), &mut see);
    done.map_err(|why| format!("{}: {why}", competitor.name))?;
    Ok(all)
}

/// Each competitor beside the reference.
///
/// # Errors
/// The competitor's name, and why it failed.
pub(crate) fn compare(
    data: &Data,
    reference: &Competitor,
    competitors: &[Competitor],
) -> Result<Vec<(&'static str, Quality)>, String> {
    let right = pixels(data, reference)?;
    let mut found = Vec::new();
    for competitor in competitors {
        let mut quality = Quality::default();
        for (ours, right) in pixels(data, competitor)?.iter().zip(&right) {
            quality.add(ours, right);
        }
        found.push((competitor.name, quality));
    }
    Ok(found)
}
