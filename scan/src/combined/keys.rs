//! `Keys`: the keys of samples that are made of several files, by the policy for names.

use std::path::{Path, PathBuf};

use tarflume_base::{Problem, ProblemKind};
use tarflume_formats::message::Message;
use tarflume_formats::name;

use super::matched::{Matched, MatchedFiles};
use crate::folders::refusal::{misread, too_long};
use crate::names::fitted::{Fit, fit};
use crate::names::rules::{Rule, Verdict};
use crate::options::{ScanOptions, ScanProblem};
use crate::source::{part_path, shown_path};

/// The key of a sample.
pub(super) struct Key {
    /// Its folders, each with a slash.
    pub(super) folder: Vec<u8>,
    pub(super) stem: Vec<u8>,
}

/// Why files are no sample.
pub(super) struct Unsuited {
    pub(super) kind: ProblemKind,
    pub(super) reason: Message,
}

impl Unsuited {
    /// Returns the problem of the files of a sample: it is about the first of them, or, for a repeated part, the last.
    pub(super) fn problem(
        self,
        root: &Path,
        found: &MatchedFiles,
        files: &[Matched],
    ) -> ScanProblem {
        let about =
            if self.kind == ProblemKind::RepeatedPart { files.last() } else { files.first() };
        let files: Vec<PathBuf> =
            files.iter().map(|file| part_path(root, found.path(file), b"")).collect();
        let path = about.map(|file| part_path(root, found.path(file), b""));
        let problem =
            Problem::new(self.kind, path.as_deref().map_or(String::new(), shown_path), self.reason);
        let key = about.map_or(String::new(), |file| name::shown(found.key(file)));
        ScanProblem::new(problem.of(key), 0, files)
    }
}

/// The options that keys depend on.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub(super) options: &'a ScanOptions,
}

impl Keys<'_> {
    /// Returns the key of a sample; `None` if it is left out.
    ///
    /// # Errors
    /// Returns why it is none.
    pub(super) fn named(&self, key: &[u8], longest: usize) -> Result<Option<Key>, Unsuited> {
        if self.options.listed.has(key) {
            return Ok(None); // reports have this form of a key that is refused
        }
        let last = key.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        let folder = self.folder_key(&key[..last])?;
        let Some(stem) = self.component(&key[last..], true)? else { return Ok(None) };
        let kind = ProblemKind::BadName;
        if self.lists(&folder, &stem) {
            return Ok(None);
        }
        match fit(&self.options.names, &folder, &stem, longest) {
            Fit::Fits => Ok(Some(Key { folder, stem })),
            Fit::Refused => Err(Unsuited { kind, reason: misread(Rule::Long, key) }),
            Fit::NoRoom => Err(Unsuited { kind, reason: too_long("its folder", folder.len()) }),
            Fit::Short(short) if self.lists(&folder, &short) => Ok(None),
            Fit::Short(stem) => Ok(Some(Key { folder, stem })),
        }
    }

    /// Returns true if the list of keys that are left out has this one.
    fn lists(&self, folder: &[u8], stem: &[u8]) -> bool {
        self.options.listed.has(&[folder, stem].concat())
    }

    /// Returns what keys in a folder begin with.
    fn folder_key(&self, folder: &[u8]) -> Result<Vec<u8>, Unsuited> {
        let mut key = Vec::with_capacity(folder.len());
        for component in folder.split_inclusive(|&b| b == b'/') {
            let component = component.strip_suffix(b"/").unwrap_or(component);
            let named = self.component(component, false)?;
            key.extend(named.unwrap_or_else(|| component.to_vec()));
            key.push(b'/');
        }
        Ok(key)
    }

    /// Returns a component of a key; `None` if it is left out.
    fn component(&self, component: &[u8], dots: bool) -> Result<Option<Vec<u8>>, Unsuited> {
        match self.options.names.judge(component, dots) {
            Verdict::Keep => Ok(Some(component.to_vec())),
            Verdict::Becomes(new) => Ok(Some(new)),
            Verdict::Skip => Ok(None),
            Verdict::Refuse(rule) => {
                Err(Unsuited { kind: ProblemKind::BadName, reason: misread(rule, component) })
            }
        }
    }
}
