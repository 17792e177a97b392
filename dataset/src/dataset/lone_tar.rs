//! The sidecar of a tar that no manifest lists, and what a file is that is no tar.

use std::path::Path;

use tarflume_formats::Content as FileContent;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::tar::{Header, is_zero_block};
use tarflume_formats::{Index, files, index_path};
use tarflume_types::{Error, Result};

/// Opens the sidecar of a tar that no manifest lists.
///
/// # Errors
/// Returns an error if the tar or its sidecar is missing, or the sidecar is damaged or belongs to another tar.
pub(super) fn open_alone(tar: &Path) -> Result<Index> {
    let found = files::metadata(tar, "find the shard")?;
    let path = index_path(tar);
    if !files::exists(&path)? {
        if let Some(what) = no_tar(tar)? {
            let text = format!("not a tar{what}; name a tar, or a folder of tars");
            return Err(Error::usage(text).with_path(tar));
        }
        let text = message!(
            "this tar has no sidecar, so its samples cannot be counted or found; `{index}` makes one, and a plain \
             stream needs none";
            index = Call::of(Task::Index).on_stand("DIR")
        );
        return Err(Error::usage(text).with_path(tar));
    }
    let index = Index::open(&path)?;
    index.check_tar(tar, found.len())?;
    Ok(index)
}

/// Returns `Some` if the first block of the file is not a tar header. The text is what the file is
/// instead, as far as it is recognized.
fn no_tar(path: &Path) -> Result<Option<String>> {
    use std::io::Read;
    let mut start = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| unread(e, path))?;
    file.take(512).read_to_end(&mut start).map_err(|e| unread(e, path))?;
    let is_tar = match start.first_chunk() {
        Some(block) => is_zero_block(block) || Header::parse(block).is_ok(),
        None => start.is_empty(),
    };
    Ok((!is_tar).then(|| {
        FileContent::of(&start).map_or(String::new(), |found| format!(", but {}", found.name))
    }))
}

fn unread(e: std::io::Error, path: &Path) -> Error {
    Error::from(tarflume_formats::Error::io(e, "read", path))
}
