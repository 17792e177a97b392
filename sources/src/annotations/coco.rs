//! COCO files: one JSON object with `images`, `annotations` and `categories`: instances, keypoints, captions, panoptic
//! segments, and LVIS.
//!
//! The file is read once, as a stream. Images and annotations are sorted by the image's id in
//! bounded memory; memory holds the categories and the annotations of one image. Each field of
//! annotations becomes a list in the image's JSON.

mod categories;
mod contents;
mod digits;
mod grouped;
mod panoptic;
mod stream;
mod unique;

use std::path::Path;

use tarflume_base::{Failure, Stop};
use tarflume_formats::{About, ClassTable};
use tarflume_table::values::recorded::Recorded;

use self::contents::Gathered;
pub(crate) use self::grouped::CocoRows;

/// Reads a COCO file. Returns the rows, one for each image, and the description of their JSON. The
/// categories and fields of `before`, a data set that gets more samples, stay as they are. `listed` numbers the
/// categories by their names.
///
/// # Errors
/// Returns an error for a file that is not as COCO describes it, for categories and values that do not
/// fit the data set, and for a failure of the machine.
pub fn open(
    path: &Path,
    listed: Option<&ClassTable>,
    before: &About,
    stop: &Stop,
) -> Result<(CocoRows, About), Failure> {
    let recorded = Recorded::of(&before.columns);
    let mut read = Gathered { path: path.to_path_buf(), recorded, ..Gathered::default() };
    stream::read(path, &mut read, stop)?;
    if read.images == 0 {
        return Err(read.bad("it has no 'images'"));
    }
    let numbered = match listed {
        Some(listed) => read.categories.renumber(listed),
        None => read.categories.sort(before),
    };
    numbered.map_err(|why| read.bad(why))?;
    let lists = read.lists();
    let about = About {
        classes: read.categories.table(),
        columns: read.columns(&lists),
        objects: read.objects(),
    };
    Ok((CocoRows::new(read, lists)?, about))
}

#[cfg(test)]
mod tests;
