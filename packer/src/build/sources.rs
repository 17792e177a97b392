//! Checks source and output folders before a build. Reads names only.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files::{self, FileKind, patiently};
use tarflume_formats::index_path;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::plan::PlanFoot;
use tarflume_sources::rows::{SourceFormat, SourceUrl, is_zarr};

/// Refuses an output that is a file or inside a source, and a source that is not a folder.
///
/// # Errors
/// Returns an error in these cases, and if the operating system refuses.
pub(super) fn check_folders(roots: &[PathBuf], out: &Path) -> Result<(), Failure> {
    check_out(out)?;
    let inner = real(out)?;
    for root in roots {
        if !files::is_folder(root)? {
            if files::exists(root)? {
                return Err(no_folder(root));
            }
            return Err(Failure::usage("there is no such folder").in_file(root));
        }
        if is_zarr(root)? {
            return Err(Failure::usage(message!(
                "{root} is a folder of Zarr, whose chunks are no samples; give it with its kind: zarr:{root}";
                root = root
            ))
            .with_file(root));
        }
        if inner.starts_with(real(root)?) {
            return Err(Failure::usage(message!(
                "the output folder {out} is inside the source {root}; choose one outside";
                out = out,
                root = root
            ))
            .with_file(out));
        }
    }
    Ok(())
}

/// Refuses an output that is a file, one inside a folder of a source, and one that holds a source:
/// shards would be written beside files that they are made of, or over them.
///
/// # Errors
/// Returns an error in these cases, and if the operating system refuses.
pub(super) fn check_files(sources: &[SourceUrl], out: &Path) -> Result<(), Failure> {
    check_out(out)?;
    let inner = real(out)?;
    // A table beside the output folder is read by name: nothing is read because it is there.
    for file in sources.iter().flat_map(|source| &source.files) {
        let source = real(file)?;
        if inner.starts_with(&source) || source.starts_with(&inner) {
            let how = if source.starts_with(&inner) { "holds" } else { "is inside" };
            return Err(Failure::usage(message!(
                "the output folder {out} {how} the source {file}; choose another folder";
                out = out,
                file = file
            ))
            .with_file(out));
        }
    }
    Ok(())
}

/// Refuses an output that is a file.
///
/// # Errors
/// Returns an error if it is one, and if the operating system refuses.
fn check_out(out: &Path) -> Result<(), Failure> {
    if matches!(files::kind(out)?, Some(FileKind::File | FileKind::Other)) {
        let text = message!("{out}: this is a file; name a folder, which is created if missing"; out = Name::Out.is(out));
        return Err(Failure::usage(text).with_file(out));
    }
    Ok(())
}

/// Returns the path without links. A path that does not exist (usually the output folder) is
/// resolved through its nearest existing ancestor.
fn real(path: &Path) -> Result<PathBuf, Failure> {
    use std::io::ErrorKind as K;
    let path = std::path::absolute(path).map_err(|e| Failure::io(e, "find", path))?;
    for above in path.ancestors() {
        match patiently(|| above.canonicalize()) {
            Ok(found) => {
                // `strip_prefix` of an ancestor does not fail.
                return Ok(found.join(path.strip_prefix(above).unwrap_or(Path::new(""))));
            }
            Err(e) if matches!(e.kind(), K::NotFound | K::NotADirectory) => {}
            Err(e) => return Err(Failure::io(e, "find", above)),
        }
    }
    Ok(path)
}

/// Returns the failure for a source that is not a folder; tars are already packed.
fn no_folder(root: &Path) -> Failure {
    let tar = root.file_name().is_some_and(|name| {
        let name = name.to_string_lossy().to_ascii_lowercase();
        [".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"].iter().any(|end| name.ends_with(end))
    });
    let advice = match SourceFormat::of_file(root) {
        _ if tar => {
            message!("; `{index}` makes an index for a plain tar, and `{reshard}` packs the samples of tars, also \
             compressed ones, into other shards"; index = Call::of(Task::Index), reshard = Call::of(Task::Reshard))
        }
        Some(kind) => {
            message!("; SRC must be one, or a file with its kind: {}:{root}", kind.word(); root = root)
        }
        None => Message::words("; SRC must be one"),
    };
    Failure::usage(message!("{root} is not a folder{advice}"; root = root, advice = advice))
        .with_file(root)
}

/// Refuses existing files that have a shard's name and do not belong to this data set.
///
/// # Errors
/// Returns an error in this case, and if the operating system refuses.
pub(super) fn check_in_the_way(out: &Path, foot: &PlanFoot) -> Result<(), Failure> {
    for shard in &foot.shards {
        let tar = out.join(&shard.name);
        for path in [index_path(&tar), tar] {
            if bears_a_name(&path)? {
                return Err(Failure::usage(message!(
                    "{path} exists and belongs to no data set of pack; choose another folder or \
                     {prefix}";
                    path = &path,
                    prefix = Name::Prefix
                ))
                .with_file(path));
            }
        }
    }
    Ok(())
}

/// Returns true if anything has the name `path`, including a dangling link.
fn bears_a_name(path: &Path) -> Result<bool, Failure> {
    use std::io::ErrorKind as K;
    match patiently(|| path.symlink_metadata()) {
        Ok(_) => Ok(true),
        Err(e) if matches!(e.kind(), K::NotFound | K::NotADirectory) => Ok(false),
        Err(e) => Err(Failure::io(e, "examine", path)),
    }
}
