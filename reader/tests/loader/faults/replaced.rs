//! Tars that were changed after their sidecars were made: nothing that a sidecar states is used before it was compared
//! with the tar. Copies, whose times say nothing, are read as before.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tarflume::{
    Class, Dataset, Error, ErrorKind, Loader, LoaderBuilder, OnBad, Result, SourceKind, Verify,
};
use tarflume_fixtures::TarBytes;
use tarflume_formats::freshness::{self, may_be_newer};
use tarflume_formats::index::{ColumnSpec, IndexBuilder, TarFacts, Value};
use tarflume_formats::{Durability, ShardWriter, index_path};

const SAMPLES: u64 = 40;
/// The command that the errors name.
const RENEWAL: &str = "pack index --force --columns class=cls:u32 ";

/// What the samples of a tar are made of. All tars have the same length.
#[derive(Clone, Copy)]
struct Content {
    /// Added to the class of each sample.
    class: u64,
    /// The first byte of each key.
    key: u8,
    /// The bytes of `raw`.
    raw: u8,
}

const OLD: Content = Content { class: 100, key: b'k', raw: 7 };

fn metadata(path: &Path) -> fs::Metadata {
    fs::metadata(path).unwrap()
}

/// Makes a sidecar newer than its tar, as a copy of both files may do.
pub fn renew(tar: &Path) {
    let sidecar = index_path(tar);
    while may_be_newer(&metadata(tar), &metadata(&sidecar)) {
        freshness::renew(&sidecar, &metadata(&sidecar), &metadata(tar)).unwrap();
    }
}

/// A folder with one shard, whose sidecar has a typed column of the class.
struct Place(tempfile::TempDir);

