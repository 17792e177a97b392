//! `Described`: the columns that the samples of several sources have, as each source states them. Pure.

use tarflume_base::Failure;
use tarflume_base::array_note::array_bytes;
use tarflume_formats::{About, Column};

/// Whether all samples of a source have its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// They have: the source is an array, or a table with a header.
    All,
    /// Each sample has those that its record has: JSON lines and TFRecord.
    Some,
}

/// The samples of a source, or of one of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    name: String,
    has: Columns,
    columns: Vec<String>,
}

/// A column that the samples of one source have and those of another have not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stacked {
    /// The column.
    pub column: String,
    /// The source that has it.
    pub with: String,
    /// The source that has it not.
    pub without: String,
}

/// The columns of all sources.
#[derive(Debug, Default)]
pub struct Described {
    groups: Vec<Group>,
    /// The extensions of arrays, and the bytes of one.
    arrays: Vec<(String, u64)>,
}

impl Described {
    /// Begins the samples of a source, or of one file of a source whose files have different columns.
    pub(crate) fn begin(&mut self, name: String, has: Columns) {
        self.groups.push(Group { name, has, columns: Vec::new() });
    }

    /// Adds a column of the source that began last to `about`.
    ///
    /// # Errors
    /// Returns an error if another source has another type or shape of it. Numbers of several
    /// types are `float64`.
    pub(crate) fn add(&mut self, column: Column, about: &mut About) -> Result<(), Failure> {
        if let Some(group) = self.groups.last_mut() {
            group.columns.push(column.name.clone());
        }
        if let Some(shape) = &column.shape
            && let Some(bytes) = array_bytes(&column.kind, shape)
        {
            self.arrays.push((column.name.clone(), bytes));
        }
        let Some(known) = about.columns.iter_mut().find(|known| known.name == column.name) else {
            about.columns.push(column);
            return Ok(());
        };
        known.nullable |= column.nullable;
        if known.kind == column.kind && known.shape == column.shape {
            return Ok(());
        }
        if is_number(known) && is_number(&column) {
            known.kind = "float64".into();
            return Ok(());
        }
        Err(Failure::usage(format!(
            "'{}' is {} in one source and {} in another; give it one type, or pack them into two data sets",
            column.name,
            shown(known),
            shown(&column)
        )))
    }

    /// Returns why the parts of a sample, by extension and bytes, are not the arrays that were described.
    pub(crate) fn misfit<'p>(
        &self,
        parts: impl IntoIterator<Item = (&'p str, u64)>,
    ) -> Option<String> {
        parts.into_iter().find_map(|(ext, found)| {
            let (_, bytes) = self.arrays.iter().find(|(name, _)| name == ext)?;
            (found != *bytes)
                .then(|| format!("'{ext}' has {found} bytes, and its type and shape take {bytes}"))
        })
    }

    /// Returns a column that only some sources have. Among records that may lack any field, none is missing.
    pub fn stacked(&self) -> Option<Stacked> {
        let (first, others) = self.groups.split_first()?;
        others.iter().find_map(|other| match (first.has, other.has) {
            (Columns::Some, Columns::Some) => None,
            _ => only_in(first, other).or_else(|| only_in(other, first)),
        })
    }

    /// Makes the columns nullable that some source lacks.
    pub(crate) fn settle(&self, about: &mut About) {
        for column in &mut about.columns {
            column.nullable |= !self.groups.iter().all(|g| g.columns.contains(&column.name));
        }
    }
}

/// Returns true for a column of single numbers.
fn is_number(column: &Column) -> bool {
    let kind = column.kind.as_str();
    column.shape.is_none() && matches!(kind, "int64" | "float32" | "float64")
}

/// Returns type and shape of a column for a message.
fn shown(column: &Column) -> String {
    match &column.shape {
        Some(shape) => format!("{} of shape {shape:?}", column.kind),
        None => column.kind.clone(),
    }
}

/// Returns the first column of `a` that `b` lacks.
fn only_in(a: &Group, b: &Group) -> Option<Stacked> {
    let column = a.columns.iter().find(|column| !b.columns.contains(column))?;
    Some(Stacked { column: column.clone(), with: a.name.clone(), without: b.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str) -> Column {
        Column { name: name.into(), kind: kind.into(), shape: None, nullable: false, items: None }
    }

    fn described(groups: &[(Columns, &[&str])]) -> (Described, About) {
        let mut described = Described::default();
        let mut about = About::default();
        for (number, (has, names)) in groups.iter().enumerate() {
            described.begin(format!("s{number}"), *has);
            for name in *names {
                described.add(column(name, "int64"), &mut about).unwrap();
            }
        }
        (described, about)
    }

    #[test]
    fn sources_with_different_columns_are_found() {
        use Columns::{All, Some as Few};
        for (groups, wanted) in [
            (vec![(All, &["/a"][..]), (All, &["/a"])], None),
            (vec![(All, &["/a"]), (All, &["/b"])], Some(("/a", "s0", "s1"))),
            (vec![(All, &["/a"]), (All, &["/a"]), (All, &["/a", "/b"])], Some(("/b", "s2", "s0"))),
            (vec![(Few, &["/a"]), (Few, &["/b"])], None),
            (vec![(Few, &[]), (All, &["/b"])], Some(("/b", "s1", "s0"))),
        ] {
            let wanted = wanted.map(|(column, with, without): (&str, &str, &str)| Stacked {
                column: column.into(),
                with: with.into(),
                without: without.into(),
            });
            assert_eq!(described(&groups).0.stacked(), wanted, "{groups:?}");
        }
    }

    #[test]
    fn parts_of_another_size_are_no_arrays() {
        let mut described = Described::default();
        let mut about = About::default();
        let array = Column { shape: Some(vec![2, 3]), ..column("x.raw", "float32") };
        described.add(array, &mut about).unwrap();
        assert_eq!(described.misfit([("x.raw", 24), ("jpg", 7)]), None);
        let why = described.misfit([("jpg", 7), ("x.raw", 20)]).unwrap();
        assert!(why.contains("'x.raw' has 20 bytes") && why.contains("take 24"), "{why}");
    }

    #[test]
    fn what_a_source_lacks_is_nullable_and_numbers_have_one_type() {
        let (described, mut about) =
            described(&[(Columns::Some, &["/a", "/b"][..]), (Columns::Some, &["/a"])]);
        described.settle(&mut about);
        assert_eq!((about.columns[0].nullable, about.columns[1].nullable), (false, true));
        let mut described = Described::default();
        described.add(column("/a", "float64"), &mut about).unwrap();
        assert_eq!(about.columns[0].kind, "float64");
        let refused = described.add(column("/a", "string"), &mut about).unwrap_err();
        assert!(refused.text().contains("'/a' is float64 in one source and string"), "{refused}");
    }
}
