//! All kinds of columns together, and the messages of invalid combinations.

use half::f16;
use tarflume::{
    Batch, Class, DType, ErrorKind, Image, Json, Layout, Loader, LoaderBuilder, Normalize, Npy,
    Raw, Remainder, Resize, Result, Row, RowShape, Sample, Sequence, Shuffle, Split, Tokens, Whole,
};
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::npy::{Dtype, write_header};

use crate::loader::harness::{Shards, bin, key};
use crate::loader::order::endings::Own;

const SAMPLES: u64 = 21;

/// A text with escapes is put together in a buffer, for which the text's column reserves memory.
#[test]
fn a_sequence_of_a_long_text_with_escapes_is_read() {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    let text = format!("\"{}\"", "\\n".repeat(50_000));
    shards.write(0, (0..8).map(|n| (key(n), vec![("json", text.clone().into_bytes())])));
    let text = Sequence::new(Json::new("json", "").text()).pad_to(60_000, b' ');
    for threads in [1, 4] {
        let loader = Loader::builder(shards.path()).column("text", text.clone()).batch(2);
        let loader =
            loader.threads(threads).memory_limit("128MiB".parse().unwrap()).build().unwrap();
        for batch in loader.epoch(0) {
            let batch = batch.unwrap();
            let rows = batch.column("text").unwrap();
            let (text, padding) = rows.row(1).split_at(50_000);
            assert!(text.iter().all(|&c| c == b'\n') && padding.iter().all(|&c| c == b' '));
        }
    }
}

fn array(shape: &[u64], values: impl Iterator<Item = u16>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_header(&mut bytes, Dtype { kind: 'u', size: 2, little: true }, false, shape).unwrap();
    bytes.extend(values.flat_map(u16::to_le_bytes));
    bytes
}

/// How many elements the variable columns of a sample have.
fn length(ordinal: u64) -> u64 {
    ordinal * 7 % 5
}

fn shards() -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..SAMPLES).map(|o| (key(o), parts(o))));
    shards
}

