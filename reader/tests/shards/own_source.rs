//! Data sets whose tars, and manifests and sidecars, are no files.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tarflume::{
    Dataset, ErrorKind, Identity, Loader, LoaderState, MemorySource, Open, Result, Shuffle, Source,
    SourceKind,
};

use crate::shards::harness::Made;

/// Tars in memory, by their file names.
#[derive(Debug, Clone, Default)]
struct Tars(HashMap<String, MemorySource>);

impl Tars {
    fn of(made: &Made) -> Tars {
        Tars(
            made.tars
                .iter()
                .map(|tar| (name(tar), MemorySource::new(fs::read(tar).unwrap())))
                .collect(),
        )
    }

    /// The same tars, one of them changed.
    fn with(mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Arc<Tars> {
        let old = &self.0[name];
        let mut bytes = old.view(0, old.len() as usize).unwrap().to_vec();
        change(&mut bytes);
        self.0.insert(name.into(), MemorySource::new(bytes));
        Arc::new(self)
    }
}

impl Open for Tars {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        let tar = self.0[&name(path)].clone();
        let identity = Identity::of_object(&name(path), tar.len());
        Ok((Arc::new(tar), identity))
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_string()
}

/// Keys and parts of all batches of a shuffled epoch.
fn epoch(builder: tarflume::LoaderBuilder) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let loader = builder.shuffle(Shuffle::Full { seed: 4 }).bytes("jpg").batch(4).build()?;
    let mut rows = Vec::new();
    for batch in loader.epoch(0) {
        let batch = batch?;
        let column = batch.column("jpg")?;
        rows.extend((0..batch.len()).map(|r| (batch.key(r).to_vec(), column.row(r).to_vec())));
    }
    Ok(rows)
}

