//! Which texts are JSON: the rules that a build records in its plan and manifest, and the advice of errors.

use std::path::Path;

use tarflume_formats::json::{JsonFault, JsonRules, check};
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::publish::folder_of;
use tarflume_formats::{Manifest, Result, files, read_manifest};

use crate::options::choice::Choice;

/// What to do with a text that only Python reads as JSON.
pub fn remedy() -> Message {
    message!("{rules} reads it as Python does"; rules = Name::JsonRules.is("python"))
}
/// The name of the rules among the options of a plan.
const OPTION: &str = "json_rules";

impl Choice for JsonRules {
    const ALL: &'static [JsonRules] = JsonRules::ALL;

    fn word(self) -> &'static str {
        JsonRules::word(self)
    }
}

/// Returns the rules in the options of a plan.
pub fn of_options(options: &serde_json::Value) -> JsonRules {
    let word = options.get(OPTION).and_then(serde_json::Value::as_str);
    word.and_then(JsonRules::from_word).unwrap_or_default()
}

/// Returns the rules with which a data set was packed; the strict ones, which accept least, if it records none or a word
/// of a later version.
pub fn of_manifest(manifest: Option<&Manifest>) -> JsonRules {
    let Some(manifest) = manifest else { return JsonRules::Strict };
    match (&manifest.options, &manifest.json_rules) {
        (Some(options), _) => of_options(options),
        (None, Some(word)) => JsonRules::from_word(word).unwrap_or_default(),
        (None, None) => JsonRules::Strict,
    }
}

/// Returns the word of rules for a manifest or a plan; the strict rules have none.
pub fn planned(rules: JsonRules) -> Option<String> {
    (rules != JsonRules::Strict).then(|| rules.word().into())
}

/// Records the rules in a manifest: in its options, if it has some.
pub fn record(rules: JsonRules, manifest: &mut Manifest) {
    match manifest.options.as_mut().and_then(serde_json::Value::as_object_mut) {
        Some(options) if rules == JsonRules::Python => {
            options.insert(OPTION.into(), rules.word().into());
        }
        Some(_) => {}
        None => manifest.json_rules = planned(rules),
    }
}

/// Returns the rules with which the data set in a folder was packed; the strict ones if no manifest there can be read.
///
/// # Errors
/// Returns an error if the operating system does not answer.
pub fn of_folder(folder: &Path) -> Result<JsonRules> {
    let path = folder.join(FILE_NAME);
    if !files::exists(&path)? {
        return Ok(JsonRules::Strict);
    }
    match read_manifest(&path) {
        Ok(manifest) => Ok(of_manifest(Some(&manifest))),
        Err(error) if error.blame().is_machine() => Err(error),
        Err(_) => Ok(JsonRules::Strict), // reading the data set reports it
    }
}

/// Returns the rules with which the data sets of these tars were packed: Python's, if one of them was packed with those.
///
/// # Errors
/// As [`of_folder`].
pub fn beside<'t>(tars: impl IntoIterator<Item = &'t Path>) -> Result<JsonRules> {
    let mut last = None;
    for tar in tars {
        let folder = folder_of(tar);
        if last.replace(folder) != Some(folder) && of_folder(folder)? == JsonRules::Python {
            return Ok(JsonRules::Python);
        }
    }
    Ok(JsonRules::Strict)
}

/// Refuses a JSON file of the user in which an object has a name twice: serde, which reads it, keeps the last value. What
/// else is wrong with it is left to the reading.
///
/// # Errors
/// Returns the reason.
pub fn check_names(json: &[u8]) -> std::result::Result<(), Message> {
    match check(json, JsonRules::Strict) {
        Err(fault) if fault.is_repeated_name => Err(message!("{fault}; remove one")),
        _ => Ok(()),
    }
}

/// Returns the sentence for a fault, with its byte.
pub fn sentence(fault: &JsonFault) -> Message {
    message!("{why}, at byte {} of the part", fault.byte; why = fault.advised(remedy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_name_is_refused_with_its_byte_and_nothing_else() {
        let why = check_names(br#"{"cat": 0, "dog": 1, "cat": 2}"#).unwrap_err();
        assert!(
            why.text().contains("'cat' occurs twice") && why.text().contains("at byte 21"),
            "{why:?}"
        );
        for text in [r#"{"cat": 0, "dog": {"cat": 2}}"#, "cat\ndog\n", "{"] {
            assert_eq!(check_names(text.as_bytes()), Ok(()), "{text}");
        }
    }
}
