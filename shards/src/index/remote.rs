//! Indexes the tars of a store: each is copied, its sidecar is made from the copy and uploaded.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::index_path;
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};

use super::folder::{self, MadeManifest};
use super::options::Options;
use super::shard::{Indexed, SidecarInfo, index_tar};
use super::{IndexedPath, expected, in_parallel, with_recorded_rules};
use crate::remote_folder::RemoteFolder;

/// Indexes the tar or the folder of tars at `url`.
///
/// # Errors
/// Returns an error if there is no tar or no list of them, the errors of the store, and an error after an
/// interruption. The failure of one tar is in its [`Indexed`].
pub(super) fn index(
    url: &str,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<IndexedPath, Failure> {
    if url.starts_with("http") || url.starts_with("hf:") {
        return Err(Failure::usage(
            "this server takes no sidecars; index a copy of the tars, and upload what was made",
        )
        .in_file(url));
    }
    if options.accept_edits {
        return Err(Failure::usage(
            message!("{accept_edits} is about a dataset.json on this machine: edit a copy, run `{index}` \
                 there, and upload the file"; index = Call::of(Task::Index).with(Name::AcceptEdits.on()), accept_edits = Name::AcceptEdits.on()),
        )
        .in_file(url));
    }
    let url = url.trim_end_matches('/');
    let single = url.rsplit_once('/').filter(|(_, name)| name.ends_with(".tar"));
    let remote = RemoteFolder::open(single.map_or(url, |(folder, _)| folder), &options.storage)?;
    let names = match single {
        Some((_, name)) => vec![name.to_string()],
        None => remote.tars()?.unwrap_or_default(),
    };
    if names.is_empty() {
        return Err(Failure::usage("there is no *.tar in this folder").in_file(url));
    }
    remote.copy_small(FILE_NAME)?;
    folder::accept_edits(remote.folder(), false).map_err(|failure| remote.failure(failure))?;
    let options = with_recorded_rules(remote.folder(), options);
    let options = &options.map_err(|failure| remote.failure(failure))?;
    let mut tars = in_parallel(options.jobs, names, |name| Indexed {
        tar: remote.copy_of(&name),
        result: one(&remote, &name, options, on_bytes).map_err(|failure| remote.failure(failure)),
    })?;
    if options.stop.requested() {
        return Err(Failure::interrupted());
    }
    if single.is_none() {
        expected::some_values(&tars, options).map_err(|failure| remote.failure(failure))?;
    }
    let manifest = single
        .is_none()
        .then(|| manifest(&remote, &tars, options).map_err(|failure| remote.failure(failure)));
    for indexed in &mut tars {
        let name = indexed.tar.file_name().unwrap_or_default().to_string_lossy().into_owned();
        indexed.tar = remote.place(&name);
    }
    Ok(IndexedPath { tars, manifest })
}

fn one(
    remote: &RemoteFolder,
    name: &str,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<SidecarInfo, Failure> {
    let sidecar = index_path(Path::new(name)).to_string_lossy().into_owned();
    let existed = remote.copy_small(&sidecar)?;
    let Some(_copy) = remote.copy_tar(name, &options.stop)? else {
        return Err(Failure::usage("there is no such object").in_file(remote.place(name)));
    };
    let mut made = index_tar(&remote.copy_of(name), options, on_bytes)?;
    for warning in &mut made.warnings {
        warning.map_paths(|path| remote.original(path));
    }
    for problem in &mut made.damaged.listed {
        *problem = remote.problem(problem.clone());
    }
    // The copies were compared. A sidecar that is sent again is newer than its tar, so readers need not compare them.
    if !made.kept || remote.may_be_newer(name, &sidecar)? {
        remote.send(&sidecar, existed)?;
    }
    Ok(made)
}

fn manifest(
    remote: &RemoteFolder,
    tars: &[Indexed],
    options: &Options,
) -> Result<MadeManifest, Failure> {
    let existed = remote.copy_small(FILE_NAME)?;
    let made = folder::publish_manifest(remote.folder(), tars, options)?;
    if !made.kept {
        remote.send(FILE_NAME, existed)?;
    }
    Ok(MadeManifest { path: remote.place(FILE_NAME), ..made })
}
