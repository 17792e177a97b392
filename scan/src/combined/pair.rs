//! Pairs files of one source folder into samples: those of parallel folders (`images/a.jpg` and `masks/a.png` become the
//! sample `a`), or those whose names match patterns (`a_sat.jpg` and `a_mask.png`).

mod folders;
mod pattern;
mod patterns;
mod side;

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::Name;

pub use self::side::Side;
use crate::folders::walk::Watch;
use crate::links::Links;
use crate::options::ScanOptions;
use crate::scan::Scan;

/// Scans the folders of `sides` under the root and pairs their files.
///
/// # Errors
/// Returns the errors of [`scan`](crate::scan()), an error for a folder that is a link that is not followed, for a pattern
/// that no file matches, and for a file that matches two patterns equally well.
pub fn scan_pairs(
    root: &Path,
    sides: &[Side],
    options: &ScanOptions,
    watch: Watch<'_>,
) -> Result<Scan, Failure> {
    let links = Links::of(options.follow_links);
    for side in sides {
        side.refuse_links(root, links)?;
    }
    if sides.iter().any(|side| side.pattern().is_some()) {
        patterns::scan_patterns(root, sides, options, watch)
    } else {
        folders::scan_folders(root, sides, options, watch)
    }
}

/// Refuses a root without the folders of a pairing.
///
/// # Errors
/// Returns an error that names the missing folder, and if the operating system refuses.
pub fn check_folders(root: &Path, sides: &[Side]) -> Result<(), Failure> {
    for side in sides.iter().filter(|side| !side.folder().is_empty()) {
        let folder = root.join(side.folder());
        if !files::is_folder(&folder)? {
            let text = message!("{pair}: {path} is no folder"; pair = Name::Pair, path = &folder);
            return Err(Failure::usage(text).with_file(folder));
        }
    }
    Ok(())
}
