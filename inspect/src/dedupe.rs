//! Duplicates among the images of data sets: equal bytes, and images that look alike.
//!
//! Equal bytes are found from sizes and checksums in the sidecars, and confirmed by a digest of the bytes. Images that
//! look alike have perceptual hashes that differ in few bits: a discrete cosine transform of the image, reduced to 64
//! bits by its median (the library `image_hasher`). The first image of several in the order of the data sets is
//! kept. Memory: 40 bytes for each sample.

mod hash;
mod near;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tarflume::Dataset;
use tarflume_base::{Failure, Stop};
use tarflume_formats::files::{self, patiently};
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::message;
use tarflume_formats::url::url_of;
use tarflume_formats::{name, read_manifest};

use tarflume_formats::IMAGE_EXTS;

pub use self::near::MOST as MOST_DISTANCE;

/// How duplicates are found.
#[derive(Debug, Clone)]
pub struct Options {
    /// The extension of the images; `None` takes the first image of each sample.
    pub part: Option<String>,
    /// Bits in which the hashes of images that look alike differ at most; `None` finds equal bytes only.
    pub near: Option<u32>,
    /// Threads that decode.
    pub jobs: usize,
    /// Ends the search early.
    pub stop: Stop,
}

/// A sample, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The number of the data set, from 0.
    pub dataset: usize,
    /// The data set and its split, or one of them: `train`, `photos/val`.
    pub group: String,
    /// The key as text.
    pub key: String,
    /// The file name of the shard.
    pub shard: String,
}

/// A sample whose image is that of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The sample.
    pub sample: Place,
    /// The earlier one, which is kept.
    pub kept: Place,
    /// Bits in which the hashes differ; `None` if the bytes are equal.
    pub distance: Option<u32>,
}

/// Totals of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Samples.
    pub samples: u64,
    /// Samples with an image.
    pub images: u64,
    /// Images that could not be decoded; they are compared by their bytes alone.
    pub unread: u64,
    /// Duplicates with equal bytes.
    pub exact: u64,
    /// Duplicates that look alike.
    pub near: u64,
}

/// Finds duplicates in the data sets at `paths`, in this order; calls `put` with each, in the order of samples.
///
/// # Errors
/// Returns an error if a data set cannot be opened or is damaged, after an interruption, and the errors of `put`.
pub fn dedupe(
    paths: &[PathBuf],
    options: &Options,
    put: &mut dyn FnMut(Duplicate) -> Result<(), Failure>,
) -> Result<Totals, Failure> {
    for path in paths {
        if url_of(path).is_none() && !files::exists(path)? {
            return Err(
                Failure::usage(message!("{path} does not exist"; path = path)).with_file(path)
            );
        }
    }
    let names = names(paths)?;
    let datasets = paths
        .iter()
        .map(|path| Dataset::open(path.as_path()))
        .collect::<tarflume::Result<Vec<Dataset>>>()?;
    let groups = groups(paths, &names, &datasets)?;
    let dataset = Dataset::concat(&datasets)?;
    if dataset.len() > u64::from(u32::MAX) {
        return Err(Failure::usage(
            "more than 4,294,967,295 samples; search parts of the data sets",
        ));
    }
    let images = images(&dataset, options)?;
    let mut same: Vec<Option<Same>> = vec![None; dataset.len() as usize];
    exact(&dataset, &images, &options.stop, &mut same)?;
    let mut totals =
        Totals { samples: dataset.len(), images: images.len() as u64, ..Totals::default() };
    if let Some(distance) = options.near {
        totals.unread = alike(&dataset, &images, distance, options, &mut same)?;
    }
    for (ordinal, found) in (0u64..).zip(&same) {
        let Some(found) = found else { continue };
        match found.distance {
            None => totals.exact += 1,
            Some(_) => totals.near += 1,
        }
        let sample = place(&dataset, &groups, ordinal)?;
        let kept = place(&dataset, &groups, u64::from(found.of))?;
        put(Duplicate { sample, kept, distance: found.distance })?;
    }
    Ok(totals)
}

/// What an image is a duplicate of.
#[derive(Debug, Clone, Copy)]
struct Same {
    of: u32,
    distance: Option<u32>,
}

/// The image of a sample.
#[derive(Debug)]
struct ImagePart {
    ordinal: u32,
    length: u64,
    checksum: u32,
    ext: u16,
}

