//! What a folder is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tarflume_base::Failure;
use tarflume_formats::{IMAGE_EXTS, files};
use tarflume_sources::rows::is_zarr;

use super::kind::{PathKind, Samples};
use super::labels::{FolderLabels, Places};
use super::listing::Listing;
use super::yolo::YoloFolders;

/// Folders that are listed.
const FOLDERS: usize = 64;
/// How deep they are below the first one.
const DEPTH: usize = 5;
/// The index of folders of MDS and LitData, and the largest one that is read.
const INDEX: &str = "index.json";
const INDEX_MAX: u64 = 16 << 20;
/// The kinds of tables that state labels of files beside them.
const TABLES: [&str; 3] = ["csv", "jsonl", "parquet"];

/// Returns what a folder is.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub(super) fn recognize(path: &Path) -> Result<PathKind, Failure> {
    let top = Listing::of(path)?;
    if top.has_manifest {
        return Ok(PathKind::DataSet);
    }
    if top.has_work {
        return Ok(PathKind::Unfinished);
    }
    if top.plain_tars + top.compressed_tars > 0 {
        return Ok(PathKind::Tars {
            plain: top.plain_tars,
            without_sidecar: top.without_sidecar,
            compressed: top.compressed_tars,
        });
    }
    if is_zarr(path)? {
        return Ok(PathKind::Source { word: "zarr", is_folder: true });
    }
    if let Some(word) = foreign(&path.join(INDEX))? {
        return Ok(PathKind::Source { word, is_folder: true });
    }
    let below = Below::of(path, top)?;
    if !below.shards.is_empty() && !below.top_has_images {
        return Ok(PathKind::Parent(below.shards));
    }
    Ok(below.kind())
}

/// Returns the kind of source of a folder with this index, if it is one.
fn foreign(index: &Path) -> Result<Option<&'static str>, Failure> {
    if !files::exists(index)? || files::metadata(index, "examine")?.len() > INDEX_MAX {
        return Ok(None);
    }
    let json = serde_json::from_slice::<Value>(&files::read_whole(index, "read")?);
    let Ok(json) = json else { return Ok(None) }; // another file of this name
    if json.get("shards").is_some_and(Value::is_array) {
        return Ok(Some("mds"));
    }
    Ok(json.get("chunks").is_some_and(Value::is_array).then_some("litdata"))
}

/// What a folder and those below it have.
#[derive(Debug, Default)]
struct Below {
    /// Folders with data sets or tars.
    shards: Vec<PathBuf>,
    top_has_images: bool,
    has_json: bool,
    /// Places of images.
    places: Places,
    /// The sources of the first folder.
    sources: BTreeMap<&'static str, Vec<PathBuf>>,
    /// The number of other files of each extension.
    exts: BTreeMap<String, usize>,
    /// Places of .txt files.
    texts: BTreeSet<Vec<String>>,
    /// The YAML files of the first folder.
    yaml: Vec<PathBuf>,
}

impl Below {
    /// Lists folders, those nearest to the first one first.
    fn of(path: &Path, top: Listing) -> Result<Below, Failure> {
        let mut below = Below { top_has_images: top.has_images, ..Below::default() };
        let mut waiting = VecDeque::from([(Vec::new(), path.to_path_buf(), Some(top))]);
        let mut listed = 0;
        while let Some((place, folder, listing)) = waiting.pop_front() {
            if listed == FOLDERS {
                break;
            }
            listed += 1;
            let listing = match listing {
                Some(listing) => listing,
                None => Listing::of(&folder)?,
            };
            if listing.has_shards() {
                below.shards.push(folder);
                continue;
            }
            below.has_json |= listing.has_json;
            if listing.exts.contains_key("txt") {
                below.texts.insert(place.clone());
            }
            for (ext, files) in listing.exts {
                *below.exts.entry(ext).or_default() += files;
            }
            for next in listing.folders.into_iter().filter(|_| place.len() < DEPTH) {
                let name = next.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let deeper = place.iter().cloned().chain([name]).collect();
                waiting.push_back((deeper, next, None));
            }
            if place.is_empty() {
                below.sources = listing.sources;
                below.yaml = listing.yaml;
            }
            if listing.has_images {
                below.places.insert(place);
            }
        }
        Ok(below)
    }

    fn kind(self) -> PathKind {
        let has_images = !self.places.is_empty();
        let many = self.sources.iter().max_by_key(|(_, files)| files.len()).map(|(word, _)| *word);
        if let Some(word) = many.filter(|_| !has_images) {
            return PathKind::Source { word, is_folder: true };
        }
        let most =
            self.exts.iter().filter(|(ext, _)| *ext != "json").max_by_key(|(_, files)| **files);
        let Some((ext, _)) = most else { return PathKind::Empty };
        let tables: Vec<&PathBuf> =
            TABLES.iter().filter_map(|word| self.sources.get(word)).flatten().collect();
        let images = self.exts.iter().filter(|(ext, _)| IMAGE_EXTS.contains(&ext.as_str()));
        let image = images.max_by_key(|(_, files)| **files);
        let yolo =
            image.and_then(|(ext, _)| YoloFolders::of(&self.places, &self.texts, ext, &self.yaml));
        PathKind::Samples(Samples {
            yolo,
            has_images,
            ext: ext.clone(),
            has_json: self.has_json,
            table: match tables[..] {
                [one] => Some(one.clone()),
                _ => None,
            },
            labels: FolderLabels::of(&self.places),
        })
    }
}
