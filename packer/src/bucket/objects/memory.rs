//! Objects in memory, for tests: counts calls, fails from a given call on, and keeps open uploads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use tarflume_base::Failure;

use crate::bucket::objects::{ObjectState, Objects, Put, Stored, UploadHooks};

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Vec<u8>>,
    /// Object and id of each open upload.
    open: BTreeSet<(String, String)>,
    calls: u64,
    ids: u64,
}

/// An object store in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryObjects {
    state: Mutex<State>,
    /// The call of this number fails, and all later ones: the process is killed there.
    pub(in crate::bucket) fails_from: Option<u64>,
    /// The failing call has its effect; only the answer is lost.
    pub(in crate::bucket) after_effect: bool,
    pub(in crate::bucket) ignores_conditions: bool,
}

impl MemoryObjects {
    /// The same objects and open uploads, for the next attempt.
    pub(crate) fn restarted(&self, fails_from: Option<u64>, after_effect: bool) -> MemoryObjects {
        let old = self.state.lock().unwrap();
        let state = Mutex::new(State {
            objects: old.objects.clone(),
            open: old.open.clone(),
            calls: 0,
            ids: old.ids,
        });
        MemoryObjects { state, fails_from, after_effect, ignores_conditions: false }
    }

    pub(crate) fn ignoring_conditions() -> MemoryObjects {
        MemoryObjects { ignores_conditions: true, ..MemoryObjects::default() }
    }

    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.state.lock().unwrap().objects.clone()
    }

    pub(crate) fn open_uploads(&self) -> usize {
        self.state.lock().unwrap().open.len()
    }

    pub(crate) fn calls(&self) -> u64 {
        self.state.lock().unwrap().calls
    }

    pub(crate) fn set(&self, name: &str, bytes: &[u8]) {
        self.state.lock().unwrap().objects.insert(name.into(), bytes.into());
    }

    /// Counts a call, and applies `effect` unless the process was killed before.
    fn call<T>(&self, effect: impl FnOnce(&mut State) -> T) -> Result<T, Failure> {
        let mut state = self.state.lock().unwrap();
        let number = state.calls;
        state.calls += 1;
        match self.fails_from {
            Some(from) if number > from || (number == from && !self.after_effect) => Err(killed()),
            Some(from) if number == from => {
                effect(&mut state);
                Err(killed())
            }
            _ => Ok(effect(&mut state)),
        }
    }
}

fn killed() -> Failure {
    Failure::try_again("killed")
}

fn tag(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..12].to_string()
}

fn facts(bytes: &[u8]) -> ObjectState {
    ObjectState { length: bytes.len() as u64, tag: tag(bytes) }
}

impl Objects for MemoryObjects {
    fn url(&self) -> &str {
        "memory://bucket/set"
    }

    fn get(&self, name: &str) -> Result<Option<Stored>, Failure> {
        let found = self.call(|state| state.objects.get(name).cloned())?;
        Ok(found.map(|bytes| Stored { tag: tag(&bytes), bytes }))
    }

    fn facts(&self, name: &str) -> Result<Option<ObjectState>, Failure> {
        self.call(|state| state.objects.get(name).map(|bytes| facts(bytes)))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<Put, Failure> {
        self.call(|state| {
            let taken = state.objects.get(name).is_some_and(|found| found != bytes);
            if taken && !self.ignores_conditions {
                return Put::Exists;
            }
            state.objects.insert(name.into(), bytes.into());
            Put::Written
        })
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<ObjectState, Failure> {
        self.call(|state| {
            state.objects.insert(name.into(), bytes.into());
            facts(bytes)
        })
    }

    fn upload(
        &self,
        name: &str,
        file: &Path,
        hooks: UploadHooks<'_>,
    ) -> Result<ObjectState, Failure> {
        let bytes = std::fs::read(file).unwrap();
        let id = self.call(|state| {
            state.ids += 1;
            let id = format!("upload/{}?", state.ids);
            state.open.insert((name.into(), id.clone()));
            id
        })?;
        (hooks.began)(&id)?;
        if (hooks.stopped)() {
            self.abort(name, &id)?;
            return Err(Failure::interrupted());
        }
        self.call(|state| {
            state.open.remove(&(name.to_string(), id.clone()));
            state.objects.insert(name.into(), bytes.clone());
            facts(&bytes)
        })
    }

    fn abort(&self, name: &str, id: &str) -> Result<(), Failure> {
        self.call(|state| {
            state.open.remove(&(name.to_string(), id.to_string()));
        })
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>, Failure> {
        self.call(|state| {
            state.objects.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
        })
    }

    fn delete(&self, name: &str) -> Result<(), Failure> {
        self.call(|state| {
            state.objects.remove(name);
        })
    }
}
