//! `Unplanned`: what the manifest of a data set without a plan states beside its shards. Reads nothing.

use tarflume_formats::Manifest;
use tarflume_formats::json::JsonRules;

use crate::check::CheckLevel;
use crate::columns::Columns;
use crate::options::choice::Choice;
use crate::options::json_rules;

/// How the shards of a data set without a plan were written.
#[derive(Debug, Clone, Default)]
pub struct Unplanned {
    /// The typed columns that all sidecars have.
    pub columns: Columns,
    /// Which texts are JSON.
    pub json: JsonRules,
    /// How parts were checked; `None` if that is not known.
    pub check: Option<CheckLevel>,
}

impl Unplanned {
    /// Writes it into a manifest.
    pub fn state(&self, manifest: &mut Manifest) {
        manifest.sidecar_columns = self.columns.texts();
        manifest.json_rules = json_rules::planned(self.json);
        manifest.check = self.check.map(|level| level.word().into());
    }

    /// Returns what holds for several data sets, of which these are the manifests: the rules that accept more, and the
    /// check that all of them had. The columns are left to the caller, who has the sidecars.
    pub fn shared<'m>(manifests: impl IntoIterator<Item = &'m Manifest>) -> Unplanned {
        let mut json = JsonRules::Strict;
        let mut checks = Vec::new();
        for manifest in manifests {
            if json_rules::of_manifest(Some(manifest)) == JsonRules::Python {
                json = JsonRules::Python;
            }
            checks.push(check_of(manifest));
        }
        // `None` is less than every level.
        let check = checks.into_iter().min().flatten();
        Unplanned { columns: Columns::default(), json, check }
    }
}

/// Returns the level at which the parts of a data set were checked when they were packed; `None` if its manifest does
/// not state it.
pub fn check_of(manifest: &Manifest) -> Option<CheckLevel> {
    let word = match &manifest.options {
        Some(options) => options.get("check").and_then(serde_json::Value::as_str),
        None => manifest.check.as_deref(),
    };
    word.and_then(CheckLevel::from_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(json: &str, check: Option<&str>, options: bool) -> Manifest {
        let mut manifest = Manifest::new("pack 0", None, Default::default(), Vec::new());
        if options {
            manifest.options = Some(serde_json::json!({"json_rules": json, "check": check}));
        } else {
            manifest.json_rules = Some(json.into());
            manifest.check = check.map(String::from);
        }
        manifest
    }

    #[test]
    fn several_data_sets_share_the_wider_rules_and_the_lower_check() {
        use CheckLevel::{Decode, None as Unchecked, Structure};
        for options in [false, true] {
            let of = |json, check| manifest(json, check, options);
            let strict = of("strict", Some("decode"));
            for (other, json, check) in [
                (of("strict", Some("structure")), JsonRules::Strict, Some(Structure)),
                (of("python", Some("decode")), JsonRules::Python, Some(Decode)),
                (of("python", Some("none")), JsonRules::Python, Some(Unchecked)),
                (of("strict", None), JsonRules::Strict, None),
            ] {
                let shared = Unplanned::shared([&strict, &other]);
                assert_eq!((shared.json, shared.check), (json, check));
                let mut stated = Manifest::new("pack 0", None, Default::default(), Vec::new());
                shared.state(&mut stated);
                assert_eq!(json_rules::of_manifest(Some(&stated)), json);
                assert_eq!(check_of(&stated), check);
            }
        }
    }
}
