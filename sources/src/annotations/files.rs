//! The files of a folder of annotations, one for each image, in the order of their paths.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_scan::folders::walk::Watch;
use tarflume_scan::links::Links;
use tarflume_scan::names::exts::Require;
use tarflume_scan::names::rules::NameRules;
use tarflume_scan::options::{Cause, ScanOptions, ScanProblem};
use tarflume_scan::samples::list::{FoundSample, SampleList, Spot};
use tarflume_scan::scan;
use tarflume_scan::source::part_path;

/// Limit on the bytes of one file.
const MAX_FILE: u64 = 16 << 20;

/// The files with one extension under a folder.
#[derive(Debug)]
pub(super) struct Annotations {
    root: PathBuf,
    samples: SampleList,
    spots: Vec<Spot>,
    ext: &'static str,
    /// The time of the last change of any file; see [`Scan::newest`](tarflume_scan::Scan::newest).
    pub(super) newest: i64,
}

impl Annotations {
    /// Lists the files with this extension.
    ///
    /// # Errors
    /// Returns an error if there are none, for a link that is not followed, for a folder that cannot
    /// be read, and for a failure of the machine.
    pub(super) fn list(
        root: &Path,
        ext: &'static str,
        links: Links,
        watch: Watch<'_>,
    ) -> Result<Annotations, Failure> {
        let options = ScanOptions {
            require: Require::parse(""),
            names: NameRules::parse("allow,dot=replace").map_err(Failure::usage)?,
            follow_links: links == Links::Followed,
            ..ScanOptions::default()
        };
        let found = scan(&[root.to_path_buf()], &options, watch)?;
        if watch.stop.requested() {
            return Err(Failure::interrupted());
        }
        refuse_links(&found.problems, ext)?;
        let is_wanted: Vec<bool> = found.exts.iter().map(|e| e.source == ext).collect();
        let mut spots = Vec::new();
        found.samples.visit(|spot, sample| {
            if sample.parts.iter().any(|part| is_wanted[part.ext as usize]) {
                spots.push(spot);
            }
            true
        });
        if spots.is_empty() {
            let text = format!("no .{ext} files are in this folder");
            return Err(Failure::usage(text).in_file(root));
        }
        let root = root.to_path_buf();
        Ok(Annotations { root, samples: found.samples, spots, ext, newest: found.newest })
    }

    /// Returns the number of files.
    pub(super) fn len(&self) -> usize {
        self.spots.len()
    }

    /// Returns the path of file `number` under the folder without extension, and its path.
    pub(super) fn file(&self, number: usize) -> (Vec<u8>, PathBuf) {
        let mut sample = FoundSample::default();
        self.samples.read(self.spots[number], &mut sample);
        let path = part_path(&self.root, &sample.source, self.ext.as_bytes());
        (sample.source, path)
    }

    /// Leaves out the files for which `keep` is false.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&[u8]) -> bool) {
        let samples = &self.samples;
        let mut sample = FoundSample::default();
        self.spots.retain(|&spot| {
            samples.read(spot, &mut sample);
            keep(&sample.source)
        });
    }
}

/// Refuses links to files with the extension, and to folders, which may have some.
fn refuse_links(problems: &[ScanProblem], ext: &str) -> Result<(), Failure> {
    for ScanProblem { problem, cause, .. } in problems {
        let path = Path::new(&problem.path);
        if *cause == Some(Cause::Link)
            && (path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ext))
                || files::is_folder(path)?)
        {
            return Err(Failure::usage(&problem.reason).in_file(path));
        }
    }
    Ok(())
}

/// Returns the text of a file of annotations.
///
/// # Errors
/// Returns an error for a file that is too long or no UTF-8, and if the operating system refuses.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let found = files::metadata(path, "read")?;
    if found.len() > MAX_FILE {
        let text = format!("it is longer than {} MiB", MAX_FILE >> 20);
        return Err(Failure::bad_data(text).in_file(path));
    }
    let bytes = files::read_whole(path, "read")?;
    let text = String::from_utf8(bytes);
    text.map_err(|_| Failure::bad_data("it is not UTF-8").in_file(path))
}
