//! Divides the samples of a data set among output files by their sizes alone: runs of neighbors, in
//! order. Reads no tar.

use tarflume_base::Failure;
use tarflume_formats::index::Sample;
use tarflume_shards::listing::{Listing, Shard};

/// Neighboring samples: those of one output file, or a part of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The shard of the first sample.
    pub(crate) shard: usize,
    /// Its row.
    pub(crate) row: u64,
    /// Number of samples; they may continue in later shards.
    pub(crate) samples: u64,
}

/// Divides all samples: a file ends before the sample that would make it larger than `limit` bytes
/// by `size`. A larger sample gets a file to itself.
///
/// # Errors
/// Returns the errors of `size`, and an error if there are no samples or a sidecar is damaged.
pub(crate) fn plan(
    listing: &Listing,
    limit: u64,
    size: impl Fn(&Shard, &Sample<'_>) -> Result<u64, Failure>,
) -> Result<Vec<Span>, Failure> {
    if listing.samples() == 0 {
        return Err(Failure::usage("there are no samples to export"));
    }
    let all = Span { shard: 0, row: 0, samples: listing.samples() };
    divide(listing, all, limit, u64::MAX, size)
}

/// As [`plan`] for the samples of `span`, with at most `most` samples in each part.
///
/// # Errors
/// Returns the errors of [`plan`].
pub(crate) fn divide(
    listing: &Listing,
    span: Span,
    limit: u64,
    most: u64,
    size: impl Fn(&Shard, &Sample<'_>) -> Result<u64, Failure>,
) -> Result<Vec<Span>, Failure> {
    let mut spans = Vec::new();
    let mut open: Option<Span> = None;
    let mut bytes: u64 = 0;
    for found in samples(listing, span) {
        let (number, sample) = found?;
        let more = size(&listing.shards[number], &sample)?;
        let enough = bytes.saturating_add(more) > limit;
        match &mut open {
            Some(open) if !enough && open.samples < most => open.samples += 1,
            _ => {
                spans.extend(open.replace(Span { shard: number, row: sample.row, samples: 1 }));
                bytes = 0;
            }
        }
        bytes = bytes.saturating_add(more);
    }
    spans.extend(open);
    Ok(spans)
}

/// Returns the samples of a span with the numbers of their shards, in order.
pub(crate) fn samples<'a>(
    listing: &'a Listing,
    span: Span,
) -> impl Iterator<Item = Result<(usize, Sample<'a>), Failure>> {
    let mut shard = span.shard;
    let mut row = span.row;
    let mut left = span.samples;
    std::iter::from_fn(move || {
        while left > 0 {
            match listing.shards.get(shard)?.index.sample(row) {
                Ok(Some(sample)) => {
                    (row, left) = (row + 1, left - 1);
                    return Some(Ok((shard, sample)));
                }
                Ok(None) => (shard, row) = (shard + 1, 0),
                Err(error) => {
                    left = 0;
                    return Some(Err(error.into()));
                }
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_fixtures::TarBytes;
    use tarflume_formats::Index;
    use tarflume_formats::index::{IndexBuilder, TarFacts};
    use tarflume_formats::json::JsonRules;

    /// Two shards of three and two samples with parts of these lengths, and an empty one between.
    fn listing(dir: &std::path::Path) -> Listing {
        let mut shards = shard(&dir.join("a"), &[10, 20, 30]);
        shards.push(empty());
        shards.extend(shard(&dir.join("c"), &[40, 5]));
        Listing { manifest: None, root: None, shards, json_rules: JsonRules::Strict }
    }

    /// A shard whose keys are the name of its file and a number.
    fn shard(path: &std::path::Path, lengths: &[usize]) -> Vec<Shard> {
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut tar = TarBytes::new();
        for (n, &length) in lengths.iter().enumerate() {
            tar.member(format!("{name}{n}.bin").as_bytes(), &vec![0; length]);
        }
        std::fs::write(path, tar.ended()).unwrap();
        tarflume_shards::listing::open(path).unwrap().shards
    }

    /// A shard without samples.
    fn empty() -> Shard {
        let facts = TarFacts { length: 1024, digest: None };
        let index = Index::from_bytes(IndexBuilder::new().encode(&facts).unwrap()).unwrap();
        Shard { tar: "b".into(), source: None, index, has_sidecar: false, ignore_zeros: false }
    }

    fn length(_: &Shard, sample: &Sample<'_>) -> Result<u64, Failure> {
        Ok(sample.parts().map(|part| part.unwrap().length).sum())
    }

    fn span(shard: usize, row: u64, samples: u64) -> Span {
        Span { shard, row, samples }
    }

    #[test]
    fn files_cross_shards_and_a_large_sample_is_alone() {
        let dir = tempfile::tempdir().unwrap();
        let listing = listing(dir.path());
        for (limit, want) in [
            (1, vec![span(0, 0, 1), span(0, 1, 1), span(0, 2, 1), span(2, 0, 1), span(2, 1, 1)]),
            (30, vec![span(0, 0, 2), span(0, 2, 1), span(2, 0, 1), span(2, 1, 1)]),
            (75, vec![span(0, 0, 3), span(2, 0, 2)]),
            (100, vec![span(0, 0, 4), span(2, 1, 1)]),
            (u64::MAX, vec![span(0, 0, 5)]),
        ] {
            assert_eq!(plan(&listing, limit, length).unwrap(), want, "{limit}");
        }
        let parts = divide(&listing, span(0, 1, 3), u64::MAX, 2, length).unwrap();
        assert_eq!(parts, [span(0, 1, 2), span(2, 0, 1)]);
        let keys: Vec<_> =
            samples(&listing, span(0, 2, 3)).map(|found| found.unwrap().1.shown_key()).collect();
        assert_eq!(keys, ["a2", "c0", "c1"]);
    }

    #[test]
    fn nothing_is_not_exported() {
        let shards = vec![empty()];
        let listing = Listing { manifest: None, root: None, shards, json_rules: JsonRules::Strict };
        let failure = plan(&listing, 1, length).unwrap_err();
        assert!(failure.text().contains("no samples"), "{failure}");
    }
}
