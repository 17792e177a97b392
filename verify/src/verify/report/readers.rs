//! What other readers misread.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_export::foreign_index;
use tarflume_formats::manifest::ShardEntry;
use tarflume_shards::index::in_parallel;

use crate::verify::Report;
use crate::verify::contents::profile;
use crate::verify::options::{Level, Options};
use crate::verify::sets::file_name;

impl Report {
    /// Adds what other readers misread: wrong index files beside the tars, and names and headers of the chosen profiles.
    ///
    /// # Errors
    /// Returns an error if the machine failed, and after an interruption.
    pub(in crate::verify) fn other_readers(
        &mut self,
        tars: &[(PathBuf, Option<ShardEntry>)],
        options: &Options,
    ) -> Result<(), Failure> {
        let numbered: Vec<(usize, &Path)> =
            tars.iter().enumerate().map(|(number, (tar, _))| (number, tar.as_path())).collect();
        let found = in_parallel(options.jobs, numbered, |(number, path)| {
            let mut found = Vec::new();
            if options.level > Level::Quick {
                let name = file_name(path);
                let digests = options.level == Level::Decode;
                let folder = tarflume_formats::publish::folder_of(path);
                found.push(foreign_index::check::of_shard(folder, &name, digests, &options.stop)?);
            }
            if !options.profiles.is_empty() {
                let tar = profile::Tar { path, is_first: number == 0 };
                found.push(profile::check(tar, &options.profiles, &options.stop)?);
            }
            Ok::<_, Failure>(found)
        })?;
        for problems in found {
            for problems in problems? {
                self.unlisted += problems.unlisted;
                problems.listed.into_iter().for_each(|problem| self.push(problem));
            }
        }
        let entries: Vec<ShardEntry> = tars.iter().filter_map(|(_, entry)| entry.clone()).collect();
        if let Some((tar, _)) = tars.first()
            && options.level > Level::Quick
            && !entries.is_empty()
        {
            let folder = tarflume_formats::publish::folder_of(tar);
            let found = foreign_index::check::of_set(folder, &entries)?;
            found.into_iter().for_each(|problem| self.push(problem));
        }
        if options.stop.requested() { Err(Failure::interrupted()) } else { Ok(()) }
    }
}
