//! Files that other programs export, recognized by their content: the CSV of Open Images, the XML of CVAT, the JSON of
//! Label Studio.
//!
//! Each reader adds pictures and objects to `collected::Collected`, which sorts them by picture in bounded memory. The
//! JSON has the same lists for all of them.

mod collected;
mod cvat;
mod form;
mod label_studio;
mod names;
mod open_images;
mod shapes;

use std::io::Read;
use std::path::Path;

use tarflume_base::{Failure, Stop};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{About, ClassTable, ObjectTable};
use tarflume_table::TableOptions;
use tarflume_table::text::stream;

use self::collected::Collected;
pub use self::collected::{ExportRows, Opened};
pub use self::names::ClassNames;

/// A file, and how it is read if it is a table.
#[derive(Debug, Clone, Copy)]
pub struct ExportedFile<'a> {
    /// The file.
    pub path: &'a Path,
    /// Options of a table.
    pub table: &'a TableOptions,
}

/// Reads a file. `names` numbers the classes; without it, they are numbered in the order of their names, behind those of
/// `before`, a data set that gets more samples.
///
/// # Errors
/// Returns an error for a file of another form, for a malformed one, for a class that `names` lacks, and for a failure
/// of the machine.
pub fn open(
    file: ExportedFile<'_>,
    names: Option<&ClassNames>,
    before: &About,
    stop: &Stop,
) -> Result<Opened, Failure> {
    let ExportedFile { path, table } = file;
    let mut collected = Collected::new(path, names);
    let first = if table.encoding.is_some() { None } else { begins(path)? };
    let form = match first {
        Some(b'<' | b'[') if *table != TableOptions::default() => {
            let given = table.planned();
            let why = format!(
                "{} are options of tables, and this is none; leave them out",
                given.trim_start_matches(',')
            );
            return Err(Failure::usage(why).in_file(path));
        }
        Some(b'<') => cvat::read(path, &mut collected, stop)?,
        Some(b'[') => label_studio::read(path, &mut collected, stop)?,
        Some(b'{') => {
            let why =
                message!("this is one JSON object; for a COCO file give {coco}"; coco = Name::Coco);
            return Err(Failure::usage(why).in_file(path));
        }
        _ => open_images::read(path, table, &mut collected, stop)?,
    };
    let own = ObjectTable::of(form.boxes, form.is_relative, None);
    if let Some(other) = before.objects.as_ref().filter(|other| !other.is_placed_as(&own)) {
        let why = format!(
            "its boxes are {}, those of the data set {}: build a separate data set",
            own.words(),
            other.words()
        );
        return Err(Failure::usage(why).in_file(path));
    }
    let known = super::classes::before(before, form::POINTER);
    collected.finish(form, fixed(names, known), before)
}

/// Returns the first character of a text that is no white space; `None` for a table that is no text.
fn begins(path: &Path) -> Result<Option<u8>, Failure> {
    const HEAD: u64 = 4096;
    let stream::OpenText { text, budget, origin } = stream::open(path)?;
    budget.renew();
    let mut head = Vec::new();
    text.take(HEAD).read_to_end(&mut head).map_err(|error| origin.refused(error, 1))?;
    Ok(head.iter().copied().find(|byte| !byte.is_ascii_whitespace()))
}

/// Returns the classes that have numbers already.
fn fixed<'a>(
    names: Option<&'a ClassNames>,
    known: Option<&'a ClassTable>,
) -> Option<&'a ClassTable> {
    names.map(ClassNames::table).or(known)
}

#[cfg(test)]
mod tests;
