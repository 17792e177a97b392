//! Verifies a shard within the time that there is, or takes the result of an earlier verification of the same bytes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tarflume_base::{Failure, Problem, ProblemKind, Problems};
use tarflume_export::foreign_index::md5_of;
use tarflume_formats::message;
use tarflume_formats::publish::folder_of;
use tarflume_formats::{Index, IrregularJpegs, files, index_path};

use super::contents::parts::ShardParts;
use super::options::watch::VerifiedShard;
use super::options::{Level, Options};
use super::pass::LongParts;
use super::policed::Measured;
use super::proved::Proved;
use super::remote;
use super::sets::Target;
use crate::cache::ShardKey;
use crate::cache::state::State;
use crate::class_field::ClassCounts;
use crate::pointers::dvc;
use crate::schema::PartSchema;
use crate::scope::coverage::Covered;
use crate::scope::runs::Want;

/// Verifies a shard as [`prove`] does, and tells who watches.
///
/// # Errors
/// As [`prove`].
pub(super) fn prove_watched(
    target: Target,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Proved, Failure> {
    let begun = Instant::now();
    let mut proved = prove(target, options, on_bytes)?;
    proved.time = begun.elapsed();
    if options.stop.requested() {
        return Ok(proved); // its tar was not read to the end
    }
    options.watch.tell(VerifiedShard {
        path: &proved.path,
        samples: proved.index.as_ref().map_or(0, Index::samples),
        bytes: proved.bytes,
        time: proved.time,
        problems: &proved.problems.listed,
        warnings: &proved.parts.warnings,
    });
    Ok(proved)
}

/// Verifies one shard, or takes its result from the cache.
///
/// # Errors
/// Returns an error if the machine failed: the shard's state is then unknown.
fn prove(
    target: Target,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Proved, Failure> {
    let reads = matches!(target.want, Want::Level | Want::Share(_)) && options.level > Level::Quick;
    if target.remote.is_some() && options.scope.budget.is_none() {
        return remote::prove(target, options, on_bytes);
    }
    let tar = target.tar.clone();
    let is_here = target.remote.is_none();
    if !reads {
        let mut proved = remote::prove(target, options, on_bytes)?;
        if is_here && !proved.is_absent {
            compare_with_dvc(&tar, options, &mut proved)?;
        }
        return Ok(proved);
    }
    let mut known = Known::of(&target, options)?;
    if let Some(facts) = known.as_ref().and_then(|known| known.facts(options))
        && let Some(known) = known.take()
    {
        on_bytes(facts.bytes);
        return Ok(facts.proved(&target, known.index));
    }
    if options.scope.budget.as_ref().is_some_and(|budget| budget.is_over()) {
        let mut proved = remote::prove(Target { want: Want::Quick, ..target }, options, on_bytes)?;
        proved.covered.ended_early = true;
        return Ok(proved);
    }
    let begin = SystemTime::now();
    let mut proved = remote::prove(target, options, on_bytes)?;
    if is_here && !proved.is_absent {
        compare_with_dvc(&tar, options, &mut proved)?;
    }
    if let Some(known) = known {
        known.keep(&proved, begin, options)?;
    }
    Ok(proved)
}

/// A shard whose state and sidecar are known, and the keys of its records.
struct Known {
    tar: PathBuf,
    index: Index,
    /// The state of the sidecar.
    sidecar: State,
    /// The record of what is wanted.
    key: ShardKey,
    /// The record of the whole shard, which has all that a share wants.
    whole: ShardKey,
}

impl Known {
    /// Returns the state of a shard; `None` without a cache, and for a shard that cannot be in one.
    fn of(target: &Target, options: &Options) -> Result<Option<Known>, Failure> {
        if options.scope.cache.is_none() || target.remote.is_some() {
            return Ok(None);
        }
        // What is wrong here is found by the verification.
        let Some(tar) = state_of(&target.tar) else { return Ok(None) };
        let Some(sidecar) = state_of(&index_path(&target.tar)) else { return Ok(None) };
        let opened = Index::open(index_path(&target.tar));
        let Ok(index) = opened.and_then(|index| index.check().map(|()| index)) else {
            return Ok(None);
        };
        let name = target.tar.file_name().unwrap_or_default();
        let folder = files::patiently(|| std::fs::canonicalize(named(folder_of(&target.tar))));
        let folder = folder.map_err(|e| Failure::io(e, "find the folder of", &target.tar))?;
        let key = ShardKey {
            path: folder.join(name).display().to_string(),
            checks: checks(target, target.want, options)?,
            tar,
            sidecar: index.digest().to_hex().to_string(),
        };
        let whole = ShardKey { checks: checks(target, Want::Level, options)?, ..key.clone() };
        Ok(Some(Known { tar: target.tar.clone(), index, sidecar, key, whole }))
    }

    /// Returns the result of an earlier verification.
    fn facts(&self, options: &Options) -> Option<Facts> {
        let cache = options.scope.cache.as_ref()?;
        let facts = cache.look_up(&self.whole).or_else(|| cache.look_up(&self.key))?;
        serde_json::from_value(facts).ok()
    }

    /// Records a sound shard, if no change of it can be missed.
    fn keep(&self, proved: &Proved, begin: SystemTime, options: &Options) -> Result<(), Failure> {
        let Some(cache) = &options.scope.cache else { return Ok(()) };
        let is_same = state_of(&self.tar) == Some(self.key.tar)
            && state_of(&index_path(&self.tar)) == Some(self.sidecar);
        let is_settled = self.key.tar.is_settled(begin) && self.sidecar.is_settled(begin);
        self.index.intact()?;
        if is_same
            && is_settled
            && !options.stop.requested()
            && let Some(facts) = Facts::of(proved)
        {
            let facts = serde_json::to_value(&facts).expect("texts and numbers serialize");
            let key = if proved.covered.is_whole { &self.whole } else { &self.key };
            cache.keep(key, &facts);
        }
        Ok(())
    }
}

/// Returns `.` for the empty path.
fn named(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn state_of(path: &Path) -> Option<State> {
    files::metadata(path, "examine").ok().as_ref().map(State::of)
}

/// Returns a digest of all that decides about the result for a shard, beside its bytes and its sidecar.
fn checks(target: &Target, want: Want, options: &Options) -> Result<String, Failure> {
    // Each option is named here, so that a new one is either in the digest or known not to matter.
    let Options {
        level,
        schemas,
        class,
        class_table,
        objects,
        object_table,
        json,
        check,
        ignore_zeros,
        // Of all shards together, by their sidecars.
        require: _,
        require_checksums: _,
        // Of all manifests.
        signers: _,
        parts,
        watch: _,
        rules,
        // Looked for in each run.
        profiles: _,
        // In effect, `class`.
        count_classes: _,
        // In effect, `want`.
        scope: _,
        jobs: _,
        stop: _,
        storage: _,
    } = options;
    let dvc = dvc::beside(&target.tar)?.map(|tracked| format!("{tracked:?}"));
    let all: Value = json!({
        "tar": target.tar.display().to_string(),
        "entry": target.entry,
        "want": format!("{want:?}"),
        "dvc": dvc,
        "level": level,
        "schemas": schemas.iter().map(PartSchema::identity).collect::<Vec<_>>(),
        "class": class.as_ref().map(ToString::to_string),
        "class_table": class_table,
        "objects": objects,
        "object_table": object_table,
        "json": format!("{json:?}"),
        "check": format!("{check:?}"),
        "ignore_zeros": ignore_zeros,
        "rules": rules.set.as_ref().map(|rules| format!("{:?} {:?}", rules.bounds, rules.class)),
        "unique": parts.unique.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    Ok(blake3::hash(all.to_string().as_bytes()).to_hex().to_string())
}

/// What a sound shard has beside its sidecar.
#[derive(Debug, Serialize, Deserialize)]
struct Facts {
    without_checksums: bool,
    classes: ClassCounts,
    irregular: IrregularJpegs,
    warning: Option<Problem>,
    long: LongParts,
    objects: u64,
    covered: Covered,
    parts: ShardParts,
    measured: Measured,
    bytes: u64,
}

impl Facts {
    /// Returns the facts of a shard; `None` if it is not sound, or not all that was wanted of it was read.
    fn of(proved: &Proved) -> Option<Facts> {
        // Each field is named here, so that a new one is either in the record or comes from the sidecar.
        let Proved {
            path: _,
            bytes,
            without_checksums,
            index,
            classes,
            irregular,
            problems,
            warning,
            long,
            objects,
            is_absent,
            not_pulled,
            covered,
            parts,
            time: _,
            measured,
        } = proved;
        // Also not what the rules leave out, which may change.
        let is_sound = problems.is_sound() && index.is_some() && !is_absent && not_pulled.is_none();
        let is_read = !covered.ended_early && (covered.is_whole || covered.bytes > 0);
        (is_sound && is_read).then(|| Facts {
            without_checksums: *without_checksums,
            classes: classes.clone(),
            irregular: irregular.clone(),
            warning: warning.clone(),
            long: long.clone(),
            objects: *objects,
            covered: covered.clone(),
            parts: parts.clone(),
            measured: measured.clone(),
            bytes: *bytes,
        })
    }

    fn proved(self, target: &Target, index: Index) -> Proved {
        Proved {
            path: target.tar.clone(),
            bytes: self.bytes,
            without_checksums: self.without_checksums,
            index: Some(index),
            classes: self.classes,
            irregular: self.irregular,
            problems: Problems::default(),
            warning: self.warning,
            long: self.long,
            objects: self.objects,
            is_absent: false,
            not_pulled: None,
            covered: Covered { is_unchanged: true, ..self.covered },
            parts: self.parts,
            measured: self.measured,
            time: Duration::ZERO,
        }
    }
}

/// Compares a tar with what the file of DVC beside it states: its size, and if every byte was read its MD5.
fn compare_with_dvc(tar: &Path, options: &Options, proved: &mut Proved) -> Result<(), Failure> {
    let Some(tracked) = dvc::beside(tar)? else { return Ok(()) };
    let differs = match (tracked.size, &tracked.md5) {
        (Some(size), _) if size != proved.bytes => {
            format!("{size} bytes, and the tar has {}", proved.bytes)
        }
        (_, Some(md5)) if proved.covered.is_whole => {
            let found = md5_of(tar, proved.bytes, &options.stop)?;
            if found == *md5 {
                return Ok(());
            }
            format!("the MD5 {md5}, and that of the tar is {found}")
        }
        _ => return Ok(()),
    };
    let text = message!("{file} states {differs}; `dvc checkout` restores the file that it tracks, `dvc commit` tracks this one";
        file = tracked.file.as_path());
    let path = tar.display().to_string();
    proved.problems.push(Problem::new(ProblemKind::Digest, path, text));
    Ok(())
}