#[test]
fn an_opener_needs_no_tar_on_this_machine() {
    let made = Made::new(&[9, 8]);
    let expected = made.samples();
    let of_files = epoch(Loader::builder(made.path())).unwrap();
    let opener = Arc::new(Tars::of(&made));
    fs::remove_file(&made.tars[0]).unwrap();
    fs::write(&made.tars[1], b"another file of this name").unwrap();
    let dataset = Dataset::open(made.path()).unwrap().with_opener(opener.clone());
    for (ordinal, (key, parts)) in expected.iter().enumerate() {
        let sample = dataset.get(ordinal as u64).unwrap();
        assert_eq!(sample.key(), key.as_bytes());
        assert_eq!(&**sample.part("jpg").unwrap(), &parts["jpg"][..]);
    }
    assert_eq!(epoch(Loader::builder(made.path()).opener(opener)).unwrap(), of_files);
    // A loader does not replace an opener of the program by files.
    assert_eq!(epoch(Loader::from_dataset(dataset)).unwrap(), of_files);
    // As files, the missing tar and the other one are errors.
    let files = Dataset::open(made.path()).unwrap().with_source(SourceKind::File);
    assert_eq!(files.get(0).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(files.get(9).unwrap_err().kind(), ErrorKind::Stale);
}

#[test]
fn a_source_that_is_not_the_tar_of_the_sidecar_is_an_error() {
    let made = Made::new(&[9]);
    let opened = |tars: Arc<Tars>| Dataset::open(made.path()).unwrap().with_opener(tars).get(3);
    let longer = Tars::of(&made).with("s-0.tar", |bytes| bytes.extend([0; 512]));
    assert_eq!(opened(longer).unwrap_err().kind(), ErrorKind::Stale);
    let place = Dataset::open(made.path()).unwrap().get(3).unwrap();
    let part = place.part("jpg").unwrap().as_slice();
    let changed = Tars::of(&made).with("s-0.tar", |bytes| {
        let at = bytes.windows(part.len()).position(|found| found == part).unwrap();
        bytes[at] ^= 1;
    });
    let error = opened(changed).unwrap_err();
    assert_eq!((error.kind(), error.place().key.as_deref()), (ErrorKind::Damaged, Some("k00003")));
}

/// Manifest and sidecars of a data set.
fn bytes_of(made: &Made) -> (Vec<u8>, HashMap<String, Vec<u8>>) {
    (
        fs::read(made.manifest()).unwrap(),
        made.tars
            .iter()
            .map(|tar| {
                let path = tar.with_extension("index");
                (name(&path), fs::read(path).unwrap())
            })
            .collect(),
    )
}

#[test]
fn a_data_set_of_bytes_is_the_one_of_files() {
    let made = Made::new(&[9, 8]);
    let (manifest, sidecars) = bytes_of(&made);
    let of_files = epoch(Loader::builder(made.path())).unwrap();
    let files = Dataset::open(made.path()).unwrap();
    let opener = Arc::new(Tars::of(&made));
    for tar in &made.tars {
        fs::remove_file(tar).unwrap();
        fs::remove_file(tar.with_extension("index")).unwrap();
    }
    for mapped in [u64::MAX, 0] {
        let bytes = Dataset::from_bytes(&manifest, sidecars.clone(), opener.clone()).unwrap();
        let bytes = bytes.with_mapped_sidecars(mapped);
        assert_eq!(bytes.fingerprint().unwrap(), files.fingerprint().unwrap());
        assert_eq!(bytes.extensions().unwrap(), files.extensions().unwrap());
        assert_eq!(bytes.get_key("k00010").unwrap().unwrap().ordinal(), 10);
        assert_eq!(epoch(Loader::from_dataset(bytes)).unwrap(), of_files, "{mapped}");
    }
}

#[test]
fn a_job_goes_on_with_files_where_it_stopped_with_bytes() {
    fn builder(dataset: Dataset) -> tarflume::LoaderBuilder {
        Loader::from_dataset(dataset).shuffle(Shuffle::Full { seed: 4 }).bytes("jpg").batch(4)
    }

    fn rest(batches: &mut dyn Iterator<Item = Result<tarflume::Batch>>) -> Vec<u64> {
        batches.flat_map(|batch| batch.unwrap().ordinals().collect::<Vec<_>>()).collect()
    }

    let made = Made::new(&[9, 8]);
    let (manifest, sidecars) = bytes_of(&made);
    let opener = Arc::new(Tars::of(&made));
    let bytes = Dataset::from_bytes(&manifest, sidecars, opener).unwrap();
    let loader = builder(bytes).build().unwrap();
    let mut epoch = loader.epoch(0);
    epoch.next().unwrap().unwrap();
    let state: LoaderState = loader.state();
    let files = Dataset::open(made.path()).unwrap();
    let resumed = builder(files).resume(state).build().unwrap();
    assert_eq!(rest(&mut resumed.epoch(0)), rest(&mut epoch));
}

#[test]
fn a_sidecar_that_is_missing_or_of_another_tar_is_an_error() {
    let made = Made::new(&[9, 8]);
    let (manifest, sidecars) = bytes_of(&made);
    let opener = Arc::new(Tars::of(&made));
    let mut fewer = sidecars.clone();
    let first = fewer.remove("s-0.index").unwrap();
    let error = Dataset::from_bytes(&manifest, fewer.clone(), opener.clone()).unwrap_err();
    assert_eq!(
        (error.kind(), error.place().path.as_deref()),
        (ErrorKind::Usage, Some("s-0.index".as_ref()))
    );
    fewer.insert("s-0.index".into(), sidecars["s-1.index"].clone());
    let error = Dataset::from_bytes(&manifest, fewer.clone(), opener.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    fewer.insert("s-0.index".into(), first[..first.len() - 1].to_vec());
    assert!(Dataset::from_bytes(&manifest, fewer, opener).is_err());
}

#[test]
fn data_sets_of_bytes_and_of_files_are_joined() {
    fn of_bytes(made: &Made) -> Dataset {
        let (manifest, sidecars) = bytes_of(made);
        Dataset::from_bytes(&manifest, sidecars, Arc::new(Tars::of(made))).unwrap()
    }

    let parts = [Made::new(&[9, 8]), Made::new(&[5]), Made::new(&[3, 2])];
    let [first, second, third] = &parts;
    let file = Dataset::open(second.path()).unwrap();
    let all = [of_bytes(first), file, of_bytes(third)];
    let joined = Dataset::concat(&all).unwrap().with_source(SourceKind::File);
    let expected: Vec<_> = parts.iter().flat_map(Made::samples).collect();
    assert_eq!(joined.len(), expected.len() as u64);
    for (ordinal, (key, parts)) in expected.iter().enumerate() {
        let sample = joined.get(ordinal as u64).unwrap();
        assert_eq!(sample.key(), key.as_bytes());
        assert_eq!(&**sample.part("jpg").unwrap(), &parts["jpg"][..], "tars of one name");
    }
}
