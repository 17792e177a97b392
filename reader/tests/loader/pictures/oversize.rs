//! Samples that claim more memory than the limit leaves are bad samples like any other, in every column; a limit that is
//! too small for all of them is an error.

use std::io::Cursor;

use image::{ExtendedColorType, ImageEncoder, codecs::png::PngEncoder};
use tarflume::{
    DType, Decode, ErrorKind, Image, Json, Loader, LoaderBuilder, Npy, OnBad, Raw, Resize, Result,
    RowState, Stream, StreamLoaderBuilder, Text, Whole,
};
use tarflume_fixtures::TarBytes;
use tarflume_formats::{Durability, ShardWriter};

use crate::loader::harness::key;

const SAMPLES: u64 = 12;
/// The sample that claims too much.
const LARGE: u64 = 5;
/// The extension of all parts: sidecars have the sizes of pictures alone.
const EXT: &str = "png";
/// Too much for any part of a limit of 64 MiB.
const MUCH: usize = 20 << 20;

/// A gray picture of this side.
fn png(side: u32) -> Vec<u8> {
    let mut png = Cursor::new(Vec::new());
    let pixels = vec![0; (side * side) as usize];
    PngEncoder::new(&mut png).write_image(&pixels, side, side, ExtendedColorType::L8).unwrap();
    png.into_inner()
}

/// An array of `u8`.
fn npy(length: usize) -> Vec<u8> {
    let dict = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({length},), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((dict.len() as u16).to_le_bytes());
    file.extend(dict.as_bytes());
    file.resize(file.len() + length, 7);
    file
}

fn numbers(count: usize) -> Vec<u8> {
    let mut json = br#"{"n": [0"#.to_vec();
    (1..count).for_each(|_| json.extend(b",0"));
    json.extend(b"]}");
    json
}

/// A column over parts of which one is small and one large.
struct Case {
    name: &'static str,
    small: Vec<u8>,
    large: Vec<u8>,
    /// Sides of the large part, if it is a picture.
    side: Option<u32>,
    add: fn(LoaderBuilder) -> LoaderBuilder,
    add_to_stream: fn(StreamLoaderBuilder) -> StreamLoaderBuilder,
}

macro_rules! column {
    ($decode:expr) => {
        (|loader| loader.column("x", $decode), |loader| loader.column("x", $decode))
    };
}

fn cases() -> Vec<Case> {
    let case = |name, small, large, side, (add, add_to_stream)| Case {
        name,
        small,
        large,
        side,
        add,
        add_to_stream,
    };
    let letters = vec![b'a'; MUCH];
    let picture = png(3000);
    vec![
        case("raw", b"x".to_vec(), letters.clone(), None, column!(Raw::new(EXT))),
        case("fixed raw", b"x".to_vec(), letters.clone(), None, column!(Raw::new(EXT).shape([1]))),
        case("text", b"x".to_vec(), letters, None, column!(Text::new(EXT))),
        case("npy", npy(3), npy(MUCH), None, column!(Npy::new(EXT, DType::U8))),
        case(
            "json array",
            numbers(3),
            numbers(3 << 20),
            None,
            column!(Json::new(EXT, "/n").variable()),
        ),
        case("json value", numbers(3), numbers(MUCH), None, column!(Json::new(EXT, "/n/0"))),
        case(
            "picture",
            png(9),
            picture.clone(),
            Some(3000),
            column!(Image::new(EXT, Resize::exact(8))),
        ),
        case(
            "picture of any size",
            png(9),
            picture,
            Some(3000),
            column!(Image::new(EXT, Whole::up_to(1 << 28))),
        ),
    ]
}

/// Shards in which the samples of `large` hold the large part.
fn shards(case: &Case, large: impl Fn(u64) -> bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(folder.path(), "0.tar").unwrap();
    for ordinal in 0..SAMPLES {
        let (bytes, side) = if large(ordinal) {
            (&case.large, case.side)
        } else {
            (&case.small, case.side.map(|_| 9))
        };
        shard.begin(key(ordinal).as_bytes());
        shard.part(EXT.as_bytes(), bytes.len() as u64).unwrap().copy_from_slice(bytes);
        shard.commit(side.map(|side| (side, side))).unwrap();
    }
    shard.finish().unwrap().publish(folder.path(), "0.tar", Durability::Cached).unwrap();
    folder
}

fn loader(case: &Case, folder: &tempfile::TempDir, on_bad: OnBad) -> Loader {
    let loader = (case.add)(Loader::builder(folder.path())).batch(3).threads(1);
    loader.on_bad(on_bad).memory_limit("64MiB".parse().unwrap()).build().unwrap()
}

