//! One COCO file of the annotations of a data set: `images`, `annotations`, `categories`.
//!
//! The samples are read three times: for what their lists are (`plan`), for the images, and for the annotations
//! (`objects`). What a COCO file stated is written as it was.

mod objects;
mod plan;
mod walk;

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::{create_folders, folder_of, sweep, sync_folder};
use tarflume_formats::{ClassTable, Durability, IMAGE_EXTS};

use self::objects::Objects;
use self::plan::Plan;
use self::walk::each;
use crate::export::job::{Exported, Job, from_the_start};
use crate::export::out_file::OutFile;
use crate::export::row::ExportRow;

/// Writes the file.
///
/// # Errors
/// Returns an error if no sample has objects, if relative boxes have pictures of unknown size, if a JSON cannot be read,
/// or if the operating system refuses.
pub(crate) fn export(job: &Job<'_>, out: &Path) -> Result<Exported, Failure> {
    if job.options.file_size.is_some() {
        return Err(Failure::usage(
            message!("annotations are one file: leave out {shard_size}"; shard_size = Name::ShardSize),
        ));
    }
    let plan = Plan::of(job)?;
    let bytes = write(job, out, &plan).map_err(from_the_start)?;
    Ok(Exported { files: 1, bytes, ..Exported::default() })
}

/// Writes the file; returns its bytes.
fn write(job: &Job<'_>, out: &Path, plan: &Plan<'_>) -> Result<u64, Failure> {
    create_folders(folder_of(out))?;
    sweep(folder_of(out))?;
    let mut list = List { file: OutFile::create(out)?, is_first: true };
    list.begin("{\n\"images\": [")?;
    each(job, |number, row| list.add(&Value::Object(image(number, row, plan)?)))?;
    list.begin("\n],\n\"annotations\": [")?;
    let mut objects = Objects::new(plan);
    each(job, |number, row| {
        let annotations = objects.of(number, row)?;
        annotations.into_iter().try_for_each(|one| list.add(&Value::Object(one)))?;
        (job.on_bytes)(row.bytes);
        Ok(())
    })?;
    if let Some(classes) = plan.classes {
        list.begin("\n],\n\"categories\": [")?;
        categories(classes).try_for_each(|one| list.add(&Value::Object(one)))?;
    }
    list.file.put(b"\n]\n}\n")?;
    let bytes = list.file.publish(job.options.durability)?;
    if job.options.durability == Durability::Synced {
        sync_folder(folder_of(out))?;
    }
    Ok(bytes)
}

/// A list of objects, one on each line.
struct List {
    file: OutFile,
    is_first: bool,
}

impl List {
    /// Writes what is before the first object.
    fn begin(&mut self, text: &str) -> Result<(), Failure> {
        self.is_first = true;
        self.file.put(text.as_bytes())
    }

    fn add(&mut self, object: &Value) -> Result<(), Failure> {
        let before = if self.is_first { "\n" } else { ",\n" };
        self.is_first = false;
        self.file.put(before.as_bytes())?;
        self.file.put(object.to_string().as_bytes())
    }
}

/// Returns the image of a sample: the fields that are no lists of objects, with an id, a file name and the size.
fn image(number: u64, row: &mut ExportRow<'_, '_>, plan: &Plan<'_>) -> Result<Object, Failure> {
    let mut image = row.object()?;
    image.retain(|name, value| !plan.is_list(name) && !value.is_null());
    if !plan.keeps_image_ids {
        image.insert("id".into(), number.into());
    }
    if !image.contains_key("file_name") && !image.contains_key("coco_url") {
        image.insert("file_name".into(), file_name(row)?.into());
    }
    if let Some((width, height)) = row.sample.dimensions {
        image.entry("width".into()).or_insert(u64::from(width).into());
        image.entry("height".into()).or_insert(u64::from(height).into());
    }
    Ok(image)
}

/// Returns the key with the extension of the first picture.
fn file_name(row: &ExportRow<'_, '_>) -> Result<String, Failure> {
    let key = row.key()?;
    for part in row.sample.parts() {
        let part = part?;
        if IMAGE_EXTS.iter().any(|ext| ext.as_bytes() == part.ext) {
            return Ok(format!("{key}.{}", String::from_utf8_lossy(part.ext)));
        }
    }
    Ok(key.to_string())
}

/// Returns the categories with all that the source stated about them.
fn categories(classes: &ClassTable) -> impl Iterator<Item = Object> {
    classes.names.iter().enumerate().map(|(position, name)| {
        let details = classes.details.get(position).cloned().unwrap_or_default();
        let mut category: Object =
            details.into_iter().map(|(name, value)| (name, value.into())).collect();
        category.insert("id".into(), classes.id(position).into());
        category.insert("name".into(), name.as_str().into());
        category
    })
}
