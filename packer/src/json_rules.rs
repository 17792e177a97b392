//! Which texts are JSON: the rules that a build records in its plan and manifest, and the advice of errors.

use tarflume_formats::Manifest;
use tarflume_formats::json::{JsonFault, JsonRules};

use crate::choice::Choice;

/// What to do with a text that only Python reads as JSON.
pub(crate) const REMEDY: &str = "--json-rules python reads it as Python does";
/// The name of the rules among the options of a plan.
const OPTION: &str = "json_rules";

impl Choice for JsonRules {
    const ALL: &'static [JsonRules] = JsonRules::ALL;

    fn word(self) -> &'static str {
        JsonRules::word(self)
    }
}

/// Returns the rules in the options of a plan.
pub(crate) fn of_options(options: &serde_json::Value) -> JsonRules {
    let word = options.get(OPTION).and_then(serde_json::Value::as_str);
    word.and_then(JsonRules::from_word).unwrap_or_default()
}

/// Returns the rules with which a data set was packed; the strict ones if it records none.
pub(crate) fn of_manifest(manifest: Option<&Manifest>) -> JsonRules {
    let options = manifest.and_then(|manifest| manifest.options.as_ref());
    options.map(of_options).unwrap_or_default()
}

/// Returns the sentence for a fault, with its byte.
pub(crate) fn sentence(fault: &JsonFault) -> String {
    format!("{}, at byte {} of the part", fault.advised(REMEDY), fault.byte)
}