impl Place {
    fn new(content: Content) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let mut shard = ShardWriter::create(place.path(), "a.tar").unwrap();
        shard.set_columns(ColumnSpec::parse_all("class=cls:u32").unwrap());
        for n in 0..SAMPLES {
            let class = content.class + n;
            shard.begin(format!("{}{n:02}", char::from(content.key)).as_bytes());
            let text = class.to_string();
            shard.part(b"cls", 3).unwrap().copy_from_slice(text.as_bytes());
            let whole = Value::Whole(class.into());
            let put = shard.values(b"cls", |_, put| {
                put(0, whole);
                Ok::<_, ()>(())
            });
            put.unwrap();
            shard.part(b"raw", 700).unwrap().fill(content.raw);
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(place.path(), "a.tar", Durability::Cached).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn tar(&self) -> PathBuf {
        self.path().join("a.tar")
    }

    /// Writes the tar again, with other content.
    fn write_again(&self, content: Content) {
        let bytes = fs::read(Place::new(content).tar()).unwrap();
        self.change(|tar| fs::write(tar, &bytes).unwrap());
    }

    /// Changes the tar until its times are later than those of its sidecar.
    fn change(&self, change: impl Fn(&Path)) {
        loop {
            change(&self.tar());
            if may_be_newer(&metadata(&self.tar()), &metadata(&index_path(self.tar()))) {
                return;
            }
        }
    }

    fn labels(&self) -> LoaderBuilder {
        Loader::builder(self.path()).column("class", Class::new("cls")).batch(8).threads(2)
    }
}

fn classes(loader: LoaderBuilder) -> Result<Vec<i64>, Error> {
    let loader = loader.build()?;
    let mut classes = Vec::new();
    for epoch in 0..2 {
        classes.clear();
        for batch in loader.epoch(epoch) {
            classes.extend_from_slice(batch?.column("class")?.elements::<i64>()?);
        }
    }
    Ok(classes)
}

fn of(content: Content) -> Vec<i64> {
    (0..SAMPLES).map(|n| (content.class + n) as i64).collect()
}

/// Changes the times of a file and nothing else.
fn touch(path: &Path) {
    let found = fs::metadata(path).unwrap();
    fs::set_permissions(path, found.permissions()).unwrap();
}

#[track_caller]
fn assert_renewal(place: &Place, error: &Error) {
    let text = error.to_string();
    assert!(text.contains(&format!("{RENEWAL}{}", place.path().display())), "{text}");
    assert!(text.contains("a.tar"), "{text}");
    assert!(matches!(error.kind(), ErrorKind::Damaged | ErrorKind::Stale), "{text}");
    assert!(error.place().byte.is_some() && error.place().key.is_some(), "{text}");
}

#[test]
fn labels_of_an_earlier_tar_are_an_error_of_every_source() {
    for source in [SourceKind::File, SourceKind::Mapped, SourceKind::Threads] {
        let place = Place::new(OLD);
        place.write_again(Content { class: 500, ..OLD });
        let error = classes(place.labels().source(source)).unwrap_err();
        assert_renewal(&place, &error);
        assert!(error.text().contains("'cls' has checksum"), "{error}");
        assert_eq!((error.place().byte, error.place().key.as_deref()), (Some(512), Some("k00")));
    }
}

#[test]
fn a_file_that_is_older_than_the_sidecar_does_not_hide_behind_its_time() {
    let place = Place::new(OLD);
    let other = Place::new(Content { class: 500, ..OLD });
    let old = SystemTime::now() - Duration::from_secs(86_400);
    File::open(other.tar()).unwrap().set_modified(old).unwrap();
    fs::rename(other.tar(), place.tar()).unwrap();
    place.change(touch);
    assert_renewal(&place, &classes(place.labels()).unwrap_err());
}

#[test]
fn the_same_bytes_written_again_are_read_as_before() {
    let place = Place::new(OLD);
    place.write_again(OLD);
    assert_eq!(classes(place.labels()).unwrap(), of(OLD));
    let both = place.labels().bytes("raw");
    assert_eq!(classes(both).unwrap(), of(OLD));
    let numbers = Dataset::open(place.path()).unwrap().numbers("cls").unwrap();
    assert_eq!(*numbers, *of(OLD));
    let sample = Dataset::open(place.path()).unwrap().get(3).unwrap();
    assert_eq!(sample.part("cls").unwrap().as_slice(), b"103");
}

#[test]
fn verification_compares_the_parts_that_labels_were_copied_from() {
    let place = Place::new(OLD);
    place.write_again(Content { class: 500, ..OLD });
    renew(&place.tar()); // as `cp -r` may do
    let error = classes(place.labels().verify(Verify::All)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert_eq!(error.place().key.as_deref(), Some("k00"));
    let place = Place::new(OLD);
    assert_eq!(classes(place.labels().verify(Verify::All)).unwrap(), of(OLD));
}

#[test]
fn tables_numbers_and_single_samples_are_compared_too() {
    let place = Place::new(OLD);
    place.write_again(Content { class: 500, ..OLD });
    let dataset = Dataset::open(place.path()).unwrap();
    assert_renewal(&place, &dataset.numbers("cls").unwrap_err());
    assert_renewal(&place, &dataset.get(3).unwrap_err());
    let table = dataset.table().unwrap().next().unwrap();
    assert_renewal(&place, &table.unwrap_err());
}

#[test]
fn parts_and_names_of_an_earlier_tar_are_an_error() {
    for content in [Content { raw: 9, ..OLD }, Content { key: b'm', ..OLD }] {
        let place = Place::new(OLD);
        place.write_again(content);
        let loader = Loader::builder(place.path()).bytes("raw");
        let failed =
            loader.build().and_then(|loader| loader.epoch(0).try_for_each(|b| b.map(drop)));
        assert_renewal(&place, &failed.unwrap_err());
    }
}

#[test]
fn one_name_among_many_is_compared_when_its_sample_is_read() {
    let place = Place::new(OLD);
    let mut tar = fs::read(place.tar()).unwrap();
    let at = tar.windows(7).position(|bytes| bytes == b"k05.raw").unwrap();
    tar[at + 1] = b'5'; // k55: both digits together have the same sum
    tar[at + 2] = b'0';
    place.change(|path| fs::write(path, &tar).unwrap());
    let loader = Loader::builder(place.path()).bytes("raw").on_bad(OnBad::Skip).build().unwrap();
    let rows: usize = loader.epoch(0).map(|batch| batch.unwrap().len()).sum();
    let bad: Vec<String> = loader.bad_samples().iter().map(|bad| bad.to_string()).collect();
    assert_eq!(rows as u64, SAMPLES - 1, "{bad:?}");
    assert!(bad[0].contains("the tar has 'k50.raw'"), "{bad:?}");
}

#[test]
fn a_tar_that_is_replaced_before_it_is_opened_is_not_read_by_the_old_sidecar() {
    let place = Place::new(OLD);
    let dataset = Dataset::open(place.path()).unwrap(); // opens the sidecar
    let other = Place::new(Content { class: 500, ..OLD });
    fs::rename(other.tar(), place.tar()).unwrap();
    let error = dataset.get(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert!(error.text().contains("replaced by another one"), "{error}");
}

#[test]
fn a_sidecar_that_lists_the_first_of_joined_tars_is_refused() {
    // With the padding of GNU tar.
    fn padded(name: &[u8]) -> Vec<u8> {
        let mut tar = TarBytes::new().member(name, b"x").ended();
        tar.resize(10_240, 0);
        tar
    }

    /// Opens a tar with a sidecar that lists its first sample.
    fn open(tar: &[u8]) -> Result<Dataset> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar");
        let mut index = IndexBuilder::new();
        index.sample(b"a", 0);
        index.part(b"txt", 512, 1, None).unwrap();
        let facts = TarFacts { length: tar.len() as u64, digest: None };
        fs::write(&path, tar).unwrap();
        fs::write(index_path(&path), index.encode(&facts).unwrap()).unwrap();
        Dataset::open(path.as_path())
    }

    assert_eq!(open(&padded(b"a.txt")).unwrap().len(), 1);
    let error = open(&[padded(b"a.txt"), padded(b"b.txt")].concat()).unwrap_err();
    assert_eq!((error.kind(), error.place().byte), (ErrorKind::Damaged, Some(10_240)), "{error}");
    assert!(error.text().contains("pack index --force --ignore-zeros"), "{error}");
}
