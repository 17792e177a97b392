//! `StoredObjects`: the objects of a build in a store of `tarflume-store`. Maps errors to exit codes.

use std::fs;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_store::{Error, Options, PART, Store};

use crate::bucket::data_set::Bucket;
use crate::bucket::objects::{ObjectState, Objects, Put, Stored, UploadHooks};

/// The objects below one URL.
#[derive(Debug)]
struct StoredObjects(Store);

impl Bucket {
    /// Opens a URL such as `s3://bucket/set`, with options as names and values; the environment has
    /// the others. Asks nothing.
    ///
    /// # Errors
    /// Returns an error for a wrong URL or option, for a store that takes no uploads, and if there
    /// are no credentials.
    pub fn open(url: &str, options: &[(String, String)]) -> Result<Bucket, Failure> {
        if url.starts_with("http") || url.starts_with("hf:") {
            return Err(Failure::usage(
                "this server takes no shards; pack to a folder or to s3://, gs:// or az://, and upload by \
                 the server's own tools (Hugging Face: `hf upload OWNER/NAME FOLDER --repo-type dataset`)",
            )
            .in_file(url));
        }
        let pairs = options.iter().map(|(name, value)| (name, value.clone()));
        let options = Options::from_pairs(pairs)?;
        Bucket::of_store(Store::open(url, &options)?)
    }

    /// Uses a store that is open.
    ///
    /// # Errors
    /// Returns an error for a URL without a prefix below the bucket.
    pub fn of_store(store: Store) -> Result<Bucket, Failure> {
        if store.url().matches('/').count() < 3 {
            let text = format!("name a prefix in the bucket: {}/photos", store.url());
            return Err(Failure::usage(text).in_file(store.url()));
        }
        Ok(Bucket::new(std::sync::Arc::new(StoredObjects(store))))
    }
}

/// `None` for what does not exist.
fn found<T>(result: Result<T, Error>) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn facts(facts: tarflume_store::ObjectFacts) -> ObjectState {
    ObjectState { length: facts.length, tag: facts.tag }
}

impl Objects for StoredObjects {
    fn url(&self) -> &str {
        self.0.url()
    }

    fn get(&self, name: &str) -> Result<Option<Stored>, Failure> {
        let got = found(self.0.get(name))?;
        Ok(got.map(|(bytes, facts)| Stored { bytes: bytes.to_vec(), tag: facts.tag }))
    }

    fn facts(&self, name: &str) -> Result<Option<ObjectState>, Failure> {
        Ok(found(self.0.facts(name))?.map(facts))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<Put, Failure> {
        if self.0.create(name, bytes)? { Ok(Put::Written) } else { Ok(Put::Exists) }
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<ObjectState, Failure> {
        self.0.replace(name, bytes).map(facts).map_err(Failure::from)
    }

    fn upload(
        &self,
        name: &str,
        file: &Path,
        hooks: UploadHooks<'_>,
    ) -> Result<ObjectState, Failure> {
        let length = fs::metadata(file).map_err(|e| Failure::io(e, "look at", file))?.len();
        if (hooks.stopped)() {
            return Err(Failure::interrupted());
        }
        if length <= PART {
            let bytes = fs::read(file).map_err(|e| Failure::io(e, "read", file))?;
            return self.replace(name, &bytes);
        }
        let upload = self.0.begin_upload(name)?;
        let sent = (hooks.began)(upload.id()).and_then(|()| {
            let sent = upload.send(file, hooks.stopped)?;
            sent.ok_or_else(Failure::interrupted)
        });
        if sent.is_err() {
            // The note of the upload stays if this fails, too: the next command aborts it.
            let _ = self.0.abort(name, upload.id());
        }
        sent.map(facts)
    }

    fn abort(&self, name: &str, id: &str) -> Result<(), Failure> {
        self.0.abort(name, id).map_err(Failure::from)
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>, Failure> {
        let listed = self.0.list(prefix)?;
        Ok(listed.into_iter().map(|listed| listed.name).collect())
    }

    fn delete(&self, name: &str) -> Result<(), Failure> {
        self.0.delete(name).map_err(Failure::from)
    }
}