/// The parts of a sample.
fn parts(o: u64) -> Vec<(&'static str, Vec<u8>)> {
    let photo = Photo::new(24 + o as u16, 30, PhotoKind::Yuv444);
    let tokens: Vec<u64> = tokens(o).collect();
    let json = format!(r#"{{"name": "n{o}", "tokens": {tokens:?}, "weight": {o}.5}}"#);
    vec![
        ("bin", bin(o)),
        ("cls", format!("{o}\n").into_bytes()),
        ("fix.npy", array(&[2, 3], (0..6).map(|n| o as u16 + n))),
        ("jpg", photo.encode(o).unwrap()),
        ("json", json.into_bytes()),
        ("txt", format!("Nummer {o}").into_bytes()),
        ("var.npy", array(&[length(o)], (0..length(o)).map(|n| (o + n) as u16))),
    ]
}

fn all_kinds(shards: &Shards) -> LoaderBuilder {
    fn photo() -> Image {
        Image::new("jpg", Resize::exact((4, 6)))
    }

    let ordinal =
        Own(RowShape::Fixed(DType::U64, vec![2]), |sample: &Sample<'_>, mut row: Row<'_>| {
            row.elements()?.copy_from_slice(&[sample.ordinal, sample.part(0).len() as u64]);
            Ok(())
        });
    Loader::builder(shards.path())
        .image("jpg", Resize::exact((4, 6)))
        .column("single", photo().layout(Layout::Chw).to_f32(Normalize::unit()))
        .column("half", photo().to_f16(Normalize::unit()))
        .label("cls", "")
        .text("txt")
        .bytes("bin")
        .column("class", Class::new("cls").dtype(DType::U8))
        .column("weight", Json::new("json", "/weight").dtype(DType::F32))
        .column("name", Json::new("json", "/name").text())
        .column("tokens", Json::new("json", "/tokens").dtype(DType::I32).variable())
        .column("array", Npy::new("fix.npy", DType::U16).shape([2, 3]))
        .column("ragged", Npy::new("var.npy", DType::U16))
        .column("four", Sequence::new(Json::new("json", "/tokens").variable()).pad_to(4, -1))
        .column("own", ordinal)
        .batch(8)
        .remainder(Remainder::Uneven)
        .threads(3)
}

fn elements<T: tarflume::Element>(batch: &Batch, name: &str) -> Vec<T> {
    batch.column(name).unwrap().elements::<T>().unwrap().to_vec()
}

fn each<T>(batch: &Batch, of: impl Fn(u64) -> Vec<T>) -> Vec<T> {
    batch.ordinals().flat_map(of).collect()
}

fn tokens(ordinal: u64) -> impl Iterator<Item = u64> {
    (0..length(ordinal)).map(move |n| ordinal + n)
}

fn is_whole(batch: &Batch) {
    fn near(a: &u8, b: f32) -> bool {
        (f32::from(*a) / 255.0 - b).abs() < 0.01
    }

    /// Where an element of rows of 4 x 6 x 3 is among the planes.
    fn in_planes(at: usize) -> usize {
        (at / 72) * 72 + at % 3 * 24 + at % 72 / 3
    }

    let rows = batch.len();
    for (name, shape) in [
        ("image", &[rows, 4, 6, 3][..]),
        ("single", &[rows, 3, 4, 6]),
        ("array", &[rows, 2, 3]),
        ("label", &[rows]),
        ("ragged", &[rows]),
    ] {
        assert_eq!(batch.column(name).unwrap().shape(), shape, "{name}");
    }
    assert_eq!(batch.column("half").unwrap().dtype(), DType::F16);

    let bytes: Vec<u8> = elements(batch, "image");
    let half: Vec<f16> = elements(batch, "half");
    assert!(bytes.iter().zip(&half).all(|(a, b)| near(a, b.to_f32())));
    let single: Vec<f32> = elements(batch, "single");
    assert!(bytes.iter().enumerate().all(|(at, a)| near(a, single[in_planes(at)])));

    assert_eq!(elements::<i64>(batch, "label"), each(batch, |o| vec![o as i64]));
    assert_eq!(elements::<u8>(batch, "class"), each(batch, |o| vec![o as u8]));
    assert_eq!(elements::<f32>(batch, "weight"), each(batch, |o| vec![o as f32 + 0.5]));
    assert_eq!(elements::<u64>(batch, "own"), each(batch, |o| vec![o, bin(o).len() as u64]));
    assert_eq!(
        elements::<u16>(batch, "array"),
        each(batch, |o: u64| (0..6).map(|n| o as u16 + n).collect())
    );
    assert_eq!(
        elements::<i64>(batch, "four"),
        each(batch, |o| tokens(o).map(|n| n as i64).chain([-1; 4]).take(4).collect())
    );

    let padded = batch.column("tokens").unwrap().padded(-7i32).unwrap();
    assert_eq!(padded.shape[0], rows);
    for (row, o) in batch.ordinals().enumerate() {
        let column = |name: &str| batch.column(name).unwrap();
        assert_eq!(column("txt").row(row), format!("Nummer {o}").as_bytes());
        assert_eq!(column("name").row(row), format!("n{o}").as_bytes());
        assert!(column("bin").row(row) == bin(o));
        let ragged: Vec<u16> = tokens(o).map(|n| n as u16).collect();
        assert_eq!(column("ragged").row_elements::<u16>(row).unwrap(), ragged);
        let filled = tokens(o).map(|n| n as i32).chain(std::iter::repeat(-7));
        let line = &padded.values[row * padded.shape[1]..][..padded.shape[1]];
        assert!(line.iter().copied().eq(filled.take(padded.shape[1])));
        assert_eq!(padded.lengths[row] as u64, length(o));
    }
}

#[test]
fn all_kinds_of_columns_fit_in_one_slab() {
    let shards = shards();
    for shuffle in [Shuffle::None, Shuffle::Full { seed: 3 }] {
        let loader = all_kinds(&shards).shuffle(shuffle).build().unwrap();
        let batches: Vec<_> = loader.epoch(0).map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(Batch::len).collect::<Vec<_>>(), [8, 8, 5]);
        batches.iter().for_each(is_whole);
    }
}

#[test]
fn a_column_of_another_type_is_refused_by_name() {
    let shards = shards();
    let batch = all_kinds(&shards).build().unwrap().epoch(0).next().unwrap().unwrap();
    let error = batch.column("label").unwrap().elements::<f32>().unwrap_err().to_string();
    assert!(error.contains("'label'") && error.contains("I64"), "{error}");
    let error = batch.column("lable").unwrap_err().to_string();
    assert!(error.contains("'lable'") && error.contains("label, txt"), "{error}");
}

#[test]
fn without_columns_all_parts_come_and_absent_ones_are_empty() {
    fn parts(o: u64) -> Vec<(&'static str, Vec<u8>)> {
        match o % 3 {
            0 => vec![("a", vec![1; 3])],
            1 => vec![("b", vec![2; 5])],
            _ => vec![("a", vec![3]), ("b", vec![])],
        }
    }

    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..12).map(|o| (key(o), parts(o))));
    let loader = Loader::builder(shards.path()).batch(4).build().unwrap();
    for batch in loader.epoch(0).map(Result::unwrap) {
        assert_eq!(batch.names().collect::<Vec<_>>(), ["a", "b"]);
        for (row, o) in batch.ordinals().enumerate() {
            for name in ["a", "b"] {
                let found = parts(o).into_iter().find(|part| part.0 == name);
                let expected = found.map(|part| part.1).unwrap_or_default();
                assert_eq!(batch.column(name).unwrap().row(row), expected, "{o}");
            }
        }
    }
}

