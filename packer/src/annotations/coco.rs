//! COCO files: one JSON object with `images`, `annotations` and `categories`.
//!
//! The file is read once, as a stream. Images and annotations are sorted by the image's id in
//! bounded memory; memory holds the categories and the annotations of one image. Each field of
//! annotations becomes a list in the image's JSON.

mod contents;
mod grouped;
mod stream;

use std::path::Path;

use tarflume_formats::About;

use self::contents::Gathered;
pub(crate) use self::grouped::CocoRows;
use crate::failure::Failure;
use crate::stop::Stop;

/// Reads a COCO file. Returns the rows, one for each image, and the description of their JSON.
///
/// # Errors
/// Returns an error for a file that is not as COCO describes it, and for a failure of the machine.
pub(crate) fn open(path: &Path, stop: &Stop) -> Result<(CocoRows, About), Failure> {
    let mut read = Gathered { path: path.to_path_buf(), ..Gathered::default() };
    stream::read(path, &mut read, stop)?;
    if read.images == 0 {
        return Err(read.bad("it has no 'images'"));
    }
    read.categories.sort_by_key(|(id, _)| *id);
    if let Some(twice) = read.categories.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(read.bad(&format!("two categories have the id {}", twice[0].0)));
    }
    let lists = read.lists();
    let about = About { classes: read.classes(), columns: read.columns(&lists) };
    Ok((CocoRows::new(read, lists)?, about))
}

#[cfg(test)]
mod tests;
