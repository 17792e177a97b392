//! What is made of a sample: the columns, and which parts each of them needs.

use std::sync::Arc;

use crate::column::RowShape;
use crate::decode::{Decode, Sample, Scratch};
use crate::error::{Error, Result};
use crate::fetch::wanted::Wanted;
use crate::loader::pipeline::panics::caught;
use crate::slab::{Layout, Lent};

/// Columns by name, in the order in which the loader was told of them.
pub(crate) type Columns = Vec<(String, Arc<dyn Decode>)>;

/// The most parts that one column may be made from.
pub(crate) const MAX_PARTS: usize = 8;
/// The most samples that decoders see together.
pub(crate) const MAX_GROUP: usize = 8;
/// Bytes that all lists together have of a row, beside those of its columns and parts.
const ROW_LISTS: usize = 256;

/// One column: its name, and who writes its rows.
pub(crate) struct ColumnRecipe {
    pub(crate) name: String,
    pub(crate) decode: Arc<dyn Decode>,
    /// Which of the wanted parts it needs.
    needs: Vec<usize>,
    /// True if it wants their entry points.
    points: bool,
}

/// A part as it is handed to a column: of one that isn't there no bytes under an empty extension.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    pub(crate) ext: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) entry_points: Option<&'a [u8]>,
}

/// What a sample is known by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) ordinal: u64,
    /// The seed of its random numbers.
    pub(crate) seed: u64,
}

/// The parts of a sample that one column needs.
#[derive(Default)]
struct Parts<'a> {
    parts: [(&'a str, &'a [u8]); MAX_PARTS],
    points: [Option<&'a [u8]>; MAX_PARTS],
}

/// What is made of every sample of a loader.
pub(crate) struct ColumnSet {
    recipes: Vec<ColumnRecipe>,
    /// Samples that decoders see together.
    group: usize,
    /// All parts that some column needs, each once.
    pub(crate) wanted: Wanted,
    /// The columns in the slab: the keys, then those of `columns`.
    pub(crate) layout: Arc<Layout>,
    pub(crate) names: Arc<[String]>,
}

impl ColumnSet {
    /// The recipe for batches of `rows` rows.
    ///
    /// # Errors
    /// Two columns of one name, or of none; a column of too many parts; a batch too large to address.
    pub(crate) fn new(columns: Columns, rows: usize) -> Result<ColumnSet> {
        let mut recipes = Vec::new();
        let mut exts: Vec<(String, bool)> = Vec::new();
        let mut names = vec!["key".to_string()];
        for (name, decode) in columns {
            if name.is_empty() || names.contains(&name) {
                let text = format!(
                    "there are two columns '{name}': give one another name with .column(name, ..)"
                );
                return Err(Error::usage(text));
            }
            decode.validate().map_err(|e| e.of_column(&name))?;
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
            let points = decode.wants_entry_points();
            recipes.push(ColumnRecipe { name, decode, needs, points });
        }
        let key = RowShape::Variable(crate::column::DType::U8);
        let shapes = [key].into_iter().chain(recipes.iter().map(|column| column.decode.shape()));
        let layout = Arc::new(Layout::new(shapes.collect(), rows)?);
        let mut wanted = Wanted::new();
        for (ext, optional) in &exts {
            if *optional {
                wanted.allow(ext)?
            } else {
                wanted.require(ext)?
            };
        }
        for column in recipes.iter().filter(|column| column.points) {
            column.needs.iter().for_each(|&need| wanted.with_entry_points(need));
        }
        for column in recipes.iter().filter(|column| column.decode.wants_pixels()) {
            column.needs.iter().for_each(|&need| wanted.with_pixels(need));
        }
        let group = recipes.iter().map(|column: &ColumnRecipe| column.decode.group()).max();
        let group = group.unwrap_or(1).clamp(1, MAX_GROUP);
        Ok(ColumnSet { recipes, group, wanted, layout, names: names.into() })
    }

    /// Bytes of a batch without its variable columns: the rows, and the lists about them.
    pub(crate) fn batch_bytes(&self) -> u64 {
        let row = ROW_LISTS + 40 * self.columns() + 48 * self.wanted.len();
        let lists = (row as u64).saturating_mul(self.layout.rows() as u64);
        lists.saturating_add(self.layout.fixed_bytes() as u64)
    }

