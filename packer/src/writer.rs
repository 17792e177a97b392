//! `DatasetWriter`: samples from a program -> shards with sidecars, and a manifest at the end.
//!
//! As in a build, an output folder holds nothing before all is complete: finished shards wait in the working folder. In
//! an object store they have their final names, and the manifest is missing. The same samples give the same tars and
//! sidecars as `pack build` of their files.

mod keys;
mod merge;
mod options;
mod place;

use std::fmt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use tarflume_base::check::{CheckLevel, Content, ImageSize, Tray, strips_of};
use tarflume_base::compress::Compress;
use tarflume_base::{Failure, Problem, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::{
    IrregularJpeg, IrregularJpegs, Manifest, ShardRecord, ShardWriter, name, tar,
};

pub use self::merge::merge;
pub use self::options::Options;

use self::keys::Keys;
use self::place::Place;
use crate::bucket::Bucket;
use crate::build::requests::options::check_prefix;
use crate::plan::naming::shard_name;

/// Why a sample was not written.
pub enum Rejected {
    /// The sample has a fault; others can still be written.
    Problem(Box<Problem>),
    /// The machine failed.
    Failure(Failure),
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejected::Problem(problem) => problem.fmt(f),
            Rejected::Failure(failure) => failure.fmt(f),
        }
    }
}

/// Writes one line, for `main` and `unwrap`.
impl fmt::Debug for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Rejected {}

impl From<Box<Problem>> for Rejected {
    fn from(problem: Box<Problem>) -> Rejected {
        Rejected::Problem(problem)
    }
}

impl From<Failure> for Rejected {
    fn from(failure: Failure) -> Rejected {
        Rejected::Failure(failure)
    }
}

impl From<tarflume_formats::Error> for Rejected {
    fn from(error: tarflume_formats::Error) -> Rejected {
        Rejected::Failure(error.into())
    }
}

/// What remains of an abandoned writer.
#[derive(Debug)]
pub struct Abandoned {
    /// Finished shards.
    pub shards: usize,
    /// Samples in them.
    pub samples: u64,
    /// The folder, or the URL, that holds them.
    pub folder: PathBuf,
}

/// Writes a data set sample by sample.
///
/// ```
/// use tarflume_packer::writer::{DatasetWriter, Options, Rejected};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let out = folder.path().join("numbers");
/// let options = Options { prefix: "train".into(), shard_samples: Some(1000), ..Options::default() };
/// let mut writer = DatasetWriter::create(&out, options)?;
/// for number in 0..2500 {
///     let text = format!("{{\"number\": {number}}}");
///     writer.write(format!("{number:06}").as_bytes(), &[(b"json", text.as_bytes())])?;
/// }
/// // A sample with a fault is left out, and the writer goes on.
/// match writer.write(b"002500", &[(b"json", b"{ no JSON")]) {
///     Err(Rejected::Problem(problem)) => assert!(problem.to_string().contains("002500")),
///     other => panic!("{other:?}"),
/// }
/// let manifest = writer.finish()?; // nothing is published before
/// assert_eq!((manifest.samples, manifest.shards.len()), (2500, 3));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DatasetWriter {
    place: Place,
    options: Options,
    shard: Option<ShardWriter>,
    /// Number of shards begun.
    begun: u64,
    /// The shard that is published to the working folder while the next one is written.
    publishing: Option<JoinHandle<Result<ShardRecord, Failure>>>,
    records: Vec<ShardRecord>,
    /// Why samples that were written are gone, if they are: the data set cannot be published any more.
    lost: Option<Message>,
    keys: Keys,
    tray: Tray,
    /// The irregular JPEGs of finished shards, and those of the shard in work.
    irregular: IrregularJpegs,
    irregular_here: IrregularJpegs,
}

impl DatasetWriter {
    /// Begins a data set in the folder `out`, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the folder holds a data set or an unfinished attempt, if the prefix is
    /// invalid, if another program uses the folder, or if the operating system refuses.
    pub fn create(out: &Path, options: Options) -> Result<DatasetWriter, Failure> {
        check_prefix(&options.prefix)?;
        let place = Place::folder(out, &options)?;
        Ok(DatasetWriter::at(place, options))
    }

    /// Begins a data set in an object store. Each shard is packed in a temporary folder, uploaded, and removed there.
    /// The store must honor conditions, unless `single_writer` says that no other program writes to this prefix.
    ///
    /// # Errors
    /// Returns an error if the prefix holds a data set or an unfinished attempt, if the store ignores conditions or does not
    /// answer, or if the operating system refuses.
    pub fn create_in(
        bucket: Bucket,
        options: Options,
        single_writer: bool,
    ) -> Result<DatasetWriter, Failure> {
        check_prefix(&options.prefix)?;
        let place = Place::bucket(bucket, &options, single_writer)?;
        Ok(DatasetWriter::at(place, options))
    }

