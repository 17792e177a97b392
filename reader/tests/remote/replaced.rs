//! Tars in a store that were replaced after their sidecars were made, with the same length: nothing that a sidecar states is
//! used before it was compared. Tars that are older than their sidecars cost one byte, asked for together.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tarflume::{
    Class, Dataset, Error, ErrorKind, Loader, LoaderBuilder, Shuffle, Size, Storage, Verify,
};
use tarflume_formats::index::{ColumnSpec, Value};
use tarflume_formats::{Durability, Manifest, ShardWriter};
use tarflume_store::simulated::listener::{Listener, Reply};
use tarflume_store::simulated::{Asked, Fault, Server};
use tarflume_store::{Bytes, Options, Store};

use super::{Set, loader};

const SAMPLES: u64 = 40;
const SHARDS: u64 = 3;
const RENEWAL: &str = "pack index --force --columns class=cls:u32 s3://bucket/set`";
/// A second after what the server states of objects of which no other time was set.
const LATER: &str = "Mon, 02 Nov 2026 00:00:01 GMT";

/// What differs between two tars of the same length.
#[derive(Clone, Copy)]
struct Content {
    /// Added to the class of each sample.
    class: u64,
    /// The bytes of the picture.
    picture: u8,
}

const OLD: Content = Content { class: 100, picture: 7 };
const OTHER_CLASSES: Content = Content { class: 500, ..OLD };
const OTHER_PICTURES: Content = Content { picture: 9, ..OLD };

fn name(shard: u64) -> String {
    format!("shard-{shard:06}.tar")
}

/// A folder of shards whose sidecars have a typed column and the sizes of pictures.
fn folder(content: Content) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut entries = Vec::new();
    for number in 0..SHARDS {
        let mut shard = ShardWriter::create(folder.path(), &name(number)).unwrap();
        shard.set_columns(ColumnSpec::parse_all("class=cls:u32").unwrap());
        for n in 0..SAMPLES {
            let class = content.class + n;
            shard.begin(format!("{number}-{n:02}").as_bytes());
            let text = class.to_string();
            shard.part(b"cls", 3).unwrap().copy_from_slice(text.as_bytes());
            let put = shard.values(b"cls", |_, put| {
                put(0, Value::Whole(class.into()));
                Ok::<_, ()>(())
            });
            put.unwrap();
            shard.part(b"png", 700).unwrap().fill(content.picture);
            shard.commit(Some((8, 4))).unwrap();
        }
        let written = shard.finish().unwrap();
        entries.push(written.publish(folder.path(), &name(number), Durability::Cached).unwrap());
    }
    let extensions = ["cls", "png"].map(|ext| (ext.to_string(), SHARDS * SAMPLES)).into();
    let mut manifest = Manifest::new("test", None, extensions, entries);
    manifest.sidecar_columns = vec!["class=cls:u32".into()];
    fs::write(folder.path().join("dataset.json"), manifest.to_json()).unwrap();
    folder
}

/// A set whose tars were replaced by those of `content`.
fn replaced(content: Content) -> Set {
    let set = Set::of(Server::new(), folder(OLD));
    let other = folder(content);
    for number in 0..SHARDS {
        let bytes = fs::read(other.path().join(name(number))).unwrap();
        let key = format!("set/{}", name(number));
        assert_eq!(set.server.object(&key).unwrap().len(), bytes.len());
        set.server.set(&key, bytes);
    }
    set
}

/// Makes all sidecars newer than their tars.
fn with_newer_sidecars(set: &Set) {
    for number in 0..SHARDS {
        set.server.set_modified(&format!("set/shard-{number:06}.index"), LATER);
    }
}

fn labels(dataset: Dataset) -> LoaderBuilder {
    Loader::from_dataset(dataset).column("class", Class::new("cls")).batch(8).threads(2)
}

fn classes(builder: LoaderBuilder) -> Result<Vec<i64>, Error> {
    let loader = builder.build()?;
    let mut classes = Vec::new();
    for batch in loader.epoch(0) {
        classes.extend_from_slice(batch?.column("class")?.elements::<i64>()?);
    }
    Ok(classes)
}

/// The classes of the set that the sidecars were made from.
fn of_old() -> Vec<i64> {
    (0..SHARDS).flat_map(|_| (0..SAMPLES).map(|n| (OLD.class + n) as i64)).collect()
}

#[track_caller]
fn assert_renewal(error: &Error) {
    let text = error.to_string();
    assert!(text.contains(RENEWAL) && text.contains("s3://bucket/set/shard-00000"), "{text}");
    assert!(matches!(error.kind(), ErrorKind::Damaged | ErrorKind::Stale), "{text}");
    assert!(error.place().byte.is_some() && error.place().key.is_some(), "{text}");
}

/// Ranges of tars that were asked for.
fn ranges(set: &Set) -> Vec<(u64, u64)> {
    let asked: Vec<Asked> = set.server.take_asked();
    let tars = asked.into_iter().filter(|asked| asked.name.ends_with(".tar"));
    tars.filter_map(|asked| asked.range).collect()
}

#[test]
fn labels_of_an_earlier_tar_are_an_error_of_every_loader() {
    for verify in [None, Some(Verify::All), Some(Verify::Off)] {
        let set = replaced(OTHER_CLASSES);
        let builder = labels(set.remote());
        let builder = verify.into_iter().fold(builder, LoaderBuilder::verify);
        assert_renewal(&classes(builder).unwrap_err());
    }
}

