//! `ColumnSet`: the columns of a loader, which parts each of them needs, and how a sample is written into a row.
//!
//! Knows decoders and slabs. Samples come from any source, as [`SampleView`]s.

use std::sync::Arc;

use tarflume_device::slab::{RowWriter, SlabLayout};
use tarflume_image::{ImageSize, StoredPicture, StoredRegion};
use tarflume_jpeg::Excerpt;
use tarflume_types::{Error, Result, RowShape};

use crate::decode::costs::operations::OperationLabels;
use crate::decode::{Decode, DecodeHooks, Sample, Scratch};
use crate::fetch::part_needs::PartNeeds;
use crate::loader::pipeline::panics::catch_panic;
use tarflume_formats::message;
use tarflume_formats::message::Phrase;

/// Columns by name, in the order in which they were added to the builder.
pub(crate) type Columns = Vec<(String, Arc<dyn Decode>)>;

/// The most parts that one column may be made from.
pub(crate) const MAX_PARTS: usize = 8;
/// The most samples that decoders see together.
pub(crate) const MAX_GROUP: usize = 8;
/// Bytes for each row in all lists together, without those for its columns and parts.
const ROW_LISTS: usize = 256;

/// One column: its name, and the decoder that writes its rows.
struct ColumnDecoder {
    name: String,
    decode: Arc<dyn Decode>,
    /// Which of the wanted parts it needs.
    needs: Vec<usize>,
    /// True if it wants their entry points.
    entry_points: bool,
    /// The samples that a row may have after the batch is closed.
    samples: u64,
}

/// A part as a column gets it. A part that the sample lacks has no bytes and an empty extension.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PartBytes<'a> {
    pub(crate) ext: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) entry_points: Option<&'a [u8]>,
    /// The rows that were read, if the part was not read whole.
    pub(crate) excerpt: Option<Excerpt<'a>>,
}

/// What identifies a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleFacts<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) ordinal: u64,
    /// The seed of its random numbers.
    pub(crate) seed: u64,
}

/// A sample whose bytes are in memory, from any source.
///
/// Statically dispatched: its methods run for every sample and part.
pub(crate) trait SampleView: Copy {
    /// The row of the batch that it is written into.
    fn row(&self) -> usize;

    /// Its ordinal in the data set.
    fn ordinal(&self) -> u64;

    /// What identifies it.
    fn facts(&self) -> SampleFacts<'_>;

    /// The part that meets need number `need`.
    fn part(&self, need: usize) -> PartBytes<'_>;

    /// Compares its parts with their checksums, if the loader is to do that.
    ///
    /// # Errors
    /// A checksum does not match.
    fn verify(&self) -> Result<()>;

    /// Adds the place of the sample to an error, of need number `need` if that is known.
    fn locate(&self, need: Option<usize>, error: Error) -> Error;
}

