//! What is found of all samples, for comparison with what is expected.

use std::collections::BTreeMap;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{About, Index};

use crate::class_field::ClassCounts;
use crate::expect::{ContentDigest, Expect, ExpectedShard, ExpectedTables};
use crate::pointers::NotPulled;
use crate::verify::options::Options;
use crate::verify::sets::file_name;

/// What is found of all samples, for comparison with what is expected.
#[derive(Debug, Default)]
pub(in crate::verify) struct FoundSamples {
    pub(in crate::verify) content: ContentDigest,
    pub(in crate::verify) classes: ClassCounts,
    pub(in crate::verify) shards: Vec<ExpectedShard>,
    /// The classes and columns that the manifests state.
    pub(in crate::verify) tables: Vec<About>,
    /// Objects of samples, if they are checked.
    pub(in crate::verify) objects: u64,
    /// The first shard whose sidecar has no checksums.
    pub(in crate::verify) without_checksums: Option<String>,
    /// Tars that were not pulled.
    pub(in crate::verify) not_pulled: NotPulled,
}

impl FoundSamples {
    /// Adds a shard.
    ///
    /// # Errors
    /// Returns an error if its sidecar is damaged.
    pub(in crate::verify) fn add(&mut self, path: &Path, index: &Index) -> Result<(), Failure> {
        self.content.add(index)?;
        self.shards.push(ExpectedShard {
            name: file_name(path),
            samples: index.samples(),
            blake3: index.tar().digest.map(|digest| digest.to_hex().to_string()),
        });
        Ok(())
    }

    /// Returns what was found, in the form of an expectation.
    ///
    /// # Errors
    /// Returns an error if there are too many classes.
    pub(in crate::verify) fn expect(
        self,
        samples: u64,
        extensions: &BTreeMap<String, u64>,
        options: &Options,
    ) -> Result<Expect, Failure> {
        if self.classes.is_too_many {
            let text = message!("more than 100,000 different classes: name another field with {class}"; class = Name::Class);
            return Err(Failure::usage(text));
        }
        let class = options.class.as_ref();
        let tables = ExpectedTables::shared(&self.tables);
        Ok(Expect::new(Expect {
            samples: Some(samples),
            content: self.content.hex(),
            extensions: Some(extensions.clone()),
            class: class.map(ToString::to_string),
            classes: class.map(|_| self.classes.counts),
            class_table: tables.classes,
            columns: tables.columns,
            tables_differ: tables.differ,
            shards: Some(self.shards),
            ..Expect::default()
        }))
    }
}
