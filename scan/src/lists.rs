//! Scans lists of files instead of folders: an inventory of a store, what `find`, `lfs find` or a policy of GPFS
//! printed, a table. A file whose size the list states is not examined.
//!
//! Floors: `line` parses a line of text, `place` finds the source folder of a path, `order` sorts in bounded memory,
//! `inventory` reads the description of an inventory, `file` reads any list, `grouping` groups sorted names into
//! samples.

mod file;
mod grouping;
mod inventory;
mod line;
mod order;
mod place;

use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::shown::ShowPath;

use self::file::each_line;
use self::grouping::Grouping;
use self::line::ListedFile;
use self::order::{PathSorter, SortedPaths};
use self::place::Places;
use crate::folders::group::Grouper;
use crate::folders::walk::Watch;
use crate::names::exts::ExtTable;
use crate::options::ScanOptions;
use crate::parts::subtree::PartScan;

/// Scans the files that `lists` name below `roots`.
///
/// # Errors
/// Returns an error for a list that cannot be read, for a line that is no file, if no line is below a root, and if
/// the machine fails.
pub fn scan_lists(
    roots: &[PathBuf],
    lists: &[PathBuf],
    options: &ScanOptions,
    watch: Watch<'_>,
) -> Result<PartScan, Failure> {
    if options.by_content {
        let text = message!("{ext_by_content} reads the files; it is not for {files}, whose files are not examined"; ext_by_content = Name::ExtByContent.on(), files = Name::Files);
        return Err(Failure::usage(text));
    }
    let (sorted, outside) = sorted(roots, lists, options, watch)?;
    let exts = ExtTable::default();
    let grouper = Grouper { options, roots, exts: &exts };
    let mut grouping = Grouping::new(grouper);
    let mut sorted = sorted;
    let mut seen = 0u64;
    while let Some(file) = sorted.next()? {
        grouping.add(&file)?;
        seen += 1;
        if seen.is_multiple_of(65_536) && watch.stop.requested() {
            return Err(Failure::interrupted());
        }
    }
    let found = grouping.finish()?;
    Ok(PartScan {
        runs: found.runs.into_iter().filter(|run| run.samples > 0).collect(),
        exts: exts.into_list(),
        problems: found.problems,
        tables: found.tables,
        empty: Vec::new(), // a list names files
        skipped: found.skipped + outside,
        renamed: found.renamed,
        newest: found.newest,
        tree: "lists".into(),
    })
}

/// Returns the files below the roots, sorted, and the number of those elsewhere.
fn sorted(
    roots: &[PathBuf],
    lists: &[PathBuf],
    options: &ScanOptions,
    watch: Watch<'_>,
) -> Result<(SortedPaths, u64), Failure> {
    let mut sorter = PathSorter::new();
    let mut outside = 0;
    let mut inside = 0u64;
    for list in lists {
        let mut places = Places::new(roots)?;
        let mut take = |file: ListedFile<'_>| {
            watch.counter.add(1);
            if watch.counter.names().is_multiple_of(65_536) && watch.stop.requested() {
                return Err(Failure::interrupted());
            }
            match places.of(file.path, file.under_root)? {
                Some((root, path)) => {
                    inside += 1;
                    sorter.push(root, path, file.facts, options)
                }
                None => {
                    outside += 1;
                    Ok(())
                }
            }
        };
        each_line(list, &mut take)?;
    }
    if inside == 0 {
        let shown: Vec<String> = roots.iter().map(|root| root.shown().to_string()).collect();
        let list = match lists.first() {
            Some(list) => Message::from(list),
            None => Name::Files.into(),
        };
        let failure = Failure::usage(message!(
            "no line of {list} names a file below {}; SRC is the folder that the paths are under",
            shown.join(", ");
            list = list
        ));
        return Err(match lists.first() {
            Some(list) => failure.with_file(list),
            None => failure,
        });
    }
    Ok((sorter.finish()?, outside))
}