    fn at(place: Place, mut options: Options) -> DatasetWriter {
        options.columns = options.columns.with_rules(options.json);
        DatasetWriter {
            place,
            options,
            shard: None,
            begun: 0,
            publishing: None,
            records: Vec::new(),
            lost: None,
            keys: Keys::default(),
            tray: Tray::default(),
            irregular: IrregularJpegs::default(),
            irregular_here: IrregularJpegs::default(),
        }
    }

    /// Writes a sample: its key, and its parts by extension, which are stored in the order of
    /// extensions.
    ///
    /// # Errors
    /// Returns an error if the sample has a fault and is left out: a key that repeats or that some reader would misread, a
    /// part that is empty or damaged, a value that does not fit its column. Returns an error if the machine failed. If
    /// samples that were written before were lost with that, all later calls return an error.
    pub fn write(&mut self, key: &[u8], parts: &[(&[u8], &[u8])]) -> Result<(), Rejected> {
        self.expect_nothing_lost()?;
        let mut parts: Vec<(Vec<u8>, &[u8])> =
            parts.iter().map(|(ext, bytes)| (name::lower(ext).into_owned(), *bytes)).collect();
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        keys::check(&self.options.names, key, &parts)?;
        self.keys.check(&self.options.names, key)?;
        self.make_room(key, &parts)?;
        if self.shard.is_none() {
            let compress = self.options.compress;
            let name = shard_name(&self.options.prefix, self.begun, Compress::ending(compress));
            let folder = self.place.shards();
            let mut shard = match compress {
                Some(compress) => ShardWriter::create_compressed(&folder, &name, compress.level())?,
                None => ShardWriter::create(&folder, &name)?,
            };
            shard.set_columns(self.options.columns.specs().to_vec());
            self.shard = Some(shard);
            self.begun += 1;
        }
        let Some(shard) = &mut self.shard else { return Ok(()) };
        let irregular = &mut self.irregular_here;
        let known = irregular.count;
        let mut packing =
            Packing { shard, tray: &mut self.tray, options: &self.options, irregular };
        match packing.all(key, &parts) {
            Ok(dimensions) => {
                let size = dimensions.map(|size| (size.width, size.height));
                shard.commit(size).inspect_err(|e| self.lost = Some(e.placed()))?
            }
            Err(rejected) => {
                self.irregular_here.cut(known);
                shard.abandon().inspect_err(|e| self.lost = Some(e.placed()))?;
                return Err(rejected);
            }
        }
        self.keys.add(key);
        Ok(())
    }

    /// What a user should know of uploads that killed attempts had left behind, a sentence each.
    pub fn notices(&self) -> Vec<Message> {
        self.place.notices()
    }

    fn expect_nothing_lost(&self) -> Result<(), Failure> {
        let Some(cause) = &self.lost else { return Ok(()) };
        Err(Failure::try_again(message!(
            "samples that were written before are lost, so nothing can be published ({cause}); \
             write the data set again, with `fresh` set to true";
            cause = cause
        ))
        .in_file(self.place.path()))
    }

    /// Returns the JPEGs of written samples that break rules of their format without losing a pixel. They are found where
    /// Huffman codes are read: with entry points, or at level decode.
    pub fn irregular_jpegs(&self) -> IrregularJpegs {
        let mut all = self.irregular.clone();
        all.join(self.irregular_here.clone());
        all
    }

    /// Returns the number of samples written.
    pub fn samples(&self) -> u64 {
        self.keys.len()
    }

    /// Ends the shard if it is full or has no room for this sample.
    fn make_room(&mut self, key: &[u8], parts: &[(Vec<u8>, &[u8])]) -> Result<(), Failure> {
        let Some(shard) = &self.shard else { return Ok(()) };
        let mut member = Vec::new();
        let mut length = shard.position() + tar::END.len() as u64;
        for (ext, bytes) in parts {
            member.clear();
            name::join(&mut member, key, ext);
            let size = bytes.len() as u64;
            length += tar::header_len(&member, size) + size.next_multiple_of(512);
        }
        let full = self.options.shard_samples.is_some_and(|most| shard.samples() >= most);
        if shard.samples() > 0 && (full || length > self.options.shard_size) {
            return self.end_shard();
        }
        Ok(())
    }

    /// Ends the shard. If that fails, its samples are lost.
    fn end_shard(&mut self) -> Result<(), Failure> {
        self.try_end_shard().inspect_err(|failure| self.lost = Some(failure.message()))
    }

