//! The types of the columns of a source that is one table in several files.

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::name;
use tarflume_formats::shown::ShowPath;
use tarflume_table::values::numbers::Numbers;
use tarflume_table::values::survey::Survey;
use tarflume_table::values::types::{Inferred, ValueKind};

use crate::rows::url::{SourceFormat, SourceUrl};

/// Decides the types of the columns of all tables of a source, which are one table in several files. Texts in one are
/// texts in all, and so are numbers that no type holds together.
///
/// # Errors
/// Returns an error for a column whose types exclude each other.
pub(crate) fn agreed(source: &SourceUrl, surveys: &mut [Survey]) -> Result<Vec<Joint>, Failure> {
    let mut all: Vec<Joint> = Vec::new();
    for (file, survey) in surveys.iter().enumerate() {
        for (at, name) in survey.names.iter().enumerate() {
            let inferred = survey.types[at];
            let numbers = &survey.numbers[at];
            // A column without values has the type of texts.
            let has_values = inferred.kind != ValueKind::String || !survey.whole[at];
            let Some(joint) = all.iter_mut().find(|joint| joint.name == *name) else {
                all.push(Joint {
                    name: name.clone(),
                    inferred,
                    numbers: numbers.clone(),
                    file,
                    has_values,
                });
                continue;
            };
            joint.inferred.nullable |= inferred.nullable;
            if !has_values || !joint.has_values {
                if has_values {
                    let nullable = joint.inferred.nullable;
                    joint.inferred = Inferred { nullable, ..inferred };
                    joint.numbers.clone_from(numbers);
                }
                joint.has_values |= has_values;
                continue;
            }
            let known = joint.inferred.kind;
            let are_numbers = joint.numbers.are_all(known) && numbers.are_all(inferred.kind);
            joint.numbers.join(numbers);
            joint.inferred.kind = match (known, inferred.kind) {
                _ if are_numbers => joint.numbers.kind(),
                (known, here) if known == here => known,
                // The words of a table without types are texts, too.
                _ if source.kind == SourceFormat::Csv => ValueKind::String,
                (known, here) => {
                    return Err(Failure::usage(format!(
                        "column '{name}' is {} in {} and {} in {}; give it one type in all tables",
                        known.word(),
                        source.files[joint.file].shown(),
                        here.word(),
                        source.files[file].shown()
                    )));
                }
            };
        }
    }
    for survey in surveys {
        for (name, inferred) in survey.names.iter().zip(&mut survey.types) {
            if inferred.kind == ValueKind::String {
                continue;
            }
            let mut texts = all.iter().filter(|joint| joint.inferred.kind == ValueKind::String);
            let Some(joint) = texts.find(|joint| joint.name == *name) else { continue };
            inferred.kind = ValueKind::String;
            let told = joint.numbers.told(name);
            let note = told.unwrap_or_else(|| {
                message!("column '{}' is text, as in another file", name::shown(name.as_bytes()))
            });
            survey.notes.push(note);
        }
    }
    Ok(all)
}

/// A column of all tables of a source.
pub(crate) struct Joint {
    pub(crate) name: String,
    pub(crate) inferred: Inferred,
    numbers: Numbers,
    /// The first table that has it.
    file: usize,
    has_values: bool,
}
