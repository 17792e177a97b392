//! A machine that fails while samples are read: a machine error, whatever the policy for bad samples. No sample
//! is skipped, replaced or counted as bad.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume::{
    Dataset, Error, ErrorKind, Identity, Loader, LoaderBuilder, OnBad, Open, Result, Shuffle,
    Source, SourceKind,
};

use crate::loader::harness::Shards;

/// What goes wrong.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// Reads of bytes from here on fail with this code.
    Read(u64, i32),
    /// The shard can't be opened.
    Open(i32),
    /// So many reads fail with EACCES, all later ones with EIO.
    Turns,
    /// Reads fail with a message but no cause, like those of a custom store.
    Words(u64),
}

/// Opens files whose first reads fail, this many times.
#[derive(Debug)]
struct Failing {
    trouble: Trouble,
    left: Arc<AtomicU64>,
}

impl Failing {
    fn fails(left: &AtomicU64) -> bool {
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
    }
}

fn refused(code: i32) -> Error {
    Error::new(ErrorKind::Io, "cannot read").with_source(io::Error::from_raw_os_error(code))
}

impl Open for Failing {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        if let Trouble::Open(code) = self.trouble
            && Failing::fails(&self.left)
        {
            return Err(refused(code));
        }
        let (inner, identity) = SourceKind::File.open(path)?;
        let source = FailingSource { inner, trouble: self.trouble, left: self.left.clone() };
        Ok((Arc::new(source), identity))
    }
}

#[derive(Debug)]
struct FailingSource {
    inner: Arc<dyn Source>,
    trouble: Trouble,
    left: Arc<AtomicU64>,
}

impl Source for FailingSource {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let end = at + into.len() as u64;
        match self.trouble {
            Trouble::Read(from, code) if end > from && Failing::fails(&self.left) => {
                Err(refused(code))
            }
            Trouble::Words(from) if end > from && Failing::fails(&self.left) => {
                Err(Error::new(ErrorKind::Io, "the store answers 503"))
            }
            Trouble::Turns => Err(refused(if Failing::fails(&self.left) { 13 } else { 5 })),
            _ => self.inner.read_at(at, into),
        }
    }
}

fn loader(shards: &Shards, trouble: Trouble, times: u64, on_bad: OnBad) -> Loader {
    let left = Arc::new(AtomicU64::new(times));
    let dataset = Dataset::open(shards.path()).unwrap();
    let opener = Arc::new(Failing { trouble, left });
    let builder: LoaderBuilder = Loader::from_dataset(dataset).bytes("bin").text("txt").batch(4);
    builder
        .opener(opener)
        .threads(3)
        .on_bad(on_bad)
        .shuffle(Shuffle::Full { seed: 3 })
        .build()
        .unwrap()
}

/// The rows that came, and the error that ended the epoch.
fn end(loader: &Loader) -> (usize, Option<Error>) {
    let mut rows = 0;
    for batch in loader.epoch(0) {
        match batch {
            Ok(batch) => rows += batch.len(),
            Err(error) => return (rows, Some(error)),
        }
    }
    (rows, None)
}

#[test]
fn no_policy_hides_an_error_of_the_machine() {
    let shards = Shards::of(&[20, 20]);
    for on_bad in [OnBad::Error, OnBad::Skip, OnBad::Substitute] {
        for trouble in [
            Trouble::Read(9000, 5),
            Trouble::Read(9000, 12),
            Trouble::Read(9000, 116),
            Trouble::Read(0, 4000),
            Trouble::Open(24),
            Trouble::Open(23),
            Trouble::Words(9000),
        ] {
            let loader = loader(&shards, trouble, u64::MAX, on_bad);
            let (rows, error) = end(&loader);
            let error = error.unwrap_or_else(|| panic!("{trouble:?}, {on_bad:?}: {rows} rows"));
            assert!(error.is_machine(), "{trouble:?}, {on_bad:?}: {error:?}");
            assert!(matches!(trouble, Trouble::Words(_)) || error.kind() == ErrorKind::Machine);
            // A shard that can't be opened is no sample's error.
            let opened = !matches!(trouble, Trouble::Open(_));
            assert!(error.place().path.is_some(), "{trouble:?}: {error}");
            assert!(!opened || error.place().key.is_some(), "{trouble:?}: {error}");
            assert!(rows % 4 == 0, "batches are whole");
            assert!(loader.bad_samples().is_empty(), "{:?}", loader.bad_samples());
            assert_eq!(loader.ledger().bad().count, 0);
        }
    }
}

#[test]
fn an_error_of_the_data_is_still_a_bad_sample() {
    let shards = Shards::of(&[20, 20]);
    let unreadable = loader(&shards, Trouble::Read(9000, 13), u64::MAX, OnBad::Skip);
    end(&unreadable);
    assert!(!unreadable.bad_samples().is_empty());
    // Without its shard an epoch would be a shorter one, whatever is done about bad samples.
    let missing = loader(&shards, Trouble::Open(2), u64::MAX, OnBad::Skip);
    let (_, error) = end(&missing);
    assert!(!error.unwrap().is_machine() && missing.bad_samples().is_empty());
}

#[test]
fn an_unreadable_substitute_is_an_error_of_the_machine_and_not_replaced() {
    let shards = Shards::of(&[20, 20]);
    for bad in 1..20 {
        let loader = loader(&shards, Trouble::Turns, bad, OnBad::Substitute);
        let (_, error) = end(&loader);
        let error = error.expect("all reads fail");
        assert_eq!(error.kind(), ErrorKind::Machine, "{bad}: {error:?}");
        assert!(loader.bad_samples().is_empty());
    }
}
