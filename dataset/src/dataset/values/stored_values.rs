//! `StoredValues`: a typed column of the sidecars of a data set, as loaders and tables read it.
//!
//! Manifests list the columns; a sidecar that lacks one is an error when its value is needed. Reads no tar.

use tarflume_formats::index::{ColumnSpec, Value};
use tarflume_formats::name;
use tarflume_types::Result;

use crate::dataset::Dataset;
use crate::dataset::shard::proof_pass::{ProofNeeds, ProofPass};

/// A typed column of all sidecars.
#[derive(Debug, Clone)]
pub struct StoredValues {
    dataset: Dataset,
    spec: ColumnSpec,
}

impl Dataset {
    /// The typed columns that all sidecars have, by the manifests: those of `pack build --columns` and
    /// `pack index --columns`.
    ///
    /// ```
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let dataset = tarflume::Dataset::open(shards)?;
    /// assert!(dataset.typed_columns().is_empty()); // it was packed without --columns
    /// # Ok::<(), tarflume::Error>(())
    /// ```
    pub fn typed_columns(&self) -> &[ColumnSpec] {
        &self.0.about.columns
    }

    /// The typed column whose values are at this place of the samples.
    #[doc(hidden)]
    pub fn stored_values(&self, ext: &str, pointer: Option<&str>) -> Option<StoredValues> {
        let ext = ext.trim_start_matches('.').to_ascii_lowercase();
        let spec = self
            .typed_columns()
            .iter()
            .find(|spec| spec.ext == ext && spec.pointer.as_deref() == pointer);
        spec.map(|spec| StoredValues { dataset: self.clone(), spec: spec.clone() })
    }
}

impl StoredValues {
    /// Name, type and place.
    pub fn spec(&self) -> &ColumnSpec {
        &self.spec
    }

    /// The value of a sample; `None` if it has none. A text is copied into `text`. The caller has compared the part that
    /// the value was copied from, if [`Shard::must_compare`](crate::Shard::must_compare) says so.
    ///
    /// # Errors
    /// The sidecar cannot be read, or lacks the column.
    pub fn of<'t>(&self, ordinal: u64, text: &'t mut Vec<u8>) -> Result<Option<Value<'t>>> {
        let (number, row) = self.dataset.place_of(ordinal)?;
        self.dataset.shard(number).value(&self.spec, row, text)
    }

    /// Calls `each` with the value of every sample, in the order of ordinals.
    ///
    /// # Errors
    /// Those of `each`, and as [`StoredValues::of`].
    pub fn each(&self, mut each: impl FnMut(Option<Value<'_>>) -> Result<()>) -> Result<()> {
        let mut text = Vec::new();
        for (number, shard) in self.dataset.shards().iter().enumerate() {
            self.dataset.learn_ahead(number);
            let index = shard.index()?;
            let column = shard.column(&self.spec)?;
            let needs = ProofNeeds { exts: vec![self.spec.ext.clone()], ..ProofNeeds::default() };
            let mut proofs = ProofPass::new(shard, needs);
            for row in 0..shard.samples() {
                proofs.prove(row, false)?;
                // Through the map, whose pages are released after the pass.
                let value = index.value(column, row, &mut text)?;
                if let Err(error) = each(value) {
                    let key = name::shown(index.key(row)?);
                    return Err(error.with_path(shard.path()).with_key(key));
                }
            }
            shard.forget();
        }
        Ok(())
    }
}
