//! The classes that Hugging Face's `datasets` notes in a file. Pure.

use tarflume_formats::ClassTable;

/// Returns the classes of the one `ClassLabel` among the features of a note.
pub(crate) fn of_note(note: &str) -> Option<ClassTable> {
    let parsed: serde_json::Value = serde_json::from_str(note).ok()?;
    let features = parsed.get("info")?.get("features")?.as_object()?;
    let mut labels = features.iter().filter(|(_, feature)| {
        feature.get("_type").and_then(|kind| kind.as_str()) == Some("ClassLabel")
    });
    let (name, feature) = labels.next().filter(|_| labels.next().is_none())?;
    let names = feature.get("names")?.as_array()?.iter();
    let names = names.map(|name| Some(name.as_str()?.to_string())).collect::<Option<Vec<_>>>()?;
    Some(ClassTable { pointer: format!("/{name}"), names, ..ClassTable::default() })
}