/// The images of all samples that have one, and their extensions.
#[derive(Debug, Default)]
struct Images {
    parts: Vec<ImagePart>,
    exts: Vec<String>,
}

impl Images {
    fn len(&self) -> usize {
        self.parts.len()
    }

    fn ext(&self, part: &ImagePart) -> &str {
        &self.exts[usize::from(part.ext)]
    }

    fn number(&mut self, ext: &str) -> u16 {
        let known = self.exts.iter().position(|known| known == ext);
        known.unwrap_or_else(|| {
            self.exts.push(ext.into());
            self.exts.len() - 1
        }) as u16 // at most the extensions of images
    }
}

fn images(dataset: &Dataset, options: &Options) -> Result<Images, Failure> {
    let mut images = Images::default();
    let mut lacks_checksums = false;
    for (shard, start) in dataset.shards().iter().zip(dataset.starts()) {
        let index = shard.index()?;
        lacks_checksums |= !index.has_checksums();
        for sample in index.iter() {
            let sample = sample?;
            let ordinal = (start + sample.row) as u32;
            for part in sample.parts() {
                let part = part?;
                let Ok(ext) = std::str::from_utf8(part.ext) else { continue };
                let is_image = match &options.part {
                    Some(wanted) => ext == wanted,
                    None => IMAGE_EXTS.contains(&ext),
                };
                if is_image {
                    let length = part.length;
                    let checksum = part.checksum.unwrap_or(0);
                    let ext = images.number(ext);
                    images.parts.push(ImagePart { ordinal, length, checksum, ext });
                    break;
                }
            }
        }
        index.intact()?;
        if options.stop.requested() {
            return Err(Failure::interrupted());
        }
    }
    if lacks_checksums {
        // A checksum beside none would hide equal bytes: the bytes of all images of one length are compared.
        images.parts.iter_mut().for_each(|part| part.checksum = 0);
    }
    Ok(images)
}

/// Finds images with equal bytes.
fn exact(
    dataset: &Dataset,
    images: &Images,
    stop: &Stop,
    same: &mut [Option<Same>],
) -> Result<(), Failure> {
    let mut order: Vec<&ImagePart> = images.parts.iter().collect();
    order.sort_unstable_by_key(|part| (part.length, part.checksum, part.ordinal));
    let groups = order.chunk_by(|a, b| (a.length, a.checksum) == (b.length, b.checksum));
    for group in groups.filter(|group| group.len() > 1) {
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        let mut first: HashMap<[u8; 32], u32> = HashMap::new();
        for part in group {
            let ext = images.ext(part);
            let sample = dataset.get_parts(u64::from(part.ordinal), &[ext])?;
            let bytes = sample.part(ext).map_or(&[][..], |bytes| bytes.as_slice());
            let digest = *blake3::hash(bytes).as_bytes();
            let of = *first.entry(digest).or_insert(part.ordinal);
            if of != part.ordinal {
                same[part.ordinal as usize] = Some(Same { of, distance: None });
            }
        }
    }
    Ok(())
}

/// Finds images whose hashes differ in at most `distance` bits, among those whose bytes are not those of an earlier one.
/// Returns the number of images that could not be decoded.
fn alike(
    dataset: &Dataset,
    images: &Images,
    distance: u32,
    options: &Options,
    same: &mut [Option<Same>],
) -> Result<u64, Failure> {
    let wanted = images.parts.iter().filter(|part| same[part.ordinal as usize].is_none());
    let ordinals: Vec<u32> = wanted.map(|part| part.ordinal).collect();
    let Options { jobs, stop, .. } = options;
    let mut hashed = hash::all(dataset, &ordinals, &images.exts, *jobs, stop)?;
    let unread = ordinals.len() - hashed.len();
    // Many images can have one hash, such as blank ones: only the first of them is compared.
    hashed.sort_unstable_by_key(|&(ordinal, hash)| (hash, ordinal));
    let mut firsts: Vec<(u32, u64)> = Vec::new();
    for group in hashed.chunk_by(|a, b| a.1 == b.1) {
        firsts.push(group[0]);
        for &(ordinal, _) in &group[1..] {
            same[ordinal as usize] = Some(Same { of: group[0].0, distance: Some(0) });
        }
    }
    firsts.sort_unstable();
    let hashes: Vec<u64> = firsts.iter().map(|&(_, hash)| hash).collect();
    for pair in near::pairs(&hashes, distance) {
        let later = firsts[pair.later as usize].0;
        let earlier = firsts[pair.earlier as usize].0;
        // Pairs are in the order of the later one, so whether the earlier one is kept is known.
        if same[later as usize].is_none() && same[earlier as usize].is_none() {
            same[later as usize] = Some(Same { of: earlier, distance: Some(pair.distance) });
        }
    }
    follow(same);
    Ok(unread as u64)
}

