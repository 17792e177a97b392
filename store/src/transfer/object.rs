//! `Object`: an object that is pinned to one state, and its ranges.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetRange};

use crate::errors::error::{CHANGED, Error, ErrorKind, Result};
use crate::runtime::Home;
use crate::store::{Inner, ObjectFacts, Store, cut, facts};

/// A range that was cut off without a tag to go on by is read again so often.
const TRIES: u32 = 4;

/// An object of a store in the state that it had when it was opened. Each read asks for this state,
/// so bytes of two states are never mixed.
#[derive(Debug, Clone)]
pub struct Object {
    pinned: Arc<Pinned>,
}

struct Pinned {
    store: Arc<Inner>,
    path: Path,
    url: String,
    length: u64,
    /// The tag of the state: that of the opening, or of the first answer.
    tag: OnceLock<String>,
    /// When the state came to be, as the first answer with bytes stated.
    modified: OnceLock<Option<SystemTime>>,
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Object").field(&self.url).finish()
    }
}

impl Store {
    /// Opens an object, pinned to its state of now. Costs one request.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn object(&self, name: &str) -> Result<Object> {
        let facts = self.facts(name)?;
        Ok(Object::new(self, name, facts))
    }

    /// As [`Store::object`], without waiting. `done` is called once, on a thread of the store: it should
    /// be short.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] in a forked child; `done` is not called then. All other errors go to
    /// `done`.
    pub fn begin_object(
        &self,
        name: &str,
        done: impl FnOnce(Result<Object>) + Send + 'static,
    ) -> Result<()> {
        let store = self.clone();
        let name = name.to_string();
        let task = async move {
            let facts = store.facts_later(&name).await;
            done(facts.map(|facts| Object::new(&store, &name, facts)));
        };
        self.inner.home.runtime(self.url())?.spawn(task);
        Ok(())
    }

    /// An object whose length is known. Asks nothing: the first read pins it to the state that it
    /// finds, if that has the same length.
    pub fn object_of(&self, name: &str, length: u64) -> Object {
        Object::lazily(self, name, length)
    }
}

impl Object {
    fn new(store: &Store, name: &str, facts: ObjectFacts) -> Object {
        Object::with(store, name, facts.length, OnceLock::from(facts.tag))
    }

    fn lazily(store: &Store, name: &str, length: u64) -> Object {
        Object::with(store, name, length, OnceLock::new())
    }

    fn with(store: &Store, name: &str, length: u64, tag: OnceLock<String>) -> Object {
        let path = store.path(name);
        let url = store.place(name);
        let store = store.inner.clone();
        let modified = OnceLock::new();
        Object { pinned: Arc::new(Pinned { store, path, url, length, tag, modified }) }
    }

    /// The process that has opened it.
    pub(crate) fn home(&self) -> Home {
        self.pinned.store.home
    }

    /// The URL.
    pub fn url(&self) -> &str {
        &self.pinned.url
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.pinned.length
    }

    /// The tag of its state; `None` if no answer has stated it yet.
    pub fn tag(&self) -> Option<&str> {
        self.pinned.tag.get().map(String::as_str)
    }

    /// When the object was changed last, in whole seconds; `None` if no bytes were read yet, or the store does not say.
    pub fn modified(&self) -> Option<SystemTime> {
        self.pinned.modified.get().copied().flatten()
    }

    /// Asks for one byte if no answer has stated when the object was changed, so that [`Object::modified`] returns it.
    ///
    /// # Errors
    /// As [`Object::read`].
    pub fn learn_modified(&self) -> Result<()> {
        match self.pinned.modified.get() {
            Some(_) => Ok(()),
            None => self.read(0, self.length().min(1)).map(drop),
        }
    }

    /// Reads `length` bytes from `at`; waits for them.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the object has another state now; [`ErrorKind::Usage`] for a range
    /// past its end; the errors of the store.
    pub fn read(&self, at: u64, length: u64) -> Result<Bytes> {
        self.pinned.store.home.wait(self.url(), self.pinned.read(at, length))
    }

    /// As [`Object::read`], without waiting.
    pub(crate) async fn read_later(&self, at: u64, length: u64) -> Result<Bytes> {
        self.pinned.read(at, length).await
    }

    /// Starts to read `length` bytes from `at`. `done` is called once, on a thread of the store: it
    /// should be short.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] in a forked child; `done` is not called then. All other errors go to
    /// `done`.
    pub fn begin(
        &self,
        at: u64,
        length: u64,
        done: impl FnOnce(Result<Bytes>) + Send + 'static,
    ) -> Result<()> {
        let pinned = self.pinned.clone();
        let home = pinned.store.home;
        let task = async move { done(pinned.read(at, length).await) };
        home.runtime(self.url())?.spawn(task);
        Ok(())
    }
}

impl Pinned {
    async fn read(&self, at: u64, length: u64) -> Result<Bytes> {
        let end = at.checked_add(length).filter(|end| *end <= self.length);
        let Some(end) = end else {
            let text = format!(
                "bytes {at} to {} are past the end of the object, which has {}",
                at.saturating_add(length),
                self.length
            );
            return Err(Error::new(ErrorKind::Usage, &self.url, text));
        };
        if length == 0 {
            return Ok(Bytes::new());
        }
        let mut tries = 1;
        loop {
            match self.try_read(at, end).await {
                Err(error) if error.kind() == ErrorKind::Machine && tries < TRIES => tries += 1,
                read => return read,
            }
        }
    }

    async fn try_read(&self, at: u64, end: u64) -> Result<Bytes> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(at..end)),
            if_match: self.tag.get().filter(|tag| is_strong(tag)).cloned(),
            ..GetOptions::default()
        };
        let got = self
            .store
            .client
            .objects
            .get_opts(&self.path, options)
            .await
            .map_err(|e| Error::of(&e, "read", &self.url))?;
        let now = facts(&got.meta);
        if now.length != self.length {
            let text = format!("{CHANGED}: it had {} bytes and has {}", self.length, now.length);
            return Err(Error::new(ErrorKind::Changed, &self.url, text));
        }
        // A server that ignores the condition still names the state that it sends.
        if *self.tag.get_or_init(|| now.tag.clone()) != now.tag {
            return Err(Error::new(ErrorKind::Changed, &self.url, CHANGED));
        }
        self.modified.get_or_init(|| now.modified);
        let bytes = got.bytes().await.map_err(|e| Error::of(&e, "read", &self.url))?;
        self.store.metrics.received(bytes.len() as u64);
        if bytes.len() as u64 == end - at {
            Ok(bytes)
        } else {
            Err(cut(&self.url, bytes.len(), end - at))
        }
    }
}

/// True if a store compares this tag in `If-Match`: weak tags and times are no conditions.
fn is_strong(tag: &str) -> bool {
    !tag.starts_with("W/") && !tag.bytes().all(|byte| byte.is_ascii_digit())
}
