//! Counts and sizes of a listing, from its sidecars alone: the data of `pack info`.

use std::collections::BTreeMap;

use serde::Serialize;
use tarflume_formats::{Index, Manifest, Result, name};
use tarflume_shards::listing::{Listing, Shard};

/// The counts and sizes of a listing.
#[derive(Debug, Default, Serialize)]
pub struct Survey {
    /// Samples.
    pub samples: u64,
    /// Shards.
    pub shards: u64,
    /// Bytes of all tars.
    pub bytes: u64,
    /// Bytes of all sidecars; 0 if there are none.
    pub sidecar_bytes: u64,
    /// Shards whose parts have checksums.
    pub with_checksums: u64,
    /// Parts and their bytes by extension.
    pub extensions: BTreeMap<String, ExtSum>,
    /// The smallest shard.
    pub smallest: Option<ShardSize>,
    /// The largest shard.
    pub largest: Option<ShardSize>,
    /// The images whose dimensions are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Images>,
    /// JPEG parts that have entry points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_points: Option<ExtSum>,
    /// JPEG parts whose strips have checksums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strips: Option<ExtSum>,
    /// The key of the first sample.
    pub first_key: Option<String>,
    /// The key of the last sample.
    pub last_key: Option<String>,
    /// The tar's digest, for a single tar without a manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// The root digest of a data set, which covers manifest, tars and sidecars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// What was stated about each build, by name; empty if nothing was stated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<BTreeMap<String, String>>,
    /// Program and version that wrote the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The splits, in the order of their first shards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<SplitSum>,
    /// Number of classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<u64>,
    /// Number of builds, if shards were appended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builds: Option<u64>,
    /// Content hash of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// The number and bytes of some parts: of one extension, or of all entry points.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct ExtSum {
    /// Number of parts.
    pub parts: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The counts of one split.
#[derive(Debug, Default, Clone, Serialize)]
pub struct SplitSum {
    /// Its name.
    pub name: String,
    /// Samples.
    pub samples: u64,
    /// Shards.
    pub shards: u64,
    /// Bytes of its tars.
    pub bytes: u64,
}

/// A shard and its size.
#[derive(Debug, Clone, Serialize)]
pub struct ShardSize {
    /// File name.
    pub name: String,
    /// Bytes of the tar.
    pub bytes: u64,
    /// Samples.
    pub samples: u64,
}

impl ShardSize {
    fn of(shard: &Shard) -> ShardSize {
        ShardSize {
            name: shard
                .tar
                .file_name()
                .expect("the path of a tar has a name")
                .to_string_lossy()
                .into_owned(),
            bytes: shard.index.tar().length,
            samples: shard.index.samples(),
        }
    }
}

/// Dimensions of images in pixels.
#[derive(Debug, Serialize)]
pub struct Images {
    /// Samples whose image's dimensions are known.
    pub known: u64,
    /// Widths.
    pub width: Spread,
    /// Heights.
    pub height: Spread,
}

/// The distribution of some numbers.
#[derive(Debug, Serialize)]
pub struct Spread {
    /// The smallest.
    pub min: u64,
    /// The median; the lower one of two.
    pub median: u64,
    /// The largest.
    pub max: u64,
}

/// Reads all rows once.
///
/// # Errors
/// Returns an error if a sidecar is damaged.
pub fn survey(listing: &Listing) -> Result<Survey> {
    let mut survey = Survey { shards: listing.shards.len() as u64, ..Survey::default() };
    let mut widths = BTreeMap::new();
    let mut heights = BTreeMap::new();
    for shard in &listing.shards {
        survey.samples += shard.index.samples();
        survey.bytes += shard.index.tar().length;
        survey.with_checksums += u64::from(shard.index.has_checksums());
        if shard.has_sidecar {
            survey.sidecar_bytes += shard.index.length();
        }
        survey.sizes(shard);
        let (parts, bytes) = shard.index.count_entry_points()?;
        add(&mut survey.entry_points, ExtSum { parts, bytes });
        let (parts, bytes) = shard.index.count_strips()?;
        add(&mut survey.strips, ExtSum { parts, bytes });
        rows(&shard.index, &mut survey.extensions, &mut widths, &mut heights)?;
    }
    survey.images = images(&widths, &heights);
    survey.ends(listing)?;
    match (&listing.manifest, listing.shards.as_slice()) {
        (Some(manifest), _) => {
            survey.root = listing.root.map(|root| root.to_hex().to_string());
            survey.provenance = manifest.provenance();
            if survey.provenance.iter().all(BTreeMap::is_empty) {
                survey.provenance.clear();
            }
            survey.tool = Some(name::shown(manifest.tool.as_bytes()));
            survey.splits = splits(manifest);
            survey.classes = manifest.about.classes.as_ref().map(|table| table.names.len() as u64);
            survey.builds = (manifest.builds() > 1).then_some(manifest.builds() as u64);
            survey.plan = manifest.plan.as_ref().map(|plan| name::shown(plan.as_bytes()));
        }
        (None, [shard]) => survey.blake3 = shard.index.tar().digest.map(|d| d.to_string()),
        _ => {}
    }
    Ok(survey)
}

/// Adds parts to a sum, if there are any.
fn add(sum: &mut Option<ExtSum>, more: ExtSum) {
    if more.parts > 0 {
        let sum = sum.get_or_insert_default();
        sum.parts += more.parts;
        sum.bytes += more.bytes;
    }
}

/// Returns the splits of a manifest with their counts.
fn splits(manifest: &Manifest) -> Vec<SplitSum> {
    let mut sums: Vec<SplitSum> = Vec::new();
    for shard in &manifest.shards {
        let Some(split) = &shard.split else { continue };
        let place = sums.iter().position(|sum| sum.name == *split);
        let place = place.unwrap_or_else(|| {
            sums.push(SplitSum { name: split.clone(), ..SplitSum::default() });
            sums.len() - 1
        });
        let sum = &mut sums[place];
        (sum.samples, sum.bytes) = (sum.samples + shard.samples, sum.bytes + shard.bytes);
        sum.shards += 1;
    }
    sums
}

impl Survey {
    fn sizes(&mut self, shard: &Shard) {
        let bytes = shard.index.tar().length;
        if self.smallest.as_ref().is_none_or(|smallest| bytes < smallest.bytes) {
            self.smallest = Some(ShardSize::of(shard));
        }
        if self.largest.as_ref().is_none_or(|largest| bytes > largest.bytes) {
            self.largest = Some(ShardSize::of(shard));
        }
    }

