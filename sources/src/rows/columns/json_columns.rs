//! `json=` of a table: the columns that the JSON of a row is made of. Pure.

use tarflume_base::Failure;
use tarflume_table::values::survey::Survey;
use tarflume_table::values::types::ValueKind;

/// The columns that the JSON of a row is made of.
pub(crate) enum JsonColumns {
    /// All that are no parts and not the key.
    Others,
    /// None.
    None,
    /// These are its fields.
    Fields(Vec<usize>),
    /// This one has the JSON itself.
    Whole(usize),
}

impl JsonColumns {
    /// Parses `json=`: `*`, `none`, or names of columns. One column of objects is the JSON itself.
    ///
    /// # Errors
    /// Returns the errors of `column`, which finds a column by its name.
    pub(crate) fn of(
        value: &str,
        survey: &Survey,
        column: &dyn Fn(&str) -> Result<usize, Failure>,
    ) -> Result<JsonColumns, Failure> {
        match value {
            "*" => return Ok(JsonColumns::Others),
            "none" => return Ok(JsonColumns::None),
            _ => {}
        }
        let is_name = survey.names.iter().any(|name| name == value);
        let names: Vec<&str> = if is_name { vec![value] } else { value.split(',').collect() };
        let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, Failure>>()?;
        Ok(match columns[..] {
            [one] if has_objects(one, survey) => JsonColumns::Whole(one),
            _ => JsonColumns::Fields(columns),
        })
    }
}

fn has_objects(at: usize, survey: &Survey) -> bool {
    match survey.types[at].kind {
        ValueKind::Object => true,
        ValueKind::String => survey.objects[at],
        _ => false,
    }
}
