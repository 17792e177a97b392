//! `ReadOnly`: objects that this crate reads by itself, behind the interface of `object_store`.
//!
//! Every way to write is refused.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

use crate::errors::error::{Error, ErrorKind, Result};
use crate::settings::location::decoded;
use crate::web::answer::ObjectBytes;

/// What was read of an object, and its state.
pub(crate) struct ObjectRead {
    pub(crate) part: ObjectBytes,
    pub(crate) tag: Option<String>,
    pub(crate) modified: Option<DateTime<Utc>>,
}

/// An object in a listing.
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) length: u64,
    pub(crate) tag: String,
}

/// Reads objects by their paths.
#[async_trait]
pub(crate) trait ReadObjects: fmt::Debug + Send + Sync + 'static {
    /// Reads the bytes of a range, or all; in the state `if_match` only, if there is one.
    async fn read(
        &self,
        path: &str,
        range: Option<Range<u64>>,
        if_match: Option<&str>,
    ) -> Result<ObjectRead>;

    /// Lists the objects below a folder.
    async fn list(&self, folder: &str) -> Result<Vec<Entry>>;

    /// The error of writing.
    fn refusal(&self) -> Error;
}

/// See the head of the file.
#[derive(Debug)]
pub(crate) struct ReadOnly<R>(Arc<R>);

impl<R> ReadOnly<R> {
    pub(crate) fn new(objects: R) -> ReadOnly<R> {
        ReadOnly(Arc::new(objects))
    }
}

impl<R: ReadObjects> fmt::Display for ReadOnly<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

fn meta(location: Path, size: u64, tag: Option<String>, at: Option<DateTime<Utc>>) -> ObjectMeta {
    let last_modified = at.unwrap_or(DateTime::UNIX_EPOCH);
    ObjectMeta { location, last_modified, size, e_tag: tag, version: None }
}

/// Lists the objects below a folder. Names that no path can have are left out.
async fn listed<R: ReadObjects>(objects: Arc<R>, folder: String) -> Result<Vec<ObjectMeta>> {
    let entries = objects.list(&folder).await?.into_iter();
    let metas = entries.filter_map(|entry| {
        let location = Path::parse(&entry.path).ok()?;
        Some(meta(location, entry.length, Some(entry.tag), None))
    });
    Ok(metas.collect())
}

#[async_trait]
impl<R: ReadObjects> ObjectStore for ReadOnly<R> {
    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        let asked = match &options.range {
            Some(GetRange::Bounded(range)) if range.start < range.end => Some(range.clone()),
            Some(_) if !options.head => {
                let text = "only ranges with a first and a last byte are read";
                return Err(Error::new(ErrorKind::Usage, location.as_ref(), text).carried());
            }
            _ => None,
        };
        // The length comes with any byte.
        let asked = if options.head { Some(0..1) } else { asked };
        let path = decoded(location.as_ref());
        let found = self.0.read(&path, asked.clone(), options.if_match.as_deref()).await;
        let ObjectRead { part, tag, modified } = found.map_err(Error::carried)?;
        let meta = meta(location.clone(), part.total, tag, modified);
        options.check_preconditions(&meta)?;
        let start = asked.map_or(0, |range| range.start).min(part.total);
        let range = start..start + part.bytes.len() as u64;
        let bytes = if options.head { bytes::Bytes::new() } else { part.bytes };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed()),
            meta,
            range,
            attributes: Default::default(),
            extensions: Default::default(),
        })
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        let folder = prefix.map_or(String::new(), |prefix| decoded(prefix.as_ref()));
        let listed = listed(self.0.clone(), folder);
        let metas = stream::once(listed).map_err(Error::carried);
        metas.map_ok(|metas| stream::iter(metas.into_iter().map(Ok))).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> object_store::Result<ListResult> {
        Err(self.0.refusal().carried()) // this crate lists whole folders only
    }

    async fn put_opts(
        &self,
        _: &Path,
        _: PutPayload,
        _: PutOptions,
    ) -> object_store::Result<PutResult> {
        Err(self.0.refusal().carried())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        Err(self.0.refusal().carried())
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        let objects = self.0.clone();
        locations.map(move |_| Err(objects.refusal().carried())).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> object_store::Result<()> {
        Err(self.0.refusal().carried())
    }
}
