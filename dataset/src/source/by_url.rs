//! `OpenByUrl`: chooses what opens a shard by the beginning of its path, and speaks for all openers of a data set. Opens
//! nothing by itself.

use std::path::Path;
use std::sync::Arc;

use tarflume_types::Result;

use crate::source::Source;
use crate::source::fetch_stats::FetchStats;
use crate::source::identity::Identity;
use crate::source::open::Open;

/// Openers of stores by URL, the opener of local files, and openers of a program, which shards know by themselves.
#[derive(Debug)]
pub(crate) struct OpenByUrl {
    local: Arc<dyn Open>,
    remotes: Vec<(String, Arc<dyn Open>)>,
    own: Vec<Arc<dyn Open>>,
}

impl OpenByUrl {
    pub(crate) fn new(
        local: Arc<dyn Open>,
        remotes: Vec<(String, Arc<dyn Open>)>,
        own: Vec<Arc<dyn Open>>,
    ) -> OpenByUrl {
        OpenByUrl { local, remotes, own }
    }

    /// All openers.
    fn all(&self) -> impl Iterator<Item = &Arc<dyn Open>> {
        let remotes = self.remotes.iter().map(|(_, remote)| remote);
        remotes.chain(&self.own).chain([&self.local])
    }

    fn opener_of(&self, path: &Path) -> &dyn Open {
        let remote = self.remotes.iter().find(|(url, _)| path.starts_with(url));
        remote.map_or(&*self.local, |(_, remote)| &**remote)
    }
}

impl Open for OpenByUrl {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        self.opener_of(path).open(path)
    }

    fn opens_files(&self, path: &Path) -> bool {
        self.opener_of(path).opens_files(path)
    }

    fn begin_epoch(&self) {
        self.all().for_each(|opener| opener.begin_epoch());
    }

    fn is_remote(&self) -> bool {
        self.all().any(|opener| opener.is_remote())
    }

    fn readahead(&self) -> Option<u64> {
        self.all().filter_map(|opener| opener.readahead()).min()
    }

    fn hole(&self) -> Option<u64> {
        self.all().filter_map(|opener| opener.hole()).min()
    }

    /// The sum of all stores. Quantiles are the largest ones.
    fn fetch_stats(&self) -> Option<FetchStats> {
        let stats = self.all().filter_map(|opener| opener.fetch_stats());
        stats.reduce(|a, b| FetchStats {
            requests: a.requests + b.requests,
            retries: a.retries + b.retries,
            hedges: a.hedges + b.hedges,
            throttled: a.throttled + b.throttled,
            bytes: a.bytes + b.bytes,
            first_byte_p50: a.first_byte_p50.max(b.first_byte_p50),
            first_byte_p95: a.first_byte_p95.max(b.first_byte_p95),
            cache: match (a.cache, b.cache) {
                (Some(one), Some(other)) => Some(one.plus(other)),
                (one, other) => one.or(other),
            },
            // A store without a known price adds nothing.
            nano_usd: a.nano_usd.into_iter().chain(b.nano_usd).reduce(|a, b| a + b),
        })
    }
}
