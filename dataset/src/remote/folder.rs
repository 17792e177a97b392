//! `RemoteFolder`: finds a data set below a URL, and keeps its sidecars on this machine.
//!
//! A sidecar is named by its digest, so it is never out of date and data sets can share it. Its time is that of the object
//! in the store, so that it can be compared with the time of the tar.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tarflume_formats::manifest::{FILE_NAME, ShardEntry};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::publish::{create_folders, sweep, write_at};
use tarflume_formats::{Digest, Manifest, files, index_path};
use tarflume_store::Store;
use tarflume_types::{Error, ErrorKind, Result};

use crate::remote::name::is_url_list;
use crate::remote::opener::RemoteOpener;
use crate::remote::place::{Storage, of_store};
use crate::remote::{RemoteDataset, SidecarFolder};
use crate::source::Source;
use crate::source::open::Open;

/// Limit on the bytes of a sidecar, which is in memory while it is fetched.
const MOST_SIDECAR: u64 = 1 << 30;

/// The folder of a data set in a store.
#[derive(Debug)]
pub(crate) struct RemoteFolder {
    store: Store,
    sidecars: PathBuf,
    opener: Arc<RemoteOpener>,
    /// Removes the temporary files of killed processes before the first sidecar is written.
    swept: Once,
}

impl RemoteDataset {
    /// Reads the manifest of the data set at `url`: a folder, its `dataset.json`, or a list of URLs that
    /// has one. One request.
    ///
    /// # Errors
    /// Returns an error if there is no manifest, or the store refuses or does not answer.
    pub(crate) fn open(url: &str, storage: &Storage) -> Result<RemoteDataset> {
        let FoundManifest { store, manifest, root } = find(url, storage)?;
        let cache = storage.open_cache()?;
        let opener = RemoteOpener::new(store.clone(), &manifest.shards, storage, cache)?;
        let opener = Arc::new(opener);
        let url = store.url().to_string();
        let folder = RemoteFolder {
            store,
            sidecars: storage.folder()?,
            opener: opener.clone(),
            swept: Once::new(),
        };
        Ok(RemoteDataset { manifest, root, url, sidecars: Arc::new(folder), opener })
    }
}

/// The manifest of a data set, and the store that has it.
pub(crate) struct FoundManifest {
    pub(crate) store: Store,
    pub(crate) manifest: Manifest,
    /// The root digest of its text.
    pub(crate) root: Digest,
}

/// Opens the store of a data set, and reads its manifest.
///
/// # Errors
/// As [`RemoteDataset::open`].
pub(crate) fn find(url: &str, storage: &Storage) -> Result<FoundManifest> {
    let folder = url.strip_suffix(FILE_NAME).unwrap_or(url).trim_end_matches('/');
    if folder.ends_with(".tar") {
        let text = message!(
            "name the folder of the shards, which has dataset.json; `{index}` makes one";
            index = Call::of(Task::Index)
        );
        return Err(Error::usage(text).with_path(url));
    }
    let store = storage.open(folder)?;
    let (text, _) = store
        .get(FILE_NAME)
        .map_err(|e| if e.is_missing() { no_manifest(&store) } else { of_store(&e) })?;
    let parsed = Manifest::from_json(&text).map_err(Error::from);
    let manifest = parsed.map_err(|e| e.with_path(store.place(FILE_NAME)))?;
    Ok(FoundManifest { store, manifest, root: Manifest::root_of(&text) })
}

/// The error of a data set without a manifest.
fn no_manifest(store: &Store) -> Error {
    let url = store.url();
    let remedy = if is_url_list(url) {
        Message::words("the list must have its URL, and those of the sidecars (.index)")
    } else if ["hf:", "http:", "https:"].iter().any(|scheme| url.starts_with(scheme)) {
        message!(
            "`{index}` makes it and the sidecars from a copy of the tars; upload them beside the tars";
            index = Call::of(Task::Index)
        )
    } else {
        message!(
            "`{build}` and `{index}` write one";
            build = Call::of(Task::Build).on_stand("SRC").out_stand("URL"), index = Call::of(Task::Index)
        )
    };
    let text = message!(
        "there is no dataset.json, so its samples cannot be counted or found; {remedy}";
        remedy = remedy
    );
    let cause = io::Error::from(io::ErrorKind::NotFound);
    Error::new(ErrorKind::Io, text).with_path(store.place(FILE_NAME)).with_source(cause)
}

impl RemoteFolder {
    /// Reads a sidecar, and when it was changed.
    fn sidecar(&self, name: &str, entry: &ShardEntry) -> Result<(Bytes, Option<SystemTime>)> {
        if entry.index_bytes > MOST_SIDECAR {
            let text = format!(
                "dataset.json lists a sidecar of {} bytes, and at most {MOST_SIDECAR} are read; pack smaller shards",
                entry.index_bytes
            );
            return Err(Error::new(ErrorKind::Limit, text).with_path(self.store.place(name)));
        }
        if entry.index_bytes <= Store::MOST_WHOLE {
            let (bytes, facts) = self.store.get(name).map_err(|e| of_store(&e))?;
            return Ok((bytes, facts.modified));
        }
        let object = self.store.object_of(name, entry.index_bytes);
        let bytes = object.read(0, entry.index_bytes).map_err(|e| of_store(&e))?;
        Ok((bytes, object.modified()))
    }
}

impl SidecarFolder for RemoteFolder {
    fn path(&self, entry: &ShardEntry) -> Result<PathBuf> {
        // The digest becomes a file name: it must be one.
        let digest = tarflume_formats::manifest::hex_digest(&entry.index_blake3)?;
        Ok(self.sidecars.join(format!("{}.index", digest.to_hex())))
    }

    fn fetch(&self, entry: &ShardEntry) -> Result<PathBuf> {
        let path = self.path(entry)?;
        let found = files::metadata(&path, "find the sidecar");
        match found {
            Ok(found) if found.len() == entry.index_bytes => return Ok(path),
            Ok(_) => {}
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error.into()),
        }
        let name = index_path(Path::new(&entry.name)).to_string_lossy().into_owned();
        let (bytes, modified) = self.sidecar(&name, entry)?;
        let digest = blake3::hash(&bytes).to_hex();
        if digest.as_str() != entry.index_blake3 || bytes.len() as u64 != entry.index_bytes {
            let text = message!(
                "the sidecar is not the one that dataset.json lists; if the tars are right, make new sidecars with \
                 `{index}`";
                index = Call::of(Task::Index).with(Name::Force.on()).on(self.store.url())
            );
            return Err(Error::new(ErrorKind::Stale, text).with_path(self.store.place(&name)));
        }
        create_folders(&self.sidecars)?;
        // What is not removed costs space alone.
        self.swept.call_once(|| drop(sweep(&self.sidecars)));
        write_at(&path, &bytes, modified.unwrap_or(UNIX_EPOCH))?;
        Ok(path)
    }

    fn tar(&self, entry: &ShardEntry) -> Result<Arc<dyn Source>> {
        let url = PathBuf::from(self.store.place(&entry.name));
        self.opener.open(&url).map(|(source, _)| source)
    }
}
