//! Uploads in parts: each is noted in the bucket before it begins, because a killed process leaves
//! parts that cost money and appear in no list of objects.

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use tarflume_formats::message;
use tarflume_formats::message::Message;

use serde::{Deserialize, Serialize};
use tarflume_base::{Exit, Failure, Stop};

use super::data_set::Bucket;
use super::layout;
use super::objects::{ObjectState, UploadHooks};

/// The content of a note.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    object: String,
    /// The store's id of the upload; none until the store has answered.
    upload: Option<String>,
}

impl Note {
    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts serialize")
    }
}

/// The uploads that killed attempts left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Uploads that were aborted.
    pub aborted: u64,
    /// Objects of which an upload may be open whose id is not known: its process was killed between
    /// the request and the answer.
    pub unknown: Vec<String>,
}

impl Leftovers {
    /// What a user should know of them, a sentence each.
    pub fn notices(&self) -> Vec<Message> {
        let aborted = (self.aborted > 0).then(|| {
            message!("{} unfinished uploads of killed attempts were aborted", self.aborted)
        });
        let unknown = self.unknown.iter().map(|object| {
            message!(
                "a killed attempt may have left an unfinished upload of {object}, which costs money and is in no \
                 listing; abort it by the store's own tools, or let a lifecycle rule do so \
                 (AbortIncompleteMultipartUpload)"
            )
        });
        aborted.into_iter().chain(unknown).collect()
    }
}

impl Bucket {
    /// Uploads a file. A note of the upload exists as long as the upload may be open.
    pub(crate) fn upload(
        &self,
        name: &str,
        file: &Path,
        stop: &Stop,
    ) -> Result<ObjectState, Failure> {
        let path = layout::note(name, &attempt());
        let note = |upload| Note { object: name.into(), upload }.to_json();
        self.objects.replace(&path, &note(None))?;
        let mut is_open = false;
        let mut began = |id: &str| {
            is_open = true;
            self.objects.replace(&path, &note(Some(id.into()))).map(drop)
        };
        let hooks = UploadHooks { began: &mut began, stopped: &|| stop.requested() };
        let uploaded = self.objects.upload(name, file, hooks);
        // What was interrupted before it began has left nothing.
        let is_over = match &uploaded {
            Ok(_) => true,
            Err(failure) => failure.exit() == Exit::Interrupted && !is_open,
        };
        if is_over {
            self.objects.delete(&path)?;
        }
        uploaded
    }

    /// Aborts the uploads of attempts that were killed, and deletes their notes. An attempt that is
    /// still uploading fails and can be repeated.
    ///
    /// # Errors
    /// Returns an error if the store does not answer, or a note is damaged.
    pub fn abort_uploads(&self) -> Result<Leftovers, Failure> {
        let mut left = Leftovers::default();
        for path in self.objects.list(layout::UPLOADS)? {
            let Some(stored) = self.objects.get(&path)? else { continue };
            let note: Note = serde_json::from_slice(&stored.bytes).map_err(|e| {
                Failure::bad_data(format!(
                    "this is not the note of an upload: {e}; abort the open uploads of this \
                     prefix by the store's own tools, then remove the object"
                ))
                .in_file(self.place(&path))
            })?;
            match note.upload {
                Some(id) => {
                    self.objects.abort(&note.object, &id)?;
                    left.aborted += 1;
                }
                None => left.unknown.push(self.place(&note.object)),
            }
            self.objects.delete(&path)?;
        }
        Ok(left)
    }
}

/// A word that no other upload has: of this process, this moment, this call.
pub(super) fn attempt() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let text = format!("{} {} {call}", process::id(), now.as_nanos());
    blake3::hash(text.as_bytes()).to_hex()[..16].to_string()
}