/// Makes each duplicate one of an image that is kept: of images with one hash, the first may be a duplicate itself.
fn follow(same: &mut [Option<Same>]) {
    for n in 0..same.len() {
        let Some(found) = same[n] else { continue };
        // The image before it in the order has been followed already.
        if let Some(before) = same[found.of as usize] {
            let distance = found.distance.or(before.distance).max(before.distance);
            same[n] = Some(Same { of: before.of, distance });
        }
    }
}

/// Samples of one split of a data set.
struct Group {
    ordinals: Range<u64>,
    dataset: usize,
    name: String,
}

/// Names each data set by the last folders of its path, as many as tell all apart.
///
/// # Errors
/// Returns an error if a data set is given twice: each of its samples would be a duplicate of itself.
fn names(paths: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let mut whole = Vec::with_capacity(paths.len());
    for path in paths {
        whole.push(match url_of(path) {
            Some(_) => path.clone(),
            None => {
                patiently(|| fs::canonicalize(path)).map_err(|e| Failure::io(e, "find", path))?
            }
        });
    }
    for (n, path) in whole.iter().enumerate() {
        if whole[..n].contains(path) {
            let text =
                "is given twice, so each sample would be a duplicate of itself; give it once";
            return Err(
                Failure::usage(message!("{path} {text}"; path = &paths[n])).with_file(&paths[n])
            );
        }
    }
    let longest = whole.iter().map(|path| path.components().count()).max().unwrap_or(0);
    let mut folders = 1;
    loop {
        let names: Vec<String> = whole.iter().map(|path| last_folders(path, folders)).collect();
        if folders >= longest || are_distinct(&names) {
            return Ok(names);
        }
        folders += 1;
    }
}

fn are_distinct(names: &[String]) -> bool {
    names.iter().collect::<HashSet<_>>().len() == names.len()
}

/// Returns the last folders of a path, `folders` of them.
fn last_folders(path: &Path, folders: usize) -> String {
    let skipped = path.components().count().saturating_sub(folders);
    let name: PathBuf = path.components().skip(skipped).collect();
    name.to_string_lossy().into_owned()
}

/// Names the splits in the data sets.
fn groups(
    paths: &[PathBuf],
    names: &[String],
    datasets: &[Dataset],
) -> Result<Vec<Group>, Failure> {
    let mut groups = Vec::new();
    let mut start = 0;
    for (number_of_set, (path, dataset)) in paths.iter().zip(datasets).enumerate() {
        let name = names.get(number_of_set).filter(|_| paths.len() > 1);
        let splits = splits(path)?;
        let counts = dataset.counts();
        for (number, &samples) in counts.iter().enumerate() {
            let split =
                splits.get(number).filter(|_| splits.len() == counts.len()).cloned().flatten();
            let name = match (name, split) {
                (Some(name), Some(split)) => format!("{name}/{split}"),
                (Some(name), None) => name.clone(),
                (None, split) => split.unwrap_or_default(),
            };
            groups.push(Group { ordinals: start..start + samples, dataset: number_of_set, name });
            start += samples;
        }
    }
    Ok(groups)
}

/// Returns the split of each shard of the data set in a folder.
fn splits(path: &Path) -> Result<Vec<Option<String>>, Failure> {
    let manifest = path.join(FILE_NAME);
    if url_of(path).is_some() || !files::exists(&manifest)? {
        return Ok(Vec::new());
    }
    Ok(read_manifest(&manifest)?.shards.into_iter().map(|shard| shard.split).collect())
}

fn place(dataset: &Dataset, groups: &[Group], ordinal: u64) -> Result<Place, Failure> {
    let group = groups.get(groups.partition_point(|group| group.ordinals.end <= ordinal));
    let shard = dataset.place(ordinal).map(|(shard, _)| dataset.shard(shard).path());
    let shard = shard.and_then(Path::file_name).unwrap_or_default();
    Ok(Place {
        dataset: group.map_or(0, |group| group.dataset),
        group: group.map_or(String::new(), |group| group.name.clone()),
        key: name::shown(&dataset.key(ordinal)?),
        shard: shard.to_string_lossy().into_owned(),
    })
}
