//! Published data sets that names of files tell: the row of docs/DATASETS.md that has their command.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// Entries of a folder that are looked at.
const ENTRIES: usize = 1000;

/// Names of files and folders, in lower case, and the row of the page. A star stands for any text.
const MARKS: [Mark; 18] = [
    Mark("leftimg8bit", "Cityscapes"),
    Mark("list_attr_celeba.txt", "CelebA"),
    Mark("list_attr_celeba.csv", "CelebA of Kaggle"),
    Mark("ilsvrc2012_img_train.tar", "ImageNet, tar of tars"),
    Mark("ilsvrc2012_validation_ground_truth.txt", "ImageNet, val with its ground truth"),
    Mark("loc_val_solution.csv", "ImageNet of Kaggle, val"),
    Mark("wnids.txt", "Tiny ImageNet, train"),
    Mark("image_class_labels.txt", "CUB-200-2011"),
    Mark("places365_val.txt", "Places365, val"),
    Mark("ham10000_metadata.csv", "HAM10000"),
    Mark("data_entry_2017.csv", "ChestX-ray14"),
    Mark("bounding_box_train", "Market-1501"),
    Mark("images_variant_*.txt", "FGVC Aircraft"),
    Mark("instances_*.json", "COCO instances"),
    Mark("lvis_v1_*.json", "LVIS"),
    Mark("panoptic_*.json", "COCO panoptic"),
    Mark("train-annotations-bbox.csv", "Open Images"),
    Mark("annotation_*.odgt", "CrowdHuman"),
];

/// A name, and the row of the page.
#[derive(Debug, Clone, Copy)]
struct Mark(&'static str, &'static str);

impl Mark {
    fn is(self, name: &str) -> bool {
        match self.0.split_once('*') {
            Some((start, end)) => {
                name.len() >= start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            }
            None => name == self.0,
        }
    }
}

/// Returns the row of docs/DATASETS.md for a folder, by the names in it and beside it; `None` if they tell nothing. A folder
/// that cannot be read tells nothing: this advice is part of another error.
#[must_use]
pub fn published(folder: &Path) -> Option<&'static str> {
    let own = folder.file_name().map(OsString::from);
    let folders = [Some(folder), folder.parent()];
    let below = folders.into_iter().flatten().filter_map(|folder| fs::read_dir(folder).ok());
    let names =
        below.flat_map(|entries| entries.take(ENTRIES).flatten().map(|entry| entry.file_name()));
    let names: Vec<String> = own
        .into_iter()
        .chain(names)
        .map(|name| name.to_string_lossy().to_ascii_lowercase())
        .collect();
    let found = MARKS.iter().find(|mark| names.iter().any(|name| mark.is(name)));
    found.map(|Mark(_, row)| *row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_folder_and_beside_it_tell_the_data_set() {
        let place = tempfile::tempdir().unwrap();
        let photos = place.path().join("photos");
        fs::create_dir(&photos).unwrap();
        assert_eq!(published(&photos), None);
        fs::write(place.path().join("images_variant_train.txt"), "").unwrap();
        assert_eq!(published(&photos), Some("FGVC Aircraft"));
        fs::create_dir(photos.join("leftImg8bit")).unwrap();
        assert_eq!(published(&photos), Some("Cityscapes"));
        assert_eq!(published(&place.path().join("none")), Some("FGVC Aircraft"));
    }

    #[test]
    fn the_page_has_each_row() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/DATASETS.md");
        let page = fs::read_to_string(page).unwrap();
        for Mark(_, row) in MARKS {
            assert!(page.contains(&format!("| {row} |")), "{row}");
        }
    }
}