#[test]
fn a_claim_above_the_memory_is_a_bad_sample_in_every_column() {
    for case in cases() {
        let name = case.name;
        let folder = shards(&case, |ordinal| ordinal == LARGE);
        let skipping = loader(&case, &folder, OnBad::Skip);
        let rows: usize = skipping.epoch(0).map(|batch| batch.unwrap().len()).sum();
        assert_eq!(rows as u64, SAMPLES - 1, "{name}");
        let bad = skipping.bad_samples();
        assert_eq!(bad.iter().map(|bad| bad.ordinal).collect::<Vec<_>>(), [LARGE], "{name}");
        assert!(bad[0].reason.contains("give .memory_limit() about"), "{name}: {bad:?}");
        assert!(bad[0].byte.is_some() && bad[0].key == Some(key(LARGE)), "{name}: {bad:?}");

        let replacing = loader(&case, &folder, OnBad::Substitute);
        let batches: Result<Vec<_>> = replacing.epoch(0).collect();
        let batches = batches.unwrap_or_else(|error| panic!("{name}: {error}"));
        let rows = batches.iter().flat_map(|batch| batch.rows());
        let replaced: Vec<_> = rows.filter(|row| row.state == RowState::Replaced).collect();
        assert_eq!(replaced.iter().map(|row| row.planned).collect::<Vec<_>>(), [LARGE], "{name}");
        assert_eq!(batches.iter().map(|batch| batch.len() as u64).sum::<u64>(), SAMPLES, "{name}");

        let strict = loader(&case, &folder, OnBad::Error);
        let error = strict.epoch(0).find_map(Result::err).unwrap();
        assert_eq!((error.kind(), &error.place().key), (ErrorKind::Limit, &Some(key(LARGE))));
        assert!(error.place().path.is_some() && error.place().byte.is_some(), "{name}: {error}");
    }
}

#[test]
fn a_limit_that_is_too_small_for_every_sample_is_an_error_under_every_policy() {
    for case in cases() {
        let folder = shards(&case, |_| true);
        for on_bad in [OnBad::Skip, OnBad::Substitute] {
            let error = loader(&case, &folder, on_bad).epoch(0).find_map(Result::err).unwrap();
            let kinds = [ErrorKind::Limit, ErrorKind::TooManyBad];
            assert!(kinds.contains(&error.kind()), "{}: {error}", case.name);
            assert!(error.to_string().contains("give .memory_limit() about"), "{error}");
        }
    }
}

#[test]
fn a_claim_above_the_memory_is_a_bad_sample_of_a_stream() {
    for case in cases() {
        let mut tar = TarBytes::new();
        for ordinal in 0..SAMPLES {
            let bytes = if ordinal == LARGE { &case.large } else { &case.small };
            tar.member(format!("{}.{EXT}", key(ordinal)).as_bytes(), bytes);
        }
        let tar = tar.ended();
        let loader = |on_bad| {
            let stream = Stream::from_reader("memory.tar", Cursor::new(tar.clone()));
            let loader = (case.add_to_stream)(Loader::stream(stream)).batch(3).threads(1);
            loader.on_bad(on_bad).memory_limit("64MiB".parse().unwrap()).build().unwrap()
        };
        let skipping = loader(OnBad::Skip);
        let batches: Result<Vec<_>> = skipping.epoch(0).collect();
        let batches = batches.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let rows: usize = batches.iter().map(|batch| batch.len()).sum();
        assert_eq!(rows as u64, SAMPLES - 1, "{}", case.name);
        let bad = skipping.bad_samples();
        assert_eq!((bad.len(), &bad[0].key), (1, &Some(key(LARGE))), "{}", case.name);
        let error = loader(OnBad::Error).epoch(0).find_map(Result::err).unwrap();
        assert_eq!((error.kind(), &error.place().key), (ErrorKind::Limit, &Some(key(LARGE))));
    }
}

/// A decoder with a mistake: it reserves twice.
struct Twice;

impl Decode for Twice {
    fn parts(&self) -> Vec<String> {
        vec![EXT.into()]
    }

    fn shape(&self) -> tarflume::RowShape {
        tarflume::RowShape::Fixed(DType::U8, vec![1])
    }

    fn decode(
        &self,
        _: &tarflume::Sample<'_>,
        mut row: tarflume::Row<'_>,
        scratch: &mut tarflume::Scratch,
    ) -> Result<()> {
        scratch.reserve(1)?;
        scratch.reserve(1)?;
        row.put(&[0])
    }
}

/// A decoder that calls [`Twice`] and wraps its errors.
struct InOwnWords;

impl Decode for InOwnWords {
    fn parts(&self) -> Vec<String> {
        Twice.parts()
    }

    fn shape(&self) -> tarflume::RowShape {
        Twice.shape()
    }

    fn decode(
        &self,
        sample: &tarflume::Sample<'_>,
        row: tarflume::Row<'_>,
        scratch: &mut tarflume::Scratch,
    ) -> Result<()> {
        let decoded = Twice.decode(sample, row, scratch);
        decoded.map_err(|e| tarflume::Error::new(ErrorKind::Decode, "it failed").with_source(e))
    }
}

#[test]
fn a_decoder_that_misuses_reservations_ends_the_epoch_under_every_policy() {
    let case = &cases()[0];
    let folder = shards(case, |_| false);
    for on_bad in [OnBad::Skip, OnBad::Substitute] {
        let loader = Loader::builder(folder.path()).column("x", Twice).on_bad(on_bad);
        let error = loader.build().unwrap().epoch(0).find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        let loader = Loader::builder(folder.path()).column("x", InOwnWords).on_bad(on_bad);
        let error = loader.build().unwrap().epoch(0).find_map(Result::err).unwrap();
        assert!(error.text().contains("it failed"), "{error}");
    }
}
