//! `Storage`: how a program reaches a store, and what it may use here.

use std::io;
use std::path::PathBuf;

use tarflume_cache::{Cache, Settings};
use tarflume_formats::message::{Message, Setting};
use tarflume_store::{ErrorPart, Options, Store, UrlList};
use tarflume_types::{Error, ErrorKind, Result, Size};

use crate::remote::name::is_url_list;
use crate::source::fetch_stats::FetchStats;
use crate::source::price::Price;

/// Bytes of shards that are fetched ahead and were not used yet, unless the user says otherwise.
const READAHEAD: u64 = 256 << 20;
/// A request takes as long as this many bytes of a link of 1 GB/s, if 256 requests of 30 ms are under way.
const HOLE: u64 = 128 << 10;

/// The options of a data set in an object store.
///
/// ```
/// use tarflume::Storage;
///
/// let storage = Storage::new()
///     .option("endpoint", "http://localhost:8333")?
///     .option("allow_http", "true")?
///     .readahead("512MiB".parse()?);
/// assert!(Storage::new().option("endpiont", "x").is_err());
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Storage {
    pairs: Vec<(String, String)>,
    store: Option<Store>,
    readahead: u64,
    hole: u64,
    never_late: bool,
    sidecars: Option<PathBuf>,
    cache: Option<u64>,
    cache_folder: Option<PathBuf>,
}

impl Default for Storage {
    fn default() -> Storage {
        Storage {
            pairs: Vec::new(),
            store: None,
            readahead: READAHEAD,
            hole: HOLE,
            never_late: false,
            sidecars: None,
            cache: None,
            cache_folder: None,
        }
    }
}

impl Storage {
    /// What the environment says: credentials, regions and endpoints as the tools of the stores take
    /// them.
    pub fn new() -> Storage {
        Storage::default()
    }

    /// Sets an option of the store, such as `endpoint`, `region`, `profile` or `anonymous`. The
    /// error for an unknown name lists all.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an unknown name.
    pub fn option(mut self, name: &str, value: &str) -> Result<Storage> {
        Options::from_pairs([(name, value)]).map_err(|e| Error::usage(e.text()))?;
        self.pairs.push((name.into(), value.into()));
        Ok(self)
    }

    /// Limits the bytes that are fetched before they are needed. The default is 256 MiB. They are
    /// not part of the memory limit of a loader.
    #[must_use]
    pub fn readahead(mut self, size: Size) -> Storage {
        self.readahead = size.bytes();
        self
    }

    /// Bytes of a JPEG that no crop needs are fetched, too, if they are at most so many in one place and the bytes before
    /// and after them are needed: a further request would cost more. The default is 128 KiB. Less saves bytes and takes
    /// more requests, which pays where bytes leave the region of the store.
    #[must_use]
    pub fn hole(mut self, size: Size) -> Storage {
        self.hole = size.bytes();
        self
    }

    /// No range is asked for a second time because its answer is late: for tests that count requests.
    #[doc(hidden)]
    #[must_use]
    pub fn never_late(mut self) -> Storage {
        self.never_late = true;
        self
    }

    /// Keeps sidecars in this folder. The default is `TARFLUME_SIDECARS`, or `tarflume/sidecars` in
    /// the user's cache folder. They are named by their digests, so data sets can share it. The commits
    /// that revisions of the Hub were resolved to are kept there for ten minutes, too.
    #[must_use]
    pub fn sidecars(mut self, folder: impl Into<PathBuf>) -> Storage {
        self.sidecars = Some(folder.into());
        self
    }

    /// Keeps blocks of shards in a cache on a local disk that all processes of this machine share. It is one file
    /// of this size, allocated when it is first used; a cache that exists keeps its size. The default is
    /// `TARFLUME_CACHE_SIZE`, or no cache. Shards without a digest in `dataset.json` are not cached.
    #[must_use]
    pub fn cache(mut self, size: Size) -> Storage {
        self.cache = Some(size.bytes());
        self
    }

    /// The folder of the cache, on a disk of this machine. The default is `TARFLUME_CACHE`, or
    /// `/var/tmp/tarflume-UID`.
    #[must_use]
    pub fn cache_folder(mut self, folder: impl Into<PathBuf>) -> Storage {
        self.cache_folder = Some(folder.into());
        self
    }

    /// Reads through a store that the caller has opened, at the URL of the data set.
    #[must_use]
    pub fn store(mut self, store: Store) -> Storage {
        self.store = Some(store);
        self
    }

    /// Opens the store of a URL, or of a list of URLs.
    pub(crate) fn open(&self, url: &str) -> Result<Store> {
        if let Some(store) = &self.store {
            return Ok(store.clone());
        }
        let options = self.options()?;
        let opened = if is_url_list(url) {
            Store::open_list(url, &options)
        } else {
            Store::open(url, &options)
        };
        opened.map_err(|e| of_store(&e))
    }

