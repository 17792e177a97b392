//! Uploads of files, in parts. The caller learns the id of an upload before its first part, so that
//! one which was left behind can be aborted.

use std::fs::File;
use std::io::Read;
use std::path::Path as FilePath;

use futures_util::stream::{FuturesUnordered, StreamExt};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{MultipartId, PutPayload};

use crate::errors::error::{Error, ErrorKind, Result};
use crate::store::{ObjectFacts, Store};

/// Size of a part. Constant, so that a repeated upload has the same ETag.
pub const PART: u64 = 16 << 20;
/// Parts of a file that are sent at the same time. Their bytes are in memory.
const AT_ONCE: usize = 4;
/// S3 takes no more.
const MOST_PARTS: u64 = 10_000;

/// An upload in parts that was begun.
#[derive(Debug)]
pub struct Upload {
    store: Store,
    name: String,
    id: MultipartId,
}

impl Store {
    /// Begins an upload in parts. Dropping it sends nothing: call [`Upload::send`] or
    /// [`Store::abort`].
    ///
    /// # Errors
    /// The errors of the store. Plain HTTP servers take no parts.
    pub fn begin_upload(&self, name: &str) -> Result<Upload> {
        let url = self.place(name);
        let path = self.path(name);
        let parts = self.parts(&url)?;
        let id = self.inner.home.wait(&url, async {
            parts.create_multipart(&path).await.map_err(|e| Error::of(&e, "begin the upload", &url))
        })?;
        Ok(Upload { store: self.clone(), name: name.into(), id })
    }

    /// Aborts an upload by its id. One that has ended is no error.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn abort(&self, name: &str, id: &str) -> Result<()> {
        let url = self.place(name);
        let path = self.path(name);
        let parts = self.parts(&url)?;
        let aborted = self.inner.home.wait(&url, async {
            let id = id.to_string();
            parts
                .abort_multipart(&path, &id)
                .await
                .map_err(|e| Error::of(&e, "abort the upload", &url))
        });
        match aborted {
            Err(error) if error.is_missing() => Ok(()),
            aborted => aborted,
        }
    }

    fn parts(&self, url: &str) -> Result<&dyn MultipartStore> {
        self.expect_writable(url)?;
        self.inner.client.parts.as_deref().ok_or_else(|| {
            Error::new(ErrorKind::Usage, url, "this store takes no uploads in parts")
        })
    }
}

impl Upload {
    /// The store's id of the upload.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sends a file and completes the upload. Returns `None` if `stopped` returned true between two
    /// parts. The upload stays open after that and after an error.
    ///
    /// # Errors
    /// The errors of the store and of the file. The file must not change meanwhile.
    pub fn send(
        &self,
        file: &FilePath,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<ObjectFacts>> {
        let url = self.store.place(&self.name);
        let path = self.store.path(&self.name);
        let parts = self.store.parts(&url)?;
        let mut source = PartReader::open(file, &url)?;
        let length = source.length;
        let home = self.store.inner.home;
        let ids = home.wait(&url, self.send_parts(parts, &path, &url, &mut source, stopped))?;
        let Some(ids) = ids else { return Ok(None) };
        home.wait(&url, async {
            let done = parts.complete_multipart(&path, &self.id, ids).await;
            done.map_err(|e| Error::of(&e, "complete the upload", &url))
        })?;
        self.store.inner.metrics.sent(length);
        // Stores answer a completed upload with an ETag, or with none: asking is the same for all.
        self.store.facts(&self.name).map(Some)
    }

    async fn send_parts(
        &self,
        parts: &dyn MultipartStore,
        path: &Path,
        url: &str,
        source: &mut PartReader<'_>,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<PartId>>> {
        let mut sent: Vec<Option<PartId>> = Vec::new();
        let mut sending = FuturesUnordered::new();
        loop {
            if stopped() {
                return Ok(None);
            }
            while sending.len() < AT_ONCE {
                let Some(bytes) = source.next()? else { break };
                let number = sent.len();
                sent.push(None);
                sending.push(async move {
                    let part =
                        parts.put_part(path, &self.id, number, PutPayload::from(bytes)).await;
                    (number, part)
                });
            }
            match sending.next().await {
                None => return Ok(Some(sent.into_iter().flatten().collect())),
                Some((number, part)) => {
                    sent[number] = Some(part.map_err(|e| Error::of(&e, "upload a part", url))?);
                }
            }
        }
    }
}

/// Reads a file part by part.
struct PartReader<'a> {
    file: File,
    length: u64,
    left: u64,
    url: &'a str,
}

impl<'a> PartReader<'a> {
    fn open(path: &FilePath, url: &'a str) -> Result<PartReader<'a>> {
        let file = File::open(path).map_err(|e| unread(e, path, url))?;
        let length = file.metadata().map_err(|e| unread(e, path, url))?.len();
        if length > PART * MOST_PARTS {
            let text = format!(
                "{length} bytes are more than {MOST_PARTS} parts of {PART}; make smaller shards"
            );
            return Err(Error::new(ErrorKind::Usage, url, text));
        }
        Ok(PartReader { file, length, left: length, url })
    }

    /// The next part; `None` after the last.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; self.left.min(PART) as usize];
        self.file.read_exact(&mut bytes).map_err(|e| {
            Error::new(ErrorKind::Machine, self.url, format!("cannot read the file: {e}"))
        })?;
        self.left -= bytes.len() as u64;
        Ok(Some(bytes))
    }
}

fn unread(e: std::io::Error, path: &FilePath, url: &str) -> Error {
    Error::new(ErrorKind::Machine, url, format!("cannot read {}: {e}", path.display()))
}