    /// True if every column holds bytes as they are stored.
    pub(crate) fn copies(&self) -> bool {
        self.recipes.iter().all(|column| column.decode.copies())
    }

    /// Columns in the slab.
    pub(crate) fn columns(&self) -> usize {
        self.names.len()
    }

    /// True if the rows of slab column `column` have lengths of their own.
    pub(crate) fn is_variable(&self, column: usize) -> bool {
        self.layout.shapes()[column].bytes().is_none()
    }

    /// Bytes that a sample may take in slab column `column`, from the length of its key, and of each part
    /// its length and its pixels, if they are known.
    pub(crate) fn room(
        &self,
        column: usize,
        key: usize,
        part: impl Fn(usize) -> (u64, Option<u64>),
    ) -> u64 {
        let Some(column) = column.checked_sub(1) else { return key as u64 };
        let column = &self.recipes[column];
        if let [need] = column.needs[..] {
            let (length, pixels) = part(need);
            return column.decode.room_of(&[length], &[pixels]);
        }
        let (mut lengths, mut pixels) = ([0; MAX_PARTS], [None; MAX_PARTS]);
        for (n, &need) in column.needs.iter().enumerate() {
            (lengths[n], pixels[n]) = part(need);
        }
        let needs = column.needs.len();
        column.decode.room_of(&lengths[..needs], &pixels[..needs])
    }

    /// How many samples decoders would rather see together.
    pub(crate) fn group(&self) -> usize {
        self.group
    }

    /// Lets decoders see samples that are written next, in this order; `part(s, n)` is the `n`th
    /// wanted part of sample `s`.
    pub(crate) fn prepare<'a>(
        &self,
        facts: &[Option<Facts<'a>>; MAX_GROUP],
        part: impl Fn(usize, usize) -> Given<'a>,
        scratch: &mut Scratch,
    ) {
        let count = facts.iter().flatten().count();
        for column in self.recipes.iter().filter(|column| column.decode.group() > 1) {
            let mut parts: [Parts<'_>; MAX_GROUP] = Default::default();
            let mut samples = [Sample::default(); MAX_GROUP];
            for (number, parts) in parts.iter_mut().enumerate().take(count) {
                column.fill(parts, |n| part(number, n));
            }
            let facts = facts.iter().flatten();
            for (sample, (facts, parts)) in samples.iter_mut().zip(facts.zip(&parts)) {
                *sample = column.sample(facts, parts);
            }
            // What goes wrong here goes wrong again, and is told, when the row is written.
            _ = caught("the decoder", || {
                column.decode.prepare(&samples[..count], scratch);
                Ok(())
            });
            scratch.release();
        }
    }

    /// Writes a sample into its row: every column from its parts. `part(n)` is the `n`th wanted
    /// part.
    ///
    /// # Errors
    /// What a decoder says, and the number of the wanted part it says it of.
    pub(crate) fn write<'a>(
        &self,
        facts: Facts<'a>,
        part: impl Fn(usize) -> Given<'a>,
        row: &mut Lent<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), (Option<usize>, Error)> {
        row.write(0, |mut row| row.put(facts.key)).map_err(|e| (None, e))?;
        let mut parts = Parts::default();
        for (n, column) in self.recipes.iter().enumerate() {
            column.fill(&mut parts, &part);
            let sample = column.sample(&facts, &parts);
            let decoded = caught("the decoder", || {
                row.write(n + 1, |row| column.decode.decode(&sample, row, scratch))
            });
            scratch.release();
            decoded.map_err(|e| (column.needs.first().copied(), e.of_column(&column.name)))?;
        }
        Ok(())
    }
}

impl ColumnRecipe {
    fn fill<'a>(&self, to: &mut Parts<'a>, part: impl Fn(usize) -> Given<'a>) {
        for (n, &need) in self.needs.iter().enumerate() {
            let Given { ext, bytes, entry_points } = part(need);
            (to.parts[n], to.points[n]) = ((ext, bytes), entry_points);
        }
    }

    fn sample<'a>(&self, facts: &Facts<'a>, parts: &'a Parts<'a>) -> Sample<'a> {
        let Facts { key, ordinal, seed } = *facts;
        let needs = self.needs.len();
        let entry_points = if self.points { &parts.points[..needs] } else { &[] };
        Sample { key, ordinal, seed, parts: &parts.parts[..needs], entry_points }
    }
}
