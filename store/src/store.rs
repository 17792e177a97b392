//! `Store`: the objects below one prefix. Every method waits for the answer.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};

use crate::errors::bounded::MOST_WHOLE;
use crate::errors::cause;
use crate::errors::error::{Error, ErrorKind, Result, without_secrets};
use crate::open::{Client, is_elsewhere};
use crate::requests::metrics::{Metrics, StoreStats};
use crate::runtime::Home;
use crate::settings::location::{Location, Scheme};
use crate::settings::options::Options;
use crate::url_list::{UrlList, shown};

/// Length and tag of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectFacts {
    /// Length in bytes.
    pub length: u64,
    /// The ETag, or the time of the last change where the store has no ETag; never empty.
    pub tag: String,
    /// When it was changed last, in whole seconds, as answers state it; `None` if the store does not say.
    pub modified: Option<SystemTime>,
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name below the prefix of the store.
    pub name: String,
    /// Length and tag.
    pub facts: ObjectFacts,
}

/// The objects below one prefix of an object store. Clones share the connections and the counters.
///
/// ```no_run
/// use tarflume_store::{Options, Store};
///
/// let store = Store::open("s3://bucket/set", &Options::new())?;
/// let manifest = store.get("dataset.json")?;
/// let first = store.object("shard-000000.tar")?.read(0, 512)?;
/// # Ok::<(), tarflume_store::Error>(())
/// ```
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) client: Client,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) scheme: Scheme,
    pub(crate) home: Home,
    prefix: String,
    url: String,
    elsewhere: bool,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.url()).finish()
    }
}

impl Store {
    /// Limit on the bytes of what [`Store::get`] reads.
    pub const MOST_WHOLE: u64 = MOST_WHOLE;

    /// Opens a prefix. Asks nothing: the first read finds out whether it can be read.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a wrong URL or option, and if there are no credentials.
    pub fn open(url: &str, options: &Options) -> Result<Store> {
        let at = Location::parse(url)?;
        if !at.query.is_empty() {
            let text = "a URL with a query names one object; give the URL of a folder";
            return Err(Error::new(ErrorKind::Usage, url, text));
        }
        let home = Home::here(url)?;
        let metrics = Arc::new(Metrics::default());
        let client = Client::open(&at, url, options, &metrics)?;
        let url = without_secrets(url.trim_end_matches('/'));
        let elsewhere = is_elsewhere(at.scheme, options);
        let Location { scheme, path: prefix, .. } = at;
        let inner = Inner { client, metrics, scheme, home, prefix, url, elsewhere };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// Opens the objects of a list of URLs, a local file or an http or https URL; see [`UrlList`].
    /// Reads the list, and asks for none of the objects.
    ///
    /// # Errors
    /// Those of [`UrlList::read`].
    pub fn open_list(place: &str, options: &Options) -> Result<Store> {
        Store::of_list(place, UrlList::read(place, options)?, options)
    }

    /// As [`Store::open_list`], of a list that is in memory. `place` names it in messages.
    ///
    /// # Errors
    /// Returns an error if no client can be made.
    pub fn of_list(place: &str, list: UrlList, options: &Options) -> Result<Store> {
        let home = Home::here(place)?;
        let metrics = Arc::new(Metrics::default());
        let client = Client::reading(list.open(place, options, &metrics)?);
        let url = shown(place).to_string();
        let inner = Inner {
            client,
            metrics,
            scheme: Scheme::List,
            home,
            prefix: String::new(),
            url,
            elsewhere: true,
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// The URL of the prefix, without a slash at its end; of a list, its path or URL.
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    /// True if another server than that of the store's operator answers: `endpoint`, or a list of URLs.
    pub fn is_elsewhere(&self) -> bool {
        self.inner.elsewhere
    }

    /// The URL of an object.
    pub fn place(&self, name: &str) -> String {
        format!("{}/{name}", self.inner.url)
    }

    /// A copy of the counters.
    pub fn stats(&self) -> StoreStats {
        self.inner.metrics.stats()
    }

    /// The path of an object in the bucket.
    pub(crate) fn path(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.inner.prefix))
    }

    /// Reads a whole object of at most 256 MiB, with its tag.
    ///
    /// # Errors
    /// [`ErrorKind::Missing`] if it does not exist; [`ErrorKind::TooLong`] if it is longer; the errors of the store.
    pub fn get(&self, name: &str) -> Result<(Bytes, ObjectFacts)> {
        let url = self.place(name);
        let path = self.path(name);
        self.inner.home.wait(&url, async {
            let got = self.inner.client.objects.get_opts(&path, GetOptions::default()).await;
            let got = got.map_err(|e| Error::of(&e, "read", &url))?;
            let facts = facts(&got.meta);
            if facts.length > MOST_WHOLE {
                let text = format!(
                    "cannot read: it has {} bytes, and at most {MOST_WHOLE} are read of a whole object",
                    facts.length
                );
                return Err(Error::new(ErrorKind::TooLong, &url, text));
            }
            let bytes = got.bytes().await.map_err(|e| Error::of(&e, "read", &url))?;
            self.inner.metrics.received(bytes.len() as u64);
            if bytes.len() as u64 == facts.length {
Ok((bytes, facts))
} else {
Err(cut(&url, bytes.len(), facts.length))
}
        })
    }

    /// Asks for length and tag of an object.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn facts(&self, name: &str) -> Result<ObjectFacts> {
        self.inner.home.wait(&self.place(name), self.facts_later(name))
    }