/// The parts of a sample that one column needs.
#[derive(Default)]
struct ColumnParts<'a> {
    parts: [(&'a str, &'a [u8]); MAX_PARTS],
    entry_points: [Option<&'a [u8]>; MAX_PARTS],
    excerpts: [Option<Excerpt<'a>>; MAX_PARTS],
}

/// The columns of a loader.
pub(crate) struct ColumnSet {
    decoders: Vec<ColumnDecoder>,
    /// Samples that decoders see together.
    group: usize,
    /// All parts that at least one column needs, each once.
    pub(crate) wanted: PartNeeds,
    /// The columns in the slab: the keys, then those of `columns`.
    pub(crate) layout: Arc<SlabLayout>,
    pub(crate) names: Arc<[String]>,
}

impl ColumnSet {
    /// The columns of batches of `rows` rows.
    ///
    /// # Errors
    /// Two columns have the same name, or one has none; a column needs too many parts; a batch is too large to address.
    pub(crate) fn new(columns: Columns, rows: usize) -> Result<ColumnSet> {
        let mut decoders = Vec::new();
        let mut exts: Vec<(String, bool)> = Vec::new();
        let mut names = vec!["key".to_string()];
        for (name, decode) in columns {
            if name.is_empty() || names.contains(&name) {
                let text = message!(
                    "there are two columns '{name}': give one another name with {column}";
                    column = Phrase::NamedColumn
                );
                return Err(Error::usage(text));
            }
            decode.validate().map_err(|e| e.of_column(&name))?;
            if decode.hooks().is_some_and(DecodeHooks::lacks_bucket) {
                return Err(no_bucket().of_column(&name));
            }
            if decode.hooks().is_some_and(DecodeHooks::lacks_boxes) {
                return Err(no_boxes().of_column(&name));
            }
            let parts = decode.parts();
            if parts.len() > MAX_PARTS {
                let text =
                    format!("column '{name}' needs {} parts; {MAX_PARTS} at most", parts.len());
                return Err(Error::usage(text));
            }
            let optional = decode.optional();
            let needs = parts.into_iter().map(|part| match exts.iter().position(|e| e.0 == part) {
                Some(at) => {
                    exts[at].1 &= optional;
                    at
                }
                None => {
                    exts.push((part, optional));
                    exts.len() - 1
                }
            });
            let needs = needs.collect();
            names.push(name.clone());
            let entry_points = decode.wants_entry_points();
            decoders.push(ColumnDecoder { name, decode, needs, entry_points, samples: 1 });
        }
        let key = RowShape::Variable(tarflume_types::DType::U8);
        let shapes = [key].into_iter().chain(decoders.iter().map(|column| column.decode.shape()));
        let layout = Arc::new(SlabLayout::new(shapes.collect(), rows)?);
        let mut wanted = PartNeeds::new();
        for (ext, optional) in &exts {
            if *optional {
                wanted.allow(ext)?
            } else {
                wanted.require(ext)?
            };
        }
        for column in decoders.iter().filter(|column| column.entry_points) {
            column.pictures().for_each(|need| wanted.with_entry_points(need));
        }
        for column in decoders.iter().filter(|column| column.decode.wants_pixels()) {
            column.needs.iter().for_each(|&need| wanted.with_pixels(need));
        }
        for column in &decoders {
            let hooks = column.decode.hooks();
            let mask = hooks.and_then(DecodeHooks::mask_part).and_then(|at| column.needs.get(at));
            mask.into_iter().for_each(|&need| wanted.with_mask(need));
            hooks.and_then(DecodeHooks::copied_from).into_iter().for_each(|ext| wanted.copies(ext));
        }
        let group = decoders.iter().map(|column: &ColumnDecoder| column.decode.group()).max();
        let group = group.unwrap_or(1).clamp(1, MAX_GROUP);
        let mut columns = ColumnSet { decoders, group, wanted, layout, names: names.into() };
        for need in 0..columns.wanted.len() {
            if columns.takes_excerpts(need) {
                columns.wanted.with_excerpts(need);
            }
        }
        Ok(columns)
    }

    /// The first need of which `met` is false, though its column cannot do without it. A column of optional parts needs
    /// one of them.
    pub(crate) fn unmet(&self, met: impl Fn(usize) -> bool) -> Option<usize> {
        self.decoders.iter().find_map(|column| {
            let unmet = column.needs.iter().copied().find(|&need| !met(need))?;
            let rest = column.decode.optional() && column.needs.iter().any(|&need| met(need));
            (!rest).then_some(unmet)
        })
    }

    /// Bytes of a batch without its variable columns: the rows, and the lists of the rows.
    pub(crate) fn batch_bytes(&self) -> u64 {
        let row = ROW_LISTS + 40 * self.columns() + 48 * self.wanted.len();
        let lists = (row as u64).saturating_mul(self.layout.rows() as u64);
        lists.saturating_add(self.layout.fixed_bytes() as u64)
    }

    /// True if every column holds the bytes of a part unchanged.
    pub(crate) fn copies(&self) -> bool {
        self.decoders.iter().all(|column| column.decode.copies())
    }

    /// Makes room for `samples` samples in each row of these variable columns, on average over a batch.
    pub(crate) fn make_room_for(&mut self, samples: u64, columns: impl Iterator<Item = usize>) {
        for column in columns.filter_map(|column| column.checked_sub(1)) {
            self.decoders[column].samples = samples;
        }
    }

    /// The columns, in the order in which they were added.
    pub(crate) fn decoders(&self) -> impl Iterator<Item = (&str, &dyn Decode)> {
        self.decoders.iter().map(|column| (column.name.as_str(), &*column.decode))
    }

    /// The names of the operations of each column, in the order of the columns.
    pub(crate) fn operations(&self) -> Vec<OperationLabels> {
        let labels = self.decoders.iter().map(|ColumnDecoder { name, decode, .. }| {
            let names = decode.hooks().map_or_else(Vec::new, DecodeHooks::operations);
            OperationLabels { column: name.clone(), names }
        });
        labels.collect()
    }

    /// Columns in the slab.
    pub(crate) fn columns(&self) -> usize {
        self.names.len()
    }

    /// The size of the pictures of slab column `column`, if its rows begin with a list for a device.
    pub(crate) fn listed(&self, column: usize) -> Option<ImageSize> {
        let hooks = self.decoders[column.checked_sub(1)?].decode.hooks()?;
        hooks.listed()
    }

    /// True if the rows of slab column `column` differ in length.
    pub(crate) fn is_variable(&self, column: usize) -> bool {
        self.layout.shapes()[column].bytes().is_none()
    }

    /// Bytes that a sample may take in slab column `column`. `key` is the length of its key; `part` returns the length of a
    /// part, and its number of pixels if that is known.
    pub(crate) fn room(
        &self,
        column: usize,
        key: usize,
        part: impl Fn(usize) -> (u64, Option<u64>),
    ) -> u64 {
        let Some(column) = column.checked_sub(1) else { return key as u64 };
        let column = &self.decoders[column];
        if let [need] = column.needs[..] {
            let (length, pixels) = part(need);
            return column.samples.saturating_mul(column.decode.room_of(&[length], &[pixels]));
        }
        let mut lengths = [0; MAX_PARTS];
        let mut pixels = [None; MAX_PARTS];
        for (n, &need) in column.needs.iter().enumerate() {
            (lengths[n], pixels[n]) = part(need);
        }
        let needs = column.needs.len();
        let room = column.decode.room_of(&lengths[..needs], &pixels[..needs]);
        column.samples.saturating_mul(room)
    }

    /// Passes the regions that columns decode of the part that meets need number `need` to `each`. Returns false if a
    /// column may need all of it.
    pub(crate) fn regions(
        &self,
        need: usize,
        picture: &StoredPicture,
        mut each: impl FnMut(StoredRegion),
    ) -> bool {
        let mut columns = self.decoders.iter().filter(|column| column.needs.contains(&need));
        columns.all(|column| {
            let found = column.decode.hooks().and_then(|hooks| hooks.region(picture));
            found.map(&mut each).is_some()
        })
    }

    /// True if excerpts of a part can be enough for the columns that use need number `need`.
    fn takes_excerpts(&self, need: usize) -> bool {
        let mut columns = self.decoders.iter().filter(|column| column.needs.contains(&need));
        columns.all(|column| {
            let hooks = column.decode.hooks();
            column.picture() == Some(need) && hooks.is_some_and(DecodeHooks::takes_excerpts)
        })
    }

    /// Samples that decoders see together.
    pub(crate) fn group(&self) -> usize {
        self.group
    }

    /// Shows decoders the samples that are written next, in this order.
    pub(crate) fn prepare<V: SampleView>(
        &self,
        group: &[Option<V>; MAX_GROUP],
        scratch: &mut Scratch,
    ) {
        let facts = group.each_ref().map(|sample| sample.as_ref().map(V::facts));
        let count = facts.iter().flatten().count();
        for column in self.decoders.iter().filter(|column| column.decode.group() > 1) {
            let mut parts: [ColumnParts<'_>; MAX_GROUP] = Default::default();
            let mut samples = [Sample::default(); MAX_GROUP];
            for (parts, sample) in parts.iter_mut().zip(group.iter().flatten()) {
                column.fill(parts, sample);
            }
            let facts = facts.iter().flatten();
            for (sample, (facts, parts)) in samples.iter_mut().zip(facts.zip(&parts)) {
                *sample = column.sample(facts, parts);
            }
            // An error here occurs again, and is reported, when the row is written.
            _ = catch_panic("the decoder", || {
                column.decode.prepare(&samples[..count], scratch);
                Ok(())
            });
            scratch.release();
        }
    }

    /// Writes a sample into its row, column by column.
    ///
    /// # Errors
    /// A decoder's error, and the number of the need that it concerns.
    pub(crate) fn write<V: SampleView>(
        &self,
        view: &V,
        row: &mut RowWriter<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), (Option<usize>, Error)> {
        let facts = view.facts();
        row.write(0, |mut row| row.put(facts.key)).map_err(|e| (None, e))?;
        let mut parts = ColumnParts::default();
        for (n, column) in self.decoders.iter().enumerate() {
            column.fill(&mut parts, view);
            let sample = column.sample(&facts, &parts);
            scratch.operations.begin(n);
            let decoded = catch_panic("the decoder", || {
                row.write(n + 1, |row| column.decode.decode(&sample, row, scratch))
            });
            scratch.release();
            decoded.map_err(|e| (column.needs.first().copied(), e.of_column(&column.name)))?;
        }
        Ok(())
    }
}

/// The error of a recipe that draws with boxes where there are none.
fn no_bucket() -> Error {
    Error::usage(message!(
        "BucketCrop has the size of a bucket: give the loader buckets of pictures, {buckets}";
        buckets = Phrase::AspectBuckets
    ))
}

fn no_boxes() -> Error {
    Error::usage(
        "RandomIoUCrop draws with the boxes of a picture, and the loader has no column of boxes for it: give \
         boxes=tarflume.Boxes(\"/boxes\", format=\"xywh\") (`Annotations::picture`), or leave the operation out",
    )
}

impl ColumnDecoder {
    /// The need of the picture whose rows of pixels can be enough.
    fn picture(&self) -> Option<usize> {
        match (self.named_picture(), &self.needs[..]) {
            (Some(need), _) | (None, &[need]) => Some(need),
            (None, _) => None,
        }
    }

    /// The need of the one part that is a picture, if the decoder tells.
    fn named_picture(&self) -> Option<usize> {
        let at = self.decode.hooks().and_then(DecodeHooks::picture_part)?;
        self.needs.get(at).copied()
    }

    /// The needs whose entry points are wanted.
    fn pictures(&self) -> impl Iterator<Item = usize> {
        let only = self.named_picture();
        self.needs.iter().copied().filter(move |&need| only.is_none_or(|only| only == need))
    }

    #[inline]
    fn fill<'a>(&self, to: &mut ColumnParts<'a>, sample: &'a impl SampleView) {
        for (n, &need) in self.needs.iter().enumerate() {
            let PartBytes { ext, bytes, entry_points, excerpt } = sample.part(need);
            to.parts[n] = (ext, bytes);
            (to.entry_points[n], to.excerpts[n]) = (entry_points, excerpt);
        }
    }

    fn sample<'a>(&self, facts: &SampleFacts<'a>, parts: &'a ColumnParts<'a>) -> Sample<'a> {
        let SampleFacts { key, ordinal, seed } = *facts;
        let needs = self.needs.len();
        let entry_points = if self.entry_points { &parts.entry_points[..needs] } else { &[] };
        let excerpts = if self.entry_points { &parts.excerpts[..needs] } else { &[] };
        Sample { key, ordinal, seed, parts: &parts.parts[..needs], entry_points, excerpts }
    }
}
