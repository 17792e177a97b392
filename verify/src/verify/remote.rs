//! The set of a data set in a store, and the check of its shards on copies that last as long as the check.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use tarflume_base::{Failure, Problem, ProblemKind, Problems, check_of, json_rules};
use tarflume_formats::manifest::{FILE_NAME, SIGNATURE_NAME};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::url::url_of;
use tarflume_formats::{index_path, read_manifest};
use tarflume_shards::kinds;
use tarflume_shards::remote_folder::RemoteFolder;

use super::absent;
use super::options::{Level, Options};
use super::proved::Proved;
use super::sets::{self, Set, Target, file_name};
use super::shard;
use crate::scope::runs::{Taken, Want};
use crate::signature;

/// Finds the shards of the data set at `url`.
///
/// # Errors
/// Returns an error if there is nothing to verify, for the level `quick`, and the errors of the store.
pub(super) fn set(url: &Path, options: &Options) -> Result<Set, Failure> {
    let url = url_of(url).unwrap_or_default();
    if options.level == Level::Quick && !options.scope.manifest_only {
        return Err(Failure::usage(
            message!("of a shard in a store every byte is read; verify it with {level} or {level_option}"; level = Name::Level.is("full"), level_option = Name::Level.is("decode")),
        )
        .in_file(url));
    }
    let url = url.strip_suffix(FILE_NAME).unwrap_or(url).trim_end_matches('/');
    if let Some((folder, name)) = url.rsplit_once('/').filter(|(_, name)| name.ends_with(".tar")) {
        let remote = Arc::new(RemoteFolder::open(folder, &options.storage)?);
        let target = Target {
            tar: remote.copy_of(name),
            entry: None,
            remote: Some(remote.clone()),
            want: Want::Level,
        };
        return Ok(Set { targets: vec![target], ..Set::default() });
    }
    let remote = Arc::new(RemoteFolder::open(url, &options.storage)?);
    of_folder(&remote, options).map_err(|failure| remote.failure(failure))
}

fn of_folder(remote: &Arc<RemoteFolder>, options: &Options) -> Result<Set, Failure> {
    let mut set = Set { place: Some(remote.url().into()), ..Set::default() };
    let has_manifest = remote.copy_small(FILE_NAME)?;
    let names = remote.tars()?.unwrap_or_default();
    if !has_manifest && names.is_empty() {
        return Err(Failure::usage("there is neither dataset.json nor a tar").in_file(remote.url()));
    }
    if let Some(signers) = &options.signers {
        remote.copy_small(SIGNATURE_NAME)?;
        let problem = signature::problem(&remote.copy_of("."), signers)?;
        set.problems.extend(problem.map(|problem| remote.problem(problem)));
    }
    let mut listed = HashSet::new();
    match read_manifest(remote.copy_of(FILE_NAME)) {
        Ok(manifest) => {
            set.json = json_rules::of_manifest(Some(&manifest));
            set.check = check_of(&manifest);
            set.about = Some(manifest.about.clone());
            if options.require_checksums {
                let problem = sets::unprotected(&remote.copy_of(FILE_NAME))?;
                set.problems.extend(problem.map(|problem| remote.problem(problem)));
            }
            for entry in manifest.shards {
                listed.insert(entry.name.clone());
                let tar = remote.copy_of(&entry.name);
                set.targets.push(Target {
                    tar,
                    entry: Some(entry),
                    remote: Some(remote.clone()),
                    want: Want::Level,
                });
            }
        }
        Err(error) => {
            let problem = kinds::in_manifest(&kinds::of_data(error)?);
            set.problems.push(remote.problem(problem));
        }
    }
    for name in names.into_iter().filter(|name| !listed.contains(name)) {
        if !listed.is_empty() {
            let text = message!("the manifest does not list this shard; list it with `{index}`, or delete it"; index = Call::of(Task::Index).with(Name::Force.on()).on(remote.url().to_string()));
            let path = remote.place(&name).display().to_string();
            set.problems.push(Problem::new(ProblemKind::StaleManifest, path, text));
        }
        let tar = remote.copy_of(&name);
        set.targets.push(Target {
            tar,
            entry: None,
            remote: Some(remote.clone()),
            want: Want::Level,
        });
    }
    Ok(set)
}

/// Copies a shard with its sidecar, and verifies the copy.
///
/// # Errors
/// Returns the errors of the store, and an error if the machine failed.
pub(super) fn prove(
    target: Target,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Proved, Failure> {
    let Some(remote) = target.remote.clone() else {
        return Ok(shard::prove(target, options, on_bytes)?);
    };
    let tar = file_name(&target.tar);
    remote.copy_small(&file_name(&index_path(&target.tar)))?;
    // Of a shard in a store every byte is read, or none.
    let want = match target.want {
        Want::Share(placed) if placed.whole() == Taken::Nothing => Want::Quick,
        Want::Share(_) => Want::Level,
        want => want,
    };
    let proved = if want == Want::Level {
        // A missing tar is missing in the folder for copies, too: that is the problem that is found.
        let _copy = remote.copy_tar(&tar, &options.stop)?;
        shard::prove(Target { want, ..target }, &options.of_copy(&remote), on_bytes)
    } else {
        let mut proved = Proved::of(target.tar.clone(), &options.of_copy(&remote));
        let stated = absent::prove(&target.tar, target.entry.as_ref(), None, &mut proved);
        proved.is_absent = false;
        stated.map(|()| proved)
    };
    let mut proved = proved.map_err(|error| remote.failure(Failure::from(error)))?;
    proved.path = remote.place(&tar);
    let Problems { listed, warnings, .. } = &mut proved.problems;
    let unusual = proved.warning.iter_mut().chain(&mut proved.parts.warnings);
    for problem in listed.iter_mut().chain(warnings).chain(unusual) {
        *problem = remote.problem(problem.clone());
    }
    if let Some(first) = &mut proved.irregular.first
        && let Some(place) = remote.original(Path::new(&first.path))
    {
        first.path = place.display().to_string();
    }
    Ok(proved)
}