#[test]
fn samples_without_bounds_of_documents_are_one_document_each() {
    fn ids(o: u64) -> Vec<(&'static str, Vec<u8>)> {
        vec![("ids.npy", array(&[o + 1], (0..=o).map(|n| 7 + n as u16)))]
    }

    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..3).map(|o| (key(o), ids(o))));
    let tokens = Tokens::new(3);
    let loader = Loader::builder(shards.path()).batch(3);
    let loader = loader.column("ids", tokens.ids()).column("labels", tokens.labels());
    let loader = loader.column("mask", tokens.mask()).column("position_ids", tokens.position_ids());
    let batch = loader.build().unwrap().epoch(0).next().unwrap().unwrap();
    let rows = [
        ("ids", [7, 0, 0, 7, 8, 0, 7, 8, 9]),
        ("labels", [-100, -100, -100, -100, 8, -100, -100, 8, 9]),
        ("mask", [1, 0, 0, 1, 1, 0, 1, 1, 1]),
        ("position_ids", [0, 0, 0, 0, 1, 0, 0, 1, 2]),
    ];
    for (name, expected) in rows {
        assert_eq!(elements::<i64>(&batch, name), expected, "{name}");
    }
    // The ids themselves are needed, and so is a part that another column wants.
    let labels = tokens.parts("tokens.npy", "cu_seqlens.npy").labels();
    let bounds = Npy::new("cu_seqlens.npy", DType::I32);
    for (builder, ext) in [
        (Loader::builder(shards.path()).column("labels", labels), "tokens.npy"),
        (
            Loader::builder(shards.path())
                .column("mask", Tokens::new(3).mask())
                .column("bounds", bounds),
            "cu_seqlens.npy",
        ),
    ] {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(&format!("no sample has a part '{ext}'; ")), "{error}");
    }
}

#[test]
fn impossible_options_are_refused_in_one_sentence() {
    fn split(rank: u64, world: u64) -> Split {
        Split::new(rank, world).unwrap()
    }

    let shards = shards();
    let loader = || Loader::builder(shards.path());
    let missing = shards.path().join("no");
    for (builder, words) in [
        (loader().bytes("png"), "no sample has a part 'png'; the data set has: bin, cls"),
        (loader().bytes("bin").text("bin"), "there are two columns 'bin'"),
        (loader().column("key", Raw::new("bin")), "there are two columns 'key'"),
        (loader().column("", Raw::new("bin")), "two columns ''"),
        (loader().bytes(""), "two columns ''"),
        (loader().column("x", Raw::new(";")), "no extension"),
        (loader().batch(0), "at least one row"),
        (loader().batch(SAMPLES + 1), "21"),
        (loader().batch(u64::MAX), ".memory_limit()"),
        (loader().batch(1 << 50).remainder(Remainder::Uneven), ".memory_limit()"),
        (loader().batch(1 << 50).remainder(Remainder::Pad), ".memory_limit()"),
        (loader().column("x", Raw::new("bin").shape([usize::MAX, 4])), "cannot be addressed"),
        (loader().global_batch(10).split(split(0, 4)), "evenly"),
        (loader().threads(0), "needs a thread"),
        (loader().threads(100_000), "4,096 at most"),
        (loader().prefetch(usize::MAX), "65536 at most"),
        (loader().image("jpg", Whole::up_to(0)), "pass 1 or more"),
        (loader().memory_limit("1MiB".parse().unwrap()), "give .memory_limit() at least"),
        (loader().image("jpg", Resize::exact(9000)).batch(20_000), "give .memory_limit() at least"),
        (loader().image("jpg", Resize::exact(0)), "column 'image'"),
        (loader().column("x", Sequence::new(Raw::new("bin"))), "call pad_to"),
        (loader().filter(|_| false), "none is selected"),
        (loader().take(0), "none is selected"),
        (loader().skip(SAMPLES), "none is selected"),
        (loader().repeat(0), "an epoch of 0 samples"),
        (loader().epoch_length(0), "an epoch of 0 samples"),
        (loader().exclude(&missing), "list of keys"),
        (Loader::builder(missing.as_path()), "no"),
        (Loader::mixture([]), "the list of data sets is empty"),
    ] {
        let error = match builder.build() {
            Ok(loader) => panic!("{words}: {loader:?}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(words), "expected: {words}\nfound: {error}");
        assert!(!error.contains('\n') && error.len() < 400, "{error}");
    }
    let error = loader().bytes("png").build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}
