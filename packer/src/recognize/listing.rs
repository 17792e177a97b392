//! `Listing`: the names of some entries of a folder, sorted into files and folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files::{self, FileKind, patiently};
use tarflume_formats::{IMAGE_EXTS, index_path, manifest};
use tarflume_sources::rows::SourceFormat;

/// The endings of compressed tars.
pub(super) const COMPRESSED: [&str; 8] =
    [".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz", ".tar.bz2", ".tbz2"];
/// Entries of a folder that are looked at.
const ENTRIES: usize = 1000;
/// Tables that state the labels of the files beside them without being named.
const METADATA: [&str; 3] = ["metadata.csv", "metadata.jsonl", "metadata.parquet"];

/// Some entries of a folder. Hidden ones are left out.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Subfolders, sorted.
    pub(super) folders: Vec<PathBuf>,
    /// True if there is a manifest.
    pub(super) has_manifest: bool,
    /// True if there is the working folder of a build.
    pub(super) has_work: bool,
    /// Tars that are not compressed.
    pub(super) plain_tars: usize,
    /// Those of them that have no sidecar.
    pub(super) without_sidecar: usize,
    /// Compressed tars without a sidecar.
    pub(super) compressed_tars: usize,
    /// True if there are images.
    pub(super) has_images: bool,
    /// True if there are JSON files, or a table of metadata.
    pub(super) has_json: bool,
    /// The files that are sources, by the words of their kinds.
    pub(super) sources: BTreeMap<&'static str, Vec<PathBuf>>,
    /// The number of other files of each extension.
    pub(super) exts: BTreeMap<String, usize>,
    /// YAML files, sorted.
    pub(super) yaml: Vec<PathBuf>,
}

impl Listing {
    /// Lists a folder.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn of(folder: &Path) -> Result<Listing, Failure> {
        let mut found = Listing::default();
        for entry in
            patiently(|| fs::read_dir(folder)).map_err(|e| unread(e, folder))?.take(ENTRIES)
        {
            let entry = entry.map_err(|e| unread(e, folder))?;
            let kind = entry.file_type().map_err(|e| unread(e, folder))?;
            let kind = if kind.is_symlink() {
                files::kind(&entry.path())?
            } else if kind.is_dir() {
                Some(FileKind::Folder)
            } else if kind.is_file() {
                Some(FileKind::File)
            } else {
                Some(FileKind::Other)
            };
            let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
            match kind {
                Some(FileKind::Folder) if name == ".pack" => found.has_work = true,
                Some(FileKind::Folder) if !name.starts_with('.') => {
                    found.folders.push(entry.path())
                }
                Some(FileKind::File) if !name.starts_with('.') => found.add(entry.path(), &name)?,
                // The error of the open says what is in its place.
                Some(FileKind::Other) if name == manifest::FILE_NAME => found.has_manifest = true,
                _ => {}
            }
        }
        found.folders.sort();
        found.yaml.sort();
        Ok(found)
    }

    fn add(&mut self, path: PathBuf, name: &str) -> Result<(), Failure> {
        if name == manifest::FILE_NAME {
            self.has_manifest = true;
            return Ok(());
        }
        if has_end(&[".tar"], name) || has_end(&COMPRESSED, name) {
            let has_sidecar = files::exists(&index_path(&path))?;
            if has_end(&[".tar"], name) {
                self.plain_tars += 1;
                self.without_sidecar += usize::from(!has_sidecar);
            } else {
                self.compressed_tars += usize::from(!has_sidecar);
            }
            return Ok(());
        }
        let ext = name.rsplit_once('.').map_or("", |(_, ext)| ext);
        if matches!(ext, "yaml" | "yml") {
            self.yaml.push(path.clone());
        }
        self.has_images |= IMAGE_EXTS.contains(&ext);
        self.has_json |= ext == "json" || METADATA.contains(&name);
        // An array and a JSON in a folder are parts of a sample more often than sources.
        let source = SourceFormat::of_file(&path).filter(|kind| {
            !matches!(
                kind,
                SourceFormat::Json | SourceFormat::Npy | SourceFormat::Npz | SourceFormat::Mat
            )
        });
        match source {
            Some(kind) => self.sources.entry(kind.word()).or_default().push(path),
            None if ext.is_empty() || ext == "index" => {}
            None => *self.exts.entry(ext.into()).or_default() += 1,
        }
        Ok(())
    }

    /// Returns true for a data set, or tars that can be one.
    pub(super) fn has_shards(&self) -> bool {
        self.has_manifest || self.plain_tars + self.compressed_tars > 0
    }
}

fn unread(e: std::io::Error, folder: &Path) -> Failure {
    Failure::io(e, "read the folder", folder)
}

fn has_end(ends: &[&str], name: &str) -> bool {
    ends.iter().any(|end| name.ends_with(end))
}
