//! Groups sorted files into samples, by the rules that apply to folders.

use std::collections::HashMap;
use std::sync::Arc;

use tarflume_base::Failure;

use super::order::SortedFile;
use crate::folders::group::{FolderName, Grouper};
use crate::folders::listing::Listing;
use crate::folders::walk::FoundFiles;

/// Files that are grouped at a time, unless a sample has more.
const MANY: usize = 4096;

/// Takes files in their order.
pub(super) struct Grouping<'a> {
    grouper: Grouper<'a>,
    found: FoundFiles,
    /// The folder of the files that are held, or why it is left out.
    folder: Option<(u32, Vec<u8>, Option<FolderName>)>,
    listing: Listing,
    /// The verdicts about folders: `None` for one that is left out.
    folders: HashMap<(u32, Vec<u8>), Option<FolderName>>,
}

impl<'a> Grouping<'a> {
    pub(super) fn new(grouper: Grouper<'a>) -> Grouping<'a> {
        let found = FoundFiles { newest: i64::MIN, ..FoundFiles::default() };
        Grouping {
            grouper,
            found,
            folder: None,
            listing: Listing::of_list(),
            folders: HashMap::new(),
        }
    }

    /// Adds the next file.
    ///
    /// # Errors
    /// Returns an error if the machine failed.
    pub(super) fn add(&mut self, file: &SortedFile) -> Result<(), Failure> {
        let base = file.path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let (folder, name) = file.path.split_at(base);
        let is_same =
            self.folder.as_ref().is_some_and(|held| held.0 == file.root && held.1 == folder);
        if !is_same {
            self.flush()?;
            let name = self.folder_of(file.root, folder);
            self.folder = Some((file.root, folder.to_vec(), name));
        }
        if matches!(&self.folder, Some((.., None))) {
            return Ok(());
        }
        let stem = self.grouper.options.stem_of(name);
        if self.listing.entries.len() >= MANY && !self.listing.ends_with_stem(&name[..stem]) {
            self.flush()?;
        }
        self.listing.add(name, stem, file.facts);
        Ok(())
    }

    /// Returns all samples.
    ///
    /// # Errors
    /// Returns an error if the machine failed.
    pub(super) fn finish(mut self) -> Result<FoundFiles, Failure> {
        self.flush()?;
        Ok(self.found)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if let Some((.., Some(folder))) = &self.folder
            && !self.listing.entries.is_empty()
        {
            let grouped = self.grouper.group(folder, &self.listing, &self.listing.entries)?;
            self.found.append(FoundFiles::from(grouped));
        }
        self.listing.clear();
        Ok(())
    }

    /// Returns the name of a folder after the rules for names; `None` if it is left out. Reports a refused one once.
    fn folder_of(&mut self, root: u32, path: &[u8]) -> Option<FolderName> {
        if let Some(known) = self.folders.get(&(root, path.to_vec())) {
            return known.clone();
        }
        let name = match path.strip_suffix(b"/") {
            None => {
                let nothing: Arc<[u8]> = [].into();
                Some(FolderName { root, source: nothing.clone(), key: nothing })
            }
            Some(inner) => {
                let base =
                    inner.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
                let parent = self.folder_of(root, &inner[..base]);
                parent.and_then(|parent| match self.grouper.folder_name(&parent, &inner[base..]) {
                    Ok(Some(name)) => Some(name),
                    Ok(None) => {
                        self.found.skipped += 1;
                        None
                    }
                    Err(problem) => {
                        self.found.problems.push(*problem);
                        None
                    }
                })
            }
        };
        self.folders.insert((root, path.to_vec()), name.clone());
        name
    }
}
