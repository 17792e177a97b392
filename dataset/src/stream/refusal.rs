//! `Refusal`: the operations that need an index, and the remedies.
//!
//! The only place that contains these messages.

use std::path::Path;

use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_types::Error;

/// An operation that a stream does not support.
///
/// ```
/// use tarflume::{Refusal, Stream};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// # let shards = shards.display();
/// let stream = Stream::open(format!("{shards}/*.tar"))?;
/// println!("{}", stream.refuse(Refusal::Resume)); // names `pack index`
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Resume at exactly the next sample.
    Resume,
    /// The same number of steps on every rank.
    EqualSteps,
    /// An exact permutation of all samples.
    FullShuffle,
    /// Shuffle of runs of neighboring samples.
    BlockShuffle,
    /// Any sample on any rank, regardless of its shard.
    SplitByPosition,
    /// A sample by its ordinal or key.
    RandomAccess,
    /// The proof that each sample was seen exactly once.
    Ledger,
    /// The number of samples.
    Length,
    /// A substitute for a bad sample.
    Substitute,
    /// Mixture of data sets by weight.
    Mixture,
}

/// How to get an index for the streamed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalRemedy<'a> {
    /// Plain tars in this folder.
    Index(&'a Path),
    /// Compressed tars in this folder.
    Unpack(&'a Path),
    /// A pipe, a socket, a `Read`.
    Save,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Refusal; 10] = [
        Refusal::Resume,
        Refusal::EqualSteps,
        Refusal::FullShuffle,
        Refusal::BlockShuffle,
        Refusal::SplitByPosition,
        Refusal::RandomAccess,
        Refusal::Ledger,
        Refusal::Length,
        Refusal::Substitute,
        Refusal::Mixture,
    ];

    /// The operation and what it needs.
    fn reason(self) -> &'static str {
        match self {
            Refusal::Resume => "exact resume needs the position of every sample",
            Refusal::EqualSteps => {
                "the same number of steps on every rank needs the number of samples"
            }
            Refusal::FullShuffle => "a full shuffle needs the position of every sample",
            Refusal::BlockShuffle => "a block shuffle needs the position of every sample",
            Refusal::SplitByPosition => "splitting by position needs the position of every sample",
            Refusal::RandomAccess => {
                "getting a sample by ordinal or key needs the position of every sample"
            }
            Refusal::Ledger => {
                "the proof that each sample was seen exactly once needs the list of samples"
            }
            Refusal::Length => "the number of samples is known only after all shards are read",
            Refusal::Substitute => {
                "a substitute for a bad sample needs the positions of the others"
            }
            Refusal::Mixture => "mixing data sets by weight needs the number of samples of each",
        }
    }

    /// The error, with its remedy.
    pub fn error(self, remedy: RefusalRemedy<'_>) -> Error {
        let reason = self.reason();
        let text = match remedy {
            RefusalRemedy::Index(dir) => message!(
                "{reason}: run `{index}` and open the data set";
                index = Call::of(Task::Index).on_path(named(dir))
            ),
            RefusalRemedy::Unpack(dir) => message!(
                "{reason}: decompress the shards in {} (gunzip, zstd -d), run `{index}` and open the data set",
                named(dir).display();
                index = Call::of(Task::Index).on_path(named(dir))
            ),
            RefusalRemedy::Save => message!(
                "{reason}: save the stream as tars in a folder, run `{index}` on it and open the data set";
                index = Call::of(Task::Index)
            ),
        };
        Error::usage(text)
    }
}

fn named(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() { Path::new(".") } else { dir }
}

#[cfg(test)]
mod tests {
    use tarflume_types::ErrorKind;

    use super::*;

    #[test]
    fn each_refusal_is_one_sentence_with_its_remedy() {
        let want = [
            "exact resume needs the position of every sample",
            "the same number of steps on every rank needs the number of samples",
            "a full shuffle needs the position of every sample",
            "a block shuffle needs the position of every sample",
            "splitting by position needs the position of every sample",
            "getting a sample by ordinal or key needs the position of every sample",
            "the proof that each sample was seen exactly once needs the list of samples",
            "the number of samples is known only after all shards are read",
            "a substitute for a bad sample needs the positions of the others",
            "mixing data sets by weight needs the number of samples of each",
        ];
        for (refusal, reason) in Refusal::ALL.into_iter().zip(want) {
            let error = refusal.error(RefusalRemedy::Index(Path::new("shards")));
            assert_eq!(error.kind(), ErrorKind::Usage);
            let text = format!("{reason}: run `pack index shards` and open the data set");
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn the_remedy_fits_the_kind_of_stream() {
        fn text(remedy: RefusalRemedy<'_>) -> String {
            Refusal::Resume.error(remedy).to_string()
        }

        let reason = "exact resume needs the position of every sample";
        assert_eq!(
            text(RefusalRemedy::Index(Path::new(""))),
            format!("{reason}: run `pack index .` and open the data set")
        );
        assert_eq!(
            text(RefusalRemedy::Unpack(Path::new("d"))),
            format!(
                "{reason}: decompress the shards in d (gunzip, zstd -d), run `pack index d` and \
                 open the data set"
            )
        );
        assert_eq!(
            text(RefusalRemedy::Save),
            format!(
                "{reason}: save the stream as tars in a folder, run `pack index` on it and open \
                 the data set"
            )
        );
    }
}
