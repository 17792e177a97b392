//! `Refusal`: what can't be promised without an index, and what to do to have it.
//!
//! The one place where these sentences stand.

use std::path::Path;

use crate::error::Error;

/// What a stream can't do.
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
    /// Going on at exactly the next sample after a stop.
    Resume,
    /// The same number of steps on every rank.
    EqualSteps,
    /// An exact permutation of all samples.
    FullShuffle,
    /// Runs of neighbors dealt at random.
    BlockShuffle,
    /// Any sample to any rank, whatever shard it stands in.
    SplitByPosition,
    /// A sample by its ordinal or key.
    RandomAccess,
    /// The proof that each sample was seen exactly once.
    Ledger,
    /// How many samples there are.
    Length,
    /// Another sample in the place of a bad one.
    Substitute,
    /// Several data sets with weights.
    Mixture,
}

/// How an index can be had for what is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy<'a> {
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

    /// What is asked for and what it needs.
    fn reason(self) -> &'static str {
        match self {
            Refusal::Resume => "exact resume needs to know where every sample stands",
            Refusal::EqualSteps => {
                "the same number of steps on every rank needs to know how many samples there are"
            }
            Refusal::FullShuffle => "a full shuffle needs to know where every sample stands",
            Refusal::BlockShuffle => "a block shuffle needs to know where every sample stands",
            Refusal::SplitByPosition => {
                "splitting by position needs to know where every sample stands"
            }
            Refusal::RandomAccess => {
                "getting a sample by ordinal or key needs to know where every sample stands"
            }
            Refusal::Ledger => {
                "proof that each sample was seen exactly once needs to know which samples there are"
            }
            Refusal::Length => "the number of samples is not known before all shards are read",
            Refusal::Substitute => {
                "a substitute for a bad sample needs to know where the others stand"
            }
            Refusal::Mixture => {
                "mixing data sets by weight needs to know how many samples each of them has"
            }
        }
    }

    /// The error that refuses it.
    pub fn error(self, remedy: Remedy<'_>) -> Error {
        let reason = self.reason();
        let text = match remedy {
            Remedy::Index(dir) => {
                format!("{reason}: run `pack index {}` and open the data set", shown(dir))
            }
            Remedy::Unpack(dir) => format!(
                "{reason}: decompress the shards in {0} (gunzip, zstd -d), run `pack index {0}` \
                 and open the data set",
                shown(dir)
            ),
            Remedy::Save => format!(
                "{reason}: save the stream as tars in a folder, run `pack index` on it and open \
                 the data set"
            ),
        };
        Error::usage(text)
    }
}

fn shown(dir: &Path) -> String {
    if dir.as_os_str().is_empty() { ".".into() } else { dir.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn each_refusal_is_one_sentence_with_its_remedy() {
        let want = [
            "exact resume needs to know where every sample stands",
            "the same number of steps on every rank needs to know how many samples there are",
            "a full shuffle needs to know where every sample stands",
            "a block shuffle needs to know where every sample stands",
            "splitting by position needs to know where every sample stands",
            "getting a sample by ordinal or key needs to know where every sample stands",
            "proof that each sample was seen exactly once needs to know which samples there are",
            "the number of samples is not known before all shards are read",
            "a substitute for a bad sample needs to know where the others stand",
            "mixing data sets by weight needs to know how many samples each of them has",
        ];
        for (refusal, reason) in Refusal::ALL.into_iter().zip(want) {
            let error = refusal.error(Remedy::Index(Path::new("shards")));
            assert_eq!(error.kind(), ErrorKind::Usage);
            let text = format!("{reason}: run `pack index shards` and open the data set");
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn the_remedy_fits_what_is_streamed() {
        let text = |remedy| Refusal::Resume.error(remedy).to_string();
        let reason = "exact resume needs to know where every sample stands";
        assert_eq!(
            text(Remedy::Index(Path::new(""))),
            format!("{reason}: run `pack index .` and open the data set")
        );
        assert_eq!(
            text(Remedy::Unpack(Path::new("d"))),
            format!(
                "{reason}: decompress the shards in d (gunzip, zstd -d), run `pack index d` and \
                 open the data set"
            )
        );
        assert_eq!(
            text(Remedy::Save),
            format!(
                "{reason}: save the stream as tars in a folder, run `pack index` on it and open \
                 the data set"
            )
        );
    }
}
