//! YOLO's folders: `images` with `labels` beside them, for each split or with a folder for each split. Pure.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::labels::{FolderLabels, Places};

const IMAGES: &str = "images";
const LABELS: &str = "labels";

/// What a build of YOLO's folders needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YoloFolders {
    /// The pattern of the images, with the part that they become.
    pub pattern: String,
    /// The file with the names of classes.
    pub names: Option<PathBuf>,
    /// The value of `--split-by`, if folders name splits.
    pub split_by: Option<String>,
}

impl YoloFolders {
    /// Returns what a build needs; `None` if a folder of images has no folder of label files. `texts` are the places of .txt
    /// files, `ext` is the extension of most images, and `yaml` the YAML files in the first folder.
    pub(super) fn of(
        places: &Places,
        texts: &BTreeSet<Vec<String>>,
        ext: &str,
        yaml: &[PathBuf],
    ) -> Option<YoloFolders> {
        let at = places.first()?.iter().rposition(|name| name == IMAGES)?;
        let has_labels = places.iter().all(|place| {
            let mut beside = place.clone();
            let Some(name) = beside.get_mut(at).filter(|name| *name == IMAGES) else {
                return false;
            };
            *name = LABELS.into();
            texts.contains(&beside)
        });
        if !has_labels {
            return None;
        }
        let before = if at == 0 { "" } else { "*/" };
        let part = if ext == "jpeg" { "jpg" } else { ext };
        let level = FolderLabels::of(places)
            .split_by
            .and_then(|by| by.strip_prefix("folder=")?.parse::<usize>().ok());
        Some(YoloFolders {
            pattern: format!("{before}{IMAGES}/*={part}"),
            names: yaml.first().cloned().filter(|_| yaml.len() == 1),
            split_by: level.map(|level| format!("folder={}", level - usize::from(level > at + 1))),
        })
    }
}