#[test]
fn numbers_tables_and_single_samples_of_an_earlier_tar_are_an_error() {
    let set = replaced(OTHER_CLASSES);
    assert_renewal(&set.remote().numbers("cls").unwrap_err());
    assert_renewal(&set.remote().get(3).unwrap_err());
    let table = set.remote().table().unwrap().next().unwrap();
    assert_renewal(&table.unwrap_err());
}

#[test]
fn sizes_of_pictures_of_an_earlier_tar_are_an_error() {
    let set = replaced(OTHER_PICTURES);
    let table = set.remote().table().unwrap().next().unwrap();
    assert_renewal(&table.unwrap_err());
    let wide = set.remote().filter(|facts| facts.dimensions().is_some_and(|(width, _)| width > 4));
    assert_renewal(&wide.unwrap_err());
    // A rule that asks for no size reads no tar.
    ranges(&set);
    let long = set.remote().filter(|facts| facts.length("cls") == Some(3)).unwrap();
    assert_eq!((long.len() as u64, ranges(&set).len()), (SHARDS * SAMPLES, 0));
}

#[test]
fn the_same_bytes_are_compared_once_by_few_requests() {
    let set = Set::of(Server::new(), folder(OLD));
    let dataset = set.remote();
    assert_eq!(*dataset.numbers("cls").unwrap(), *of_old());
    // Of each tar a byte, which tells its time, and all parts of the column together.
    assert_eq!(ranges(&set).len() as u64, 2 * SHARDS);
    let table = dataset.table().unwrap().next().unwrap().unwrap();
    assert_eq!(table.widths, vec![8; (SHARDS * SAMPLES) as usize]);
    assert_eq!(ranges(&set).len() as u64, SHARDS, "the pictures");
    let again = dataset.table().unwrap().next().unwrap().unwrap();
    assert_eq!((again.len(), ranges(&set).len()), (table.len(), 0));
    assert_eq!(classes(labels(dataset)).unwrap(), of_old());
}

#[test]
fn a_byte_that_changed_on_its_way_is_no_other_tar() {
    let set = Set::of(Server::new(), folder(OLD));
    let mut is_left = true;
    set.server.plan(move |asked| {
        let is_first = is_left && asked.range.is_some_and(|(at, end)| at <= 512 && end > 1_000);
        is_left &= !is_first;
        is_first.then_some(Fault::Flip(0))
    });
    assert_eq!(*set.remote().numbers("cls").unwrap(), *of_old());
}

#[test]
fn of_tars_that_are_older_than_their_sidecars_one_byte_is_read() {
    let set = Set::of(Server::new(), folder(OLD));
    with_newer_sidecars(&set);
    let dataset = set.remote();
    assert_eq!(*dataset.numbers("cls").unwrap(), *of_old());
    assert_eq!(ranges(&set), [(0, 1); SHARDS as usize]);
    let table = dataset.table().unwrap().next().unwrap().unwrap();
    assert_eq!((table.len() as u64, ranges(&set).len()), (SHARDS * SAMPLES, 0));
}

#[test]
fn times_of_several_tars_are_asked_for_at_the_same_time() {
    let set = Set::of(Server::new(), folder(OLD));
    with_newer_sidecars(&set);
    let dataset = set.remote();
    for shard in dataset.shards() {
        shard.index().unwrap(); // one after the other
    }
    assert_eq!(set.server.most_at_once(), 1);
    // With fewer at once nothing is ever answered.
    set.server.hold_until(3);
    assert_eq!(*dataset.numbers("cls").unwrap(), *of_old());
    assert_eq!(set.server.most_at_once(), 3);
}

#[test]
fn a_tar_with_a_later_time_is_compared_again_by_the_next_process() {
    let set = replaced(OTHER_CLASSES);
    with_newer_sidecars(&set);
    for number in 0..SHARDS {
        set.server.set_modified(&format!("set/{}", name(number)), LATER);
    }
    assert_renewal(&set.remote().numbers("cls").unwrap_err());
    assert_renewal(&classes(labels(set.remote())).unwrap_err());
}

#[test]
fn an_object_with_another_time_and_no_tag_ends_the_epoch() {
    let set = Set::new();
    let time = Arc::new(AtomicUsize::new(0));
    let files = files_of(&set);
    let now = time.clone();
    let server = Listener::start(move |request| {
        let Some((_, bytes)) = files.iter().find(|(name, _)| request.path() == format!("/{name}"))
        else {
            return Reply::new(404, "");
        };
        let time = format!("Mon, 02 Nov 2026 00:00:0{} GMT", now.load(Ordering::SeqCst));
        Reply::of(bytes, request).with("Last-Modified", time)
    });
    let store = Store::open(&server.url(), &http()).unwrap();
    let storage = Storage::new().store(store).sidecars(set.sidecars.path());
    let storage = storage.readahead(Size::new(20_000)).never_late();
    let dataset = Dataset::open_with(server.url().as_str(), &storage).unwrap();
    let built = loader(dataset, Shuffle::Full { seed: 1 }).build().unwrap();
    let mut epoch = built.epoch(0);
    epoch.next().unwrap().unwrap();
    time.store(1, Ordering::SeqCst);
    let error = epoch.find_map(Result::err).expect("an error, and no mixture");
    assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
}

fn http() -> Options {
    Options::from_pairs([("allow_http", "true")]).unwrap()
}

fn files_of(set: &Set) -> Vec<(String, Bytes)> {
    let entries = fs::read_dir(set.folder.path()).unwrap();
    entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            (name, Bytes::from(fs::read(&path).unwrap()))
        })
        .collect()
}
