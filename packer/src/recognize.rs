//! What a path is that was named in place of another: a folder of images instead of shards, a table, a zip, the
//! folder above data sets. And the step that is right for it, in the words of the command and of Python.
//!
//! Decides from names and first bytes. Looks at a limited number of entries of a limited number of folders, so a
//! large folder costs no more than a small one. Floors: `labels` finds classes and splits in the places of images, `yolo` the
//! folders of YOLO, `kind`
//! has the kinds, `listing` lists a folder, `folder` decides what it is, `step` writes the next step.

mod folder;
mod kind;
mod labels;
mod listing;
mod published;
mod step;
mod yolo;

use std::io::Read;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::packed_shard::SidecarTar;
use tarflume_formats::files::{self, FileKind};
use tarflume_formats::message;
use tarflume_formats::tar::{Header, is_zero_block};
use tarflume_formats::{Content, Error, index_path, manifest};
use tarflume_sources::rows::SourceFormat;

pub use self::kind::{PathKind, Samples};
pub use self::labels::FolderLabels;
use self::listing::COMPRESSED;
pub use self::published::published;
pub use self::step::{Build, Step};
pub use self::yolo::YoloFolders;

/// Returns what a local path is.
///
/// # Errors
/// Returns an error if the operating system does not answer.
pub fn recognize(path: &Path) -> Result<PathKind, Failure> {
    match files::kind(path)? {
        None => Ok(PathKind::Missing),
        Some(FileKind::Folder) => folder::recognize(path),
        Some(FileKind::File) => file(path),
        Some(FileKind::Other) => Ok(PathKind::Other(Some("a pipe, socket or device"))),
    }
}

fn file(path: &Path) -> Result<PathKind, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if name == manifest::FILE_NAME {
        return Ok(PathKind::DataSet);
    }
    let start = first_bytes(path)?;
    let content = Content::of(&start);
    if content.is_some_and(|found| found.ext == "index") {
        let tar = SidecarTar::of(path)?;
        return Ok(if tar.is_there {
            PathKind::Sidecar(tar.path)
        } else {
            PathKind::LoneSidecar(tar.path)
        });
    }
    if content.is_some_and(Content::is_image) {
        return Ok(PathKind::SampleFile(content.map_or("an image", |found| found.name)));
    }
    let has_sidecar = files::exists(&index_path(path))?;
    let is_compressed = COMPRESSED.iter().any(|end| name.ends_with(end));
    if is_compressed && !has_sidecar {
        return Ok(PathKind::CompressedTar);
    }
    if is_compressed || is_tar(&start) {
        return Ok(PathKind::Tar { has_sidecar });
    }
    let source = SourceFormat::of_file(path).filter(|kind| *kind != SourceFormat::Tar);
    let by_content =
        content.and_then(|found| SourceFormat::of_file(Path::new(&format!("x.{}", found.ext))));
    Ok(match source.or(by_content) {
        Some(kind) => PathKind::Source { word: kind.word(), is_folder: false },
        None => PathKind::Other(content.map(|found| found.name)),
    })
}

/// Returns the first block of a file.
fn first_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let (file, _) = files::open(path)?;
    let mut start = Vec::new();
    file.take(512).read_to_end(&mut start).map_err(|e| Error::io(e, "read", path))?;
    Ok(start)
}

fn is_tar(start: &[u8]) -> bool {
    start.first_chunk().is_some_and(|block| is_zero_block(block) || Header::parse(block).is_ok())
}

impl PathKind {
    /// Returns the step from `path`, which this is, to a data set that can be loaded; `None` if it is one, or if
    /// no step is known.
    #[must_use]
    pub fn step(&self, path: &Path) -> Option<Step> {
        Some(match self {
            PathKind::Parent(found) => Step::Name(found.clone()),
            PathKind::Sidecar(tar) => Step::Name(vec![tar.clone()]),
            PathKind::Tars { plain: 0, .. } | PathKind::CompressedTar => Step::Reshard(path.into()),
            PathKind::Tars { .. } => Step::Index(path.into()),
            PathKind::Tar { has_sidecar: false } => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                Step::Index(folder.unwrap_or(Path::new(".")).into())
            }
            PathKind::Samples(samples) => Step::Build(Build::of_samples(path, samples)),
            PathKind::Source { word, .. } => Step::Build(Build::of_source(word, path)),
            PathKind::Unfinished => Step::Finish(path.into()),
            PathKind::SampleFile(_) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new("."));
                return recognize(folder).ok()?.step(folder);
            }
            PathKind::Missing
            | PathKind::LoneSidecar(_)
            | PathKind::DataSet
            | PathKind::Tar { has_sidecar: true }
            | PathKind::Empty
            | PathKind::Other(_) => return None,
        })
    }
}

/// Returns the error for shards at `path`, which is of this kind, in place of files to pack into `out`; `None` for what is
/// no shards.
pub fn already_packed(path: &Path, kind: &PathKind, out: &Path) -> Option<Failure> {
    let shards = match kind {
        PathKind::DataSet
        | PathKind::Tars { .. }
        | PathKind::Tar { .. }
        | PathKind::CompressedTar => path,
        PathKind::Sidecar(tar) => tar,
        PathKind::Parent(found) => found.first()?,
        _ => return None,
    };
    let again = Step::Reshard(shards.into()).command_into(out);
    Some(
        Failure::usage(message!(
            "{path} is {}, whose samples are packed already; other shards of them are made by \
             `{again}`",
            kind.name();
            path = path
        ))
        .with_file(path),
    )
}

#[cfg(test)]
mod tests;
