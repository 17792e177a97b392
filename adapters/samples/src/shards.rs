//! `Samples`: one shard in a temporary folder, and loaders for it.
#![allow(clippy::unwrap_used)] // for tests alone

use tarflume::{
    Batch, DType, Decode, Loader, LoaderBuilder, OnBad, Raw, Remainder, Result, Row, RowShape,
    Sample, Scratch,
};
use tarflume_formats::{Durability, ShardWriter};
use tempfile::TempDir;

/// Number of samples.
pub const SAMPLES: u64 = 10;

/// A column: its part has the bytes of its rows.
#[derive(Debug, Clone, Copy)]
pub struct SampleColumn {
    /// The name of the column and of its part.
    pub name: &'static str,
    /// The type of an element.
    pub dtype: DType,
    /// The shape of a row.
    pub shape: &'static [usize],
}

impl SampleColumn {
    /// The decoder of the column.
    fn raw(self) -> Raw {
        Raw::new(self.name).dtype(self.dtype).shape(self.shape)
    }
}

const fn column(name: &'static str, dtype: DType, shape: &'static [usize]) -> SampleColumn {
    SampleColumn { name, dtype, shape }
}

/// Columns whose bytes are arbitrary.
pub const COLUMNS: [SampleColumn; 11] = [
    column("u8", DType::U8, &[2, 3, 3]),
    column("i8", DType::I8, &[5]),
    column("u16", DType::U16, &[]),
    column("i16", DType::I16, &[3]),
    column("u32", DType::U32, &[2]),
    column("i32", DType::I32, &[1, 4]),
    column("u64", DType::U64, &[]),
    column("i64", DType::I64, &[]),
    column("f16", DType::F16, &[7]),
    column("f32", DType::F32, &[2, 2]),
    column("f64", DType::F64, &[1]),
];

/// A Bool column: bytes of 0 and 1.
pub const BOOL: SampleColumn = column("bool", DType::Bool, &[6]);

/// The first samples lack the part `late`.
const LATE: u64 = 4;

/// Copies a part into a row of Bool, whatever its bytes are.
struct Untrue;

impl Decode for Untrue {
    fn parts(&self) -> Vec<String> {
        vec!["u8".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::Bool, vec![2, 3, 3])
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        row.put(sample.part(0))
    }
}

/// The name of the shard.
#[derive(Debug)]
pub struct Samples {
    dir: TempDir,
}

fn row(column: SampleColumn, ordinal: u64) -> Vec<u8> {
    let SampleColumn { name, dtype, shape } = column;
    let length = shape.iter().product::<usize>() * dtype.size();
    let salt = name.bytes().map(u64::from).sum::<u64>() + 31 * ordinal;
    let byte = |n: usize| (salt + 7 * n as u64) as u8;
    // Without NaNs, so that numbers can be compared, too.
    let tame =
        |n: usize| if n % dtype.size() == dtype.size() - 1 { byte(n) & 0x3B } else { byte(n) };
    (0..length).map(|n| if dtype == DType::Bool { byte(n) & 1 } else { tame(n) }).collect()
}

/// The bytes of a column's rows.
pub fn bytes(column: SampleColumn, ordinals: impl Iterator<Item = u64>) -> Vec<u8> {
    ordinals.flat_map(|ordinal| row(column, ordinal)).collect()
}

impl Default for Samples {
    fn default() -> Samples {
        Samples::new()
    }
}

impl Samples {
    /// Writes the shard.
    pub fn new() -> Samples {
        let dir = tempfile::tempdir().unwrap();
        let mut shard = ShardWriter::create(dir.path(), "000.tar").unwrap();
        for ordinal in 0..SAMPLES {
            shard.begin(format!("{ordinal:04}").as_bytes());
            for column in COLUMNS.into_iter().chain([BOOL]) {
                let row = row(column, ordinal);
                shard.part(column.name.as_bytes(), row.len() as u64).unwrap().copy_from_slice(&row);
            }
            if ordinal >= LATE {
                shard.part(b"late", 8).unwrap().copy_from_slice(&[7; 8]);
            }
            let text = "a".repeat(ordinal as usize);
            shard.part(b"txt", ordinal).unwrap().copy_from_slice(text.as_bytes());
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(dir.path(), "000.tar", Durability::Cached).unwrap();
        Samples { dir }
    }

    /// A loader of all columns, in batches of this many rows, the last one smaller. The rows of `txt` have different
    /// lengths.
    pub fn loader(&self, rows: u64) -> LoaderBuilder {
        let builder =
            Loader::builder(self.dir.path()).batch(rows).remainder(Remainder::Uneven).threads(2);
        let all = COLUMNS.into_iter().chain([BOOL]);
        all.fold(builder, |builder, column| builder.column(column.name, column.raw())).text("txt")
    }

    /// A loader with a column `u8` of Bool whose decoder writes bytes that are neither 0 nor 1. Columns of the reader
    /// refuse such bytes.
    pub fn untrue(&self) -> LoaderBuilder {
        Loader::builder(self.dir.path()).batch(SAMPLES).column("u8", Untrue)
    }

    /// A batch without rows, with column `late`, F32 of shape `[2]`: all its samples were bad and skipped.
    pub fn empty(&self) -> Batch {
        let late = Raw::new("late").dtype(DType::F32).shape([2]);
        let builder = Loader::builder(self.dir.path()).batch(LATE).column("late", late);
        let loader = builder.on_bad(OnBad::Skip).build().unwrap();
        let batch = loader.epoch(0).next().unwrap().unwrap();
        assert!(batch.is_empty());
        batch
    }
}