    /// Ends the shard; it is synced or uploaded while the next one is written.
    fn try_end_shard(&mut self) -> Result<(), Failure> {
        let Some(shard) = self.shard.take().filter(|shard| shard.samples() > 0) else {
            return Ok(());
        };
        // At most one shard is being published, so that the bytes that wait for it stay bounded.
        self.settle()?;
        let written = shard.finish()?;
        Failure::check_threads(1)?;
        let number = self.begun - 1;
        let target = self.place.target();
        let options = self.options.clone();
        let irregular = std::mem::take(&mut self.irregular_here);
        self.irregular.join(irregular.clone());
        self.publishing = Some(
            std::thread::Builder::new()
                .name("tarflume-publish".into())
                .spawn(move || target.publish(&options, number, written, irregular))
                .map_err(|e| Failure::no_thread(&e))?,
        );
        Ok(())
    }

    /// Waits for the shard that is being published.
    fn settle(&mut self) -> Result<(), Failure> {
        let Some(thread) = self.publishing.take() else { return Ok(()) };
        let record = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.records.push(record?);
        Ok(())
    }

    /// Ends the last shard, moves all shards out of the working folder if there is one, and writes the manifest.
    ///
    /// # Errors
    /// Returns an error if no sample was written, samples were lost, a file already has a shard's name, another program
    /// has discarded shards of this writer in the store, or the operating system or the store refuses.
    pub fn finish(mut self) -> Result<Manifest, Failure> {
        self.expect_nothing_lost()?;
        self.end_shard()?;
        self.settle()?;
        if self.records.is_empty() {
            self.place.remove()?;
            return Err(Failure::usage(
                message!("no sample was written to {path}"; path = self.place.path()),
            )
            .with_file(self.place.path()));
        }
        self.place.publish_all(std::mem::take(&mut self.records), &self.options.unplanned())
    }

    /// Abandons the data set: publishes nothing. Finished shards stay in the working folder or in the store; without such a
    /// shard, nothing stays.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn abandon(mut self) -> Result<Abandoned, Failure> {
        self.shard = None; // dropping it removes its temporary file
        self.place.stop();
        // A shard that could not be published is none of those that stay.
        let settled = self.settle();
        if self.records.is_empty() {
            self.place.remove()?;
        }
        if self.place.is_folder() {
            settled?;
        }
        Ok(Abandoned {
            shards: self.records.len(),
            samples: self.records.iter().map(|record| record.entry.samples).sum(),
            folder: self.place.finished(),
        })
    }
}

/// A sample that is being added to a shard.
struct Packing<'a> {
    shard: &'a mut ShardWriter,
    tray: &'a mut Tray,
    options: &'a Options,
    irregular: &'a mut IrregularJpegs,
}

impl Packing<'_> {
    fn all(
        &mut self,
        key: &[u8],
        parts: &[(Vec<u8>, &[u8])],
    ) -> Result<Option<ImageSize>, Rejected> {
        self.shard.begin(key);
        let mut dimensions = None;
        for (ext, bytes) in parts {
            let found = self.part(key, ext, bytes)?;
            dimensions = dimensions.or(found);
        }
        Ok(dimensions)
    }

    fn part(
        &mut self,
        key: &[u8],
        ext: &[u8],
        bytes: &[u8],
    ) -> Result<Option<ImageSize>, Rejected> {
        let refused = |kind: ProblemKind, byte: Option<u64>, reason: Message| {
            let mut member = Vec::new();
            name::join(&mut member, key, ext);
            let problem = Problem::new(kind, name::shown(&member), reason);
            Rejected::Problem(Box::new(problem.at(byte).of(name::shown(key))))
        };
        if bytes.is_empty() {
            return Err(refused(ProblemKind::Empty, None, "the part is empty".into()));
        }
        let check = Content::of(ext).check(bytes, self.options.check, self.options.json);
        let found = check.map_err(|f| refused(f.kind, Some(f.byte), f.reason))?;
        self.shard.part(ext, bytes.len() as u64)?.copy_from_slice(bytes);
        let columns = &self.options.columns;
        if columns.is_in(ext) {
            let set = self.shard.values(ext, |bytes, put| columns.read(ext, bytes, put));
            set.map_err(|f| refused(f.kind, Some(f.byte), f.reason))?;
        }
        let decode = self.options.check == CheckLevel::Decode;
        if let Some(header) = found.codes.filter(|_| self.options.entry_points || decode) {
            let read = self.tray.read_one(bytes, &header);
            let read = read.map_err(|f| refused(f.kind, Some(f.byte), f.reason))?;
            if self.options.entry_points {
                self.shard.entry_points(read.entry_points);
                self.shard.strips(&strips_of(bytes, read.entry_points));
            }
            if let Some(fault) = read.irregular {
                let byte = fault.byte;
                let reason = fault.reason.clone();
                self.irregular.add(|| {
                    let mut member = Vec::new();
                    name::join(&mut member, key, ext);
                    let path = name::shown(&member);
                    let key = name::shown(key);
                    IrregularJpeg { path, byte, key, reason: reason.text() }
                });
            }
        }
        Ok(found.dimensions)
    }
}

#[cfg(test)]
mod tests;
