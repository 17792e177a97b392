//! `LongParts`: parts that are too long to be looked into; only their checksums are compared.

use serde::{Deserialize, Serialize};
use tarflume_base::units;
use tarflume_formats::name;
use tarflume_formats::tar::Member;

/// Parts of a shard that were not looked into.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LongParts {
    parts: u64,
    /// Key and extension of the first one, and its byte.
    first: Option<(String, u64)>,
    /// True if a schema, the classes or their names were to be looked up in one of them.
    pub(crate) was_asked_for: bool,
}

impl LongParts {
    /// Adds a part.
    pub(super) fn add(&mut self, member: &Member, key: &[u8], ext: &[u8], was_asked_for: bool) {
        self.parts += 1;
        self.was_asked_for |= was_asked_for;
        if self.first.is_none() {
            self.first = Some((format!("{}.{}", name::shown(key), name::shown(ext)), member.data));
        }
    }

    /// Returns a sentence about them; `None` if there are none. `limit` is the most bytes of a part that is looked into.
    pub(crate) fn sentence(&self, limit: u64) -> Option<String> {
        let (first, byte) = self.first.as_ref()?;
        let others = match self.parts - 1 {
            0 => String::new(),
            others => format!(" and {}", units::counted(others, "other part", "other parts")),
        };
        Some(format!(
            "{first} at byte {byte}{others} of more than {} bytes: not decoded, nor compared with schemas and classes; \
             their checksums were compared",
            units::count(limit)
        ))
    }
}