    fn ends(&mut self, listing: &Listing) -> Result<()> {
        let mut filled = listing.shards.iter().filter(|shard| shard.index.samples() > 0);
        if let Some(shard) = filled.next() {
            self.first_key = Some(name::shown(shard.index.key(0)?));
            let last = filled.next_back().unwrap_or(shard);
            self.last_key = Some(name::shown(last.index.key(last.index.samples() - 1)?));
        }
        Ok(())
    }
}

/// How often each width or height occurs: few values, however many images.
type Histogram = BTreeMap<u32, u64>;

fn rows(
    index: &Index,
    extensions: &mut BTreeMap<String, ExtSum>,
    widths: &mut Histogram,
    heights: &mut Histogram,
) -> Result<()> {
    let mut sums: BTreeMap<&[u8], ExtSum> = BTreeMap::new();
    for sample in index.iter() {
        let sample = sample?;
        if let Some((width, height)) = sample.dimensions {
            *widths.entry(width).or_default() += 1;
            *heights.entry(height).or_default() += 1;
        }
        for part in sample.parts() {
            let part = part?;
            let sum = sums.entry(part.ext).or_default();
            sum.parts += 1;
            sum.bytes += part.length;
        }
    }
    for (ext, sum) in sums {
        let all = extensions.entry(name::shown(ext)).or_default();
        all.parts += sum.parts;
        all.bytes += sum.bytes;
    }
    Ok(())
}

fn images(widths: &Histogram, heights: &Histogram) -> Option<Images> {
    let known = widths.values().sum();
    Some(Images { known, width: spread(widths)?, height: spread(heights)? })
}

fn spread(histogram: &Histogram) -> Option<Spread> {
    let total: u64 = histogram.values().sum();
    let min = *histogram.first_key_value()?.0;
    let max = *histogram.last_key_value()?.0;
    let mut before = 0;
    let median = histogram.iter().find_map(|(&value, count)| {
        before += count;
        (before * 2 >= total).then_some(value)
    })?;
    Some(Spread { min: min.into(), median: median.into(), max: max.into() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tarflume_formats::json::JsonRules;
    use tarflume_formats::{Durability, ShardWriter};

    use super::*;
    use tarflume_shards::listing;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        for (values, want) in
            [(vec![5], 5), (vec![1, 9], 1), (vec![1, 2, 9], 2), (vec![7, 7, 8, 9], 7)]
        {
            let mut histogram = Histogram::new();
            values.iter().for_each(|v| *histogram.entry(*v).or_default() += 1);
            assert_eq!(spread(&histogram).unwrap().median, want, "{values:?}");
        }
        assert!(spread(&Histogram::new()).is_none());
    }

    /// A shard of three pictures with these entry points.
    fn shard(dir: &Path, name: &str, points: [&[u8]; 3]) -> Vec<Shard> {
        let mut shard = ShardWriter::create(dir, name).unwrap();
        for (key, points) in [b"a", b"b", b"c"].into_iter().zip(points) {
            shard.begin(key);
            shard.part(b"jpg", 1).unwrap().fill(0);
            shard.entry_points(points);
            shard.strips(&points[..points.len().min(2)]);
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(dir, name, Durability::Cached).unwrap();
        listing::open(&dir.join(name)).unwrap().shards
    }

    #[test]
    fn entry_points_are_counted_over_all_shards() {
        let dir = tempfile::tempdir().unwrap();
        let mut shards = shard(dir.path(), "0.tar", [b"one", b"", b"three"]);
        shards.extend(shard(dir.path(), "1.tar", [b"", b"", b""]));
        shards.extend(shard(dir.path(), "2.tar", [b"", b"12345", b""]));
        let found =
            survey(&Listing { manifest: None, root: None, shards, json_rules: JsonRules::Strict })
                .unwrap();
        let sum = found.entry_points.unwrap();
        assert_eq!((sum.parts, sum.bytes), (3, 13));
        let sum = found.strips.unwrap();
        assert_eq!((sum.parts, sum.bytes), (3, 6));
        let shards = shard(dir.path(), "3.tar", [b"", b"", b""]);
        let found =
            survey(&Listing { manifest: None, root: None, shards, json_rules: JsonRules::Strict })
                .unwrap();
        assert!(found.entry_points.is_none() && found.strips.is_none());
    }
}
