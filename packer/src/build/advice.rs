//! The advice for images without JSON, by what their folders have: classes, or a table.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::recognize::{PathKind, Samples, already_packed, published, recognize};

/// Returns where the command is for folders of a published data set; nothing for others.
pub(super) fn of_published(roots: &[PathBuf]) -> Message {
    match roots.iter().find_map(|root| published(root)) {
        Some(row) => message!("; this looks like '{row}', whose command is in docs/DATASETS.md"),
        None => Message::default(),
    }
}

/// Returns what to do with folders of images in which no sample has a JSON.
pub(super) fn without_json(roots: &[PathBuf]) -> Message {
    let advice = by_content(roots);
    message!("{advice}{published}"; advice = advice, published = of_published(roots))
}

fn by_content(roots: &[PathBuf]) -> Message {
    let found: Vec<Samples> = roots.iter().filter_map(|root| samples(root)).collect();
    let alone = message!("{require} to pack the images alone"; require = Name::Require.is("image"));
    let label = found.iter().find_map(|samples| samples.labels.label.as_ref());
    if let Some(label) = label {
        return message!("no sample has a JSON: give {label_option} to make each image's folder its class, or {alone}"; alone = alone, label_option = Name::Label.is(label.to_string()));
    }
    match found.iter().find_map(|samples| samples.table.as_ref()) {
        Some(table) => {
            message!("no sample has a JSON: give {join} to take it from the table, or {alone}"; alone = alone, join = Name::Join.is(table))
        }
        None => {
            message!("no sample has a JSON, and no folders name classes: give {alone}"; alone = alone)
        }
    }
}

/// Refuses folders in which no sample was found because they hold shards.
///
/// # Errors
/// Returns an error that names the command for shards.
pub(super) fn refuse_packed(roots: &[PathBuf], out: &Path) -> Result<(), Failure> {
    for root in roots {
        let kind = recognize(root)?;
        // A tar is a source: `pack reshard` names its shards.
        let holds_shards =
            matches!(kind, PathKind::DataSet | PathKind::Tars { .. } | PathKind::Parent(_));
        let failure = already_packed(root, &kind, out).filter(|_| holds_shards);
        failure.map_or(Ok(()), Err)?;
    }
    Ok(())
}

fn samples(root: &Path) -> Option<Samples> {
    // The advice is part of another error, which is the one to show if the folder cannot be read.
    match recognize(root).ok()? {
        PathKind::Samples(samples) => Some(samples),
        _ => None,
    }
}