    /// As [`Store::facts`], without waiting.
    pub(crate) async fn facts_later(&self, name: &str) -> Result<ObjectFacts> {
        let url = self.place(name);
        let path = self.path(name);
        if self.inner.scheme == Scheme::Http {
            // Some servers refuse HEAD, and ranges must work anyway. An empty object has no byte.
            let first = GetRange::Bounded(0..1);
            let options = GetOptions { range: Some(first), ..GetOptions::default() };
            match self.inner.client.objects.get_opts(&path, options).await {
                Ok(got) => return Ok(facts(&got.meta)),
                Err(error) if cause::status(&error) == Some(416) => {}
                Err(error) => return Err(Error::of(&error, "examine", &url)),
            }
        }
        let meta = self.inner.client.objects.head(&path).await;
        meta.map(|meta| facts(&meta)).map_err(|e| Error::of(&e, "examine", &url))
    }

    /// Lists the objects whose names start with `prefix`, up to a slash or a whole name, sorted.
    ///
    /// # Errors
    /// The errors of the store. Plain HTTP servers list nothing.
    pub fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let url = self.place(prefix);
        if self.inner.scheme == Scheme::Http {
            let text = "an HTTP server lists no objects; name a data set with dataset.json, or its shards by \
                        braces";
            return Err(Error::new(ErrorKind::Usage, &url, text));
        }
        // Stores list by whole path segments; the rest of the prefix is compared here.
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = self.path(folder);
        let found: Vec<ObjectMeta> = self.inner.home.wait(&url, async {
            let list = self.inner.client.objects.list(Some(&path)).try_collect();
            list.await.map_err(|e| Error::of(&e, "list", &url))
        })?;
        let base = format!("{}/", self.path("").as_ref());
        let mut listed: Vec<Listed> = found
            .iter()
            .map(|meta| Listed { name: name_below(&base, meta), facts: facts(meta) })
            .filter(|listed| listed.name.starts_with(prefix))
            .collect();
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// Refuses to write where nothing is written.
    pub(crate) fn expect_writable(&self, url: &str) -> Result<()> {
        let text = match self.inner.scheme {
            Scheme::S3 | Scheme::Gcs | Scheme::Azure => return Ok(()),
            Scheme::Hub => crate::hub::READ_ONLY,
            Scheme::Http => "an HTTP server takes no uploads; use s3://, gs:// or az://",
            Scheme::List => "a list of URLs is for reading; use s3://, gs:// or az://",
        };
        Err(Error::new(ErrorKind::Usage, url, text))
    }

    /// Writes an object if none of this name exists. Returns false if one exists with other bytes:
    /// one with the same bytes was written by an earlier try whose answer was lost.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let url = self.place(name);
        self.expect_writable(&url)?;
        match self.put(name, bytes, PutMode::Create) {
            Ok(_) => Ok(true),
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => self.has(name, bytes).map(|same| same == Some(true)),
            // A conditional request whose answer was lost is not repeated by the client.
            Err(error) => match self.has(name, bytes) {
                Ok(Some(true)) => Ok(true),
                _ => Err(Error::of(&error, "write", &url)),
            },
        }
    }

    /// True if the object has these bytes; `None` if it does not exist.
    fn has(&self, name: &str, bytes: &[u8]) -> Result<Option<bool>> {
        match self.get(name) {
            Ok((found, _)) => Ok(Some(found == bytes)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes an object, over an existing one if there is one.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<ObjectFacts> {
        self.expect_writable(&self.place(name))?;
        let tag = self.put(name, bytes, PutMode::Overwrite);
        let tag = tag.map_err(|e| Error::of(&e, "write", &self.place(name)))?;
        match tag {
            Some(tag) => Ok(ObjectFacts { length: bytes.len() as u64, tag, modified: None }),
            None => self.facts(name),
        }
    }

    fn put(&self, name: &str, bytes: &[u8], mode: PutMode) -> object_store::Result<Option<String>> {
        let url = self.place(name);
        let path = self.path(name);
        let payload = PutPayload::from(bytes.to_vec());
        let options = PutOptions::from(mode);
        let put = self.inner.client.objects.put_opts(&path, payload, options);
        let put = self.inner.home.block(&url, put);
        let put = put.map_err(|e| object_store::Error::Generic {
            store: "tarflume",
            source: Box::new(e),
        })??;
        self.inner.metrics.sent(bytes.len() as u64);
        Ok(put.e_tag)
    }

    /// Deletes an object. One that does not exist is no error.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn delete(&self, name: &str) -> Result<()> {
        let url = self.place(name);
        let path = self.path(name);
        self.expect_writable(&url)?;
        let deleted = self.inner.home.wait(&url, async {
            let deleted = self.inner.client.objects.delete(&path).await;
            deleted.map_err(|e| Error::of(&e, "delete", &url))
        });
        match deleted {
            Err(error) if error.is_missing() => Ok(()),
            deleted => deleted,
        }
    }
}

/// The error of a body that is shorter or longer than its object.
pub(crate) fn cut(url: &str, found: usize, expected: u64) -> Error {
    let text = format!("the store sent {found} bytes of {expected}");
    Error::new(ErrorKind::Answer, url, text)
}

/// The name of an object below `base`, a path that ends with a slash; the whole path if `base` is the root.
fn name_below(base: &str, meta: &ObjectMeta) -> String {
    let whole = meta.location.as_ref();
    whole.strip_prefix(base).unwrap_or(whole).to_string()
}

/// What a listing or an answer says of an object.
pub(crate) fn facts(meta: &ObjectMeta) -> ObjectFacts {
    let tag = meta.e_tag.clone().filter(|tag| !tag.is_empty());
    let tag = tag.unwrap_or_else(|| meta.last_modified.timestamp_millis().to_string());
    // A store that does not say gives the beginning of 1970.
    let seconds = u64::try_from(meta.last_modified.timestamp()).ok().filter(|&seconds| seconds > 0);
    let modified = seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
    ObjectFacts { length: meta.size, tag, modified }
}
