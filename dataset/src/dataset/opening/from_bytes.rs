//! `Dataset::from_bytes`: a data set of which nothing is a file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::{Index, Manifest, index_path};
use tarflume_types::{Error, Result};

use crate::dataset::opening::access::FileAccess;
use crate::dataset::shard::ShardFacts;
use crate::dataset::{Dataset, DatasetFacts};
use crate::source::open::Open;

impl Dataset {
    /// A data set whose manifest and sidecars are in memory, and whose tars `opener` opens. `manifest` is the text of
    /// `dataset.json`, `sidecars` has the bytes of each sidecar under its name (`train-000000.index`). `opener` gets the
    /// names of the tars as the manifest lists them (`train-000000.tar`).
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::path::Path;
    /// use std::sync::Arc;
    ///
    /// use tarflume::{Dataset, Identity, MemorySource, Open, Result, Source};
    ///
    /// /// Tars in memory.
    /// #[derive(Debug)]
    /// struct Tars(HashMap<String, MemorySource>);
    ///
    /// impl Open for Tars {
    ///     fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
    ///         let name = path.display().to_string();
    ///         let tar = self.0[&name].clone();
    ///         let identity = Identity::of_object(&name, tar.len());
    ///         Ok((Arc::new(tar), identity))
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let manifest = std::fs::read(shards.join("dataset.json"))?; // or from a database, an archive, a network
    /// let mut sidecars = HashMap::new();
    /// let mut tars = HashMap::new();
    /// for name in ["000", "001"] {
    ///     sidecars.insert(format!("{name}.index"), std::fs::read(shards.join(format!("{name}.index")))?);
    ///     let tar = std::fs::read(shards.join(format!("{name}.tar")))?;
    ///     tars.insert(format!("{name}.tar"), MemorySource::new(tar));
    /// }
    /// let dataset = Dataset::from_bytes(&manifest, sidecars, Arc::new(Tars(tars)))?;
    /// assert_eq!(dataset.get(3)?.part("txt").unwrap().as_slice(), b"photo 3");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the manifest is damaged, or a sidecar is missing, damaged, or not that of the manifest.
    pub fn from_bytes(
        manifest: &[u8],
        mut sidecars: HashMap<String, Vec<u8>>,
        opener: Arc<dyn Open>,
    ) -> Result<Dataset> {
        let manifest = Manifest::from_json(manifest).map_err(|e| e.with_path(FILE_NAME))?;
        let about = DatasetFacts::of(&manifest);
        let folder: Arc<Path> = Path::new("").into();
        let mut facts = Vec::with_capacity(manifest.shards.len());
        for entry in manifest.shards {
            let name = index_path(Path::new(&entry.name)).to_string_lossy().into_owned();
            let bytes = sidecars.remove(&name).ok_or_else(|| {
                let text = "the manifest lists a tar whose sidecar is not among the given ones";
                Error::usage(text).with_path(&name)
            })?;
            let index = Index::from_bytes(bytes).map_err(|e| e.with_path(&name))?;
            let shard = ShardFacts::in_memory(&folder, entry, index);
            facts.push(Arc::new(shard.map_err(|e| e.with_path(&name))?));
        }
        let dataset = Dataset::of(facts, about, FileAccess::default())?;
        Ok(dataset.with_opener(opener))
    }
}