    /// Opens the objects of a list of URLs that is in memory. `place` names it in messages.
    pub(crate) fn open_urls(&self, place: &str, list: UrlList) -> Result<Store> {
        Store::of_list(place, list, &self.options()?).map_err(|e| of_store(&e))
    }

    /// Reads a list of URLs from a file, or from an http or https URL.
    pub(crate) fn read_list(&self, place: &str) -> Result<UrlList> {
        UrlList::read(place, &self.options()?).map_err(|e| of_store(&e))
    }

    /// The store that the caller has opened.
    pub(crate) fn given_store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// The options of a store.
    fn options(&self) -> Result<Options> {
        let pairs = self.pairs.iter().map(|(name, value)| (name, value.clone()));
        let options = Options::from_pairs(pairs).map_err(|e| of_store(&e))?;
        // Only a repository of the Hub uses it, and works without it.
        Ok(match self.folder() {
            Ok(folder) => options.with_folder(folder),
            Err(_) => options,
        })
    }

    /// Opens the cache, or makes it; `None` if none was asked for.
    ///
    /// # Errors
    /// Returns an error if the space cannot be reserved, or the folder is not on a local disk.
    pub(crate) fn open_cache(&self) -> Result<Option<Cache>> {
        let variable = std::env::var("TARFLUME_CACHE_SIZE").ok().filter(|text| !text.is_empty());
        let size = match (self.cache, variable) {
            (Some(bytes), _) => bytes,
            (None, None) => return Ok(None),
            (None, Some(text)) => {
                let size: Result<Size> = text.parse();
                size.map_err(|e| Error::usage(format!("TARFLUME_CACHE_SIZE: {e}")))?.bytes()
            }
        };
        let mut settings = Settings::new(size);
        if let Some(folder) = &self.cache_folder {
            settings = settings.folder(folder);
        }
        Cache::open(&settings).map(Some).map_err(|e| of_cache(&e))
    }

    pub(crate) fn hole_bytes(&self) -> u64 {
        self.hole
    }

    pub(crate) fn is_never_late(&self) -> bool {
        self.never_late
    }

    pub(crate) fn readahead_bytes(&self) -> u64 {
        self.readahead
    }

    /// The folder of sidecars.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        fn variable(name: &str) -> Option<std::ffi::OsString> {
            std::env::var_os(name).filter(|value| !value.is_empty())
        }

        fn usual() -> Option<PathBuf> {
            let caches = variable("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
            Some(caches.join("tarflume").join("sidecars"))
        }

        let given =
            self.sidecars.clone().or_else(|| variable("TARFLUME_SIDECARS").map(PathBuf::from));
        given.or_else(usual).ok_or_else(|| {
            Error::usage("there is no folder for sidecars; set TARFLUME_SIDECARS, or HOME")
        })
    }
}

/// The counters of a store and of hedged requests together, and their cost.
pub(crate) fn fetch_stats(store: &Store, hedges: u64) -> FetchStats {
    // Another server with the protocol has another price.
    let price = Price::of_url(store.url()).filter(|_| !store.is_elsewhere());
    let store = store.stats();
    FetchStats {
        requests: store.requests,
        retries: store.retries,
        hedges,
        throttled: store.throttled,
        bytes: store.bytes_received,
        first_byte_p50: store.first_byte_p50,
        first_byte_p95: store.first_byte_p95,
        cache: None,
        nano_usd: None,
    }
    .priced(price)
}

/// Converts an error of a cache.
pub(crate) fn of_cache(error: &tarflume_cache::Error) -> Error {
    let kind = if error.is_machine() { ErrorKind::Machine } else { ErrorKind::Usage };
    Error::new(kind, error.text()).with_path(error.path())
}

/// Returns the message of an error of a store.
fn message_of_store(error: &tarflume_store::Error) -> Message {
    let mut message = Message::default();
    for part in error.parts() {
        match part {
            ErrorPart::Text(text) => message.push(&**text),
            ErrorPart::Option { name, value } => message.push(Setting::of_store(name, value)),
        }
    }
    message
}

/// Converts an error of a store. Nothing that a store says is the fault of a sample. Its causes are those of the same
/// errors of files.
pub(crate) fn of_store(error: &tarflume_store::Error) -> Error {
    use std::io::ErrorKind as Cause;
    use tarflume_store::ErrorKind as K;
    let (kind, cause) = match error.kind() {
        K::Usage => (ErrorKind::Usage, None),
        K::Changed => (ErrorKind::Stale, None),
        K::TooLong => (ErrorKind::WrongFormat, None),
        K::Missing => (ErrorKind::Io, Some(Cause::NotFound)),
        K::Refused => (ErrorKind::Refused, Some(Cause::PermissionDenied)),
        // `Machine` and `Answer`.
        _ => (ErrorKind::Network, None),
    };
    let made = Error::new(kind, message_of_store(error)).with_path(error.url());
    match cause {
        Some(cause) => made.with_source(io::Error::from(cause)),
        None => made,
    }
}
