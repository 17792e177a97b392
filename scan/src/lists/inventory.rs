//! The inventory of a bucket, as S3 writes it: `manifest.json` names the files and their columns.
//!
//! See "Amazon S3 Inventory" in Amazon's documentation. The files are beside the manifest, in the folder `data` beside
//! its folder, or in `data` in its folder.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode;
use serde::Deserialize;
use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    file_format: String,
    file_schema: String,
    files: Vec<ManifestFile>,
}

#[derive(Deserialize)]
struct ManifestFile {
    key: String,
}

/// The files of an inventory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inventory {
    pub(super) files: Vec<PathBuf>,
    /// The columns of CSV files, which have no header; `None` for Parquet.
    pub(super) columns: Option<Vec<String>>,
}

/// Reads the manifest at `path`.
///
/// # Errors
/// Returns an error if it is no manifest of an inventory, for the format ORC, and if a file is missing.
pub(super) fn open(path: &Path) -> Result<Inventory, Failure> {
    let bytes = files::read_whole(path, "read the inventory")?;
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|e| {
        Failure::usage(format!("this is no manifest.json of an S3 inventory: {e}")).in_file(path)
    })?;
    let columns = match manifest.file_format.as_str() {
        "CSV" => {
            Some(manifest.file_schema.split(',').map(|name| name.trim().to_lowercase()).collect())
        }
        "Parquet" => None,
        other => {
            let text = format!(
                "inventories in the format {other} are not read; let S3 write CSV or Parquet"
            );
            return Err(Failure::usage(text).in_file(path));
        }
    };
    let found = manifest.files.iter().map(|file| located(path, &file.key));
    Ok(Inventory { files: found.collect::<Result<_, Failure>>()?, columns })
}

fn located(manifest: &Path, key: &str) -> Result<PathBuf, Failure> {
    let name = key.rsplit('/').next().unwrap_or(key);
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let above = folder.join("..");
    let places = [folder.join(name), folder.join("data").join(name), above.join("data").join(name)];
    for place in &places {
        if files::exists(place)? {
            return Ok(place.clone());
        }
    }
    Err(Failure::usage(message!(
        "{path} names the file {name}, which is neither beside it nor in {}; copy the folder \
         `data` of the inventory, too",
        places[2].shown();
        path = manifest
    ))
    .with_file(manifest))
}

/// Decodes `%20` and `+`, with which the keys in CSV files are written.
pub(super) fn decoded(key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    for (n, piece) in key.split(|&byte| byte == b'+').enumerate() {
        if n > 0 {
            out.push(b' ');
        }
        out.extend(percent_decode(piece));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_files_and_columns() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("data")).unwrap();
        std::fs::create_dir_all(at("2026-01-01T00-00Z")).unwrap();
        let manifest = at("2026-01-01T00-00Z/manifest.json");
        let text = r#"{"sourceBucket": "b", "fileFormat": "CSV", "fileSchema": "Bucket, Key, Size",
                      "files": [{"key": "inv/b/all/data/x.csv.gz", "size": 1}]}"#;
        std::fs::write(&manifest, text).unwrap();
        assert!(open(&manifest).unwrap_err().text().contains("x.csv.gz"));
        std::fs::write(at("data/x.csv.gz"), b"").unwrap();
        let found = open(&manifest).unwrap();
        assert_eq!(found.columns.unwrap(), ["bucket", "key", "size"]);
        assert!(found.files[0].ends_with("../data/x.csv.gz"), "{:?}", found.files);
        std::fs::write(&manifest, text.replace("CSV", "ORC")).unwrap();
        assert!(open(&manifest).unwrap_err().text().contains("ORC"));
    }

    #[test]
    fn keys_are_decoded() {
        let mut out = Vec::new();
        decoded(b"a%20b+c%2Fd%zz.jpg", &mut out);
        assert_eq!(out, b"a b c/d%zz.jpg");
    }
}
