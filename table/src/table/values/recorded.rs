//! `Recorded`: the types of the columns of a data set that gets more samples, and the values that fit
//! them. Pure.

use std::collections::BTreeMap;

use tarflume_formats::Column;

use crate::json_float;
use crate::table::values::numbers::Numbers;
use crate::table::values::types::{ValueKind, kind_of};
use crate::table::{Cell, TableRow};

/// The types of the fields of a data set's JSON, by name.
#[derive(Debug, Clone, Default)]
pub struct Recorded(BTreeMap<String, ValueKind>);

impl Recorded {
    /// Takes the top-level fields among `columns`.
    pub fn of(columns: &[Column]) -> Recorded {
        Recorded(columns.iter().filter_map(field).collect())
    }

    /// Takes the top-level fields among `columns`, of lists the type of their elements, for rows that become elements.
    pub fn of_elements(columns: &[Column]) -> Recorded {
        let fields = columns.iter().filter_map(|column| {
            let field = field(column)?;
            if field.1 != ValueKind::List {
                return Some(field);
            }
            Some((field.0, ValueKind::from_word(column.items.as_ref()?)?))
        });
        Recorded(fields.collect())
    }

    /// Returns the type of a field.
    pub fn kind(&self, name: &str) -> Option<ValueKind> {
        self.0.get(name).copied()
    }

    /// Returns the fields with their types, sorted by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, ValueKind)> {
        self.0.iter().map(|(name, kind)| (name.as_str(), *kind))
    }
}

/// Returns the type of a cell that does not fit the recorded type. Any word of a table without types
/// fits a column of texts.
pub(crate) fn misfit(recorded: ValueKind, row: &TableRow, cell: Cell) -> Option<ValueKind> {
    if recorded == ValueKind::String && matches!(cell, Cell::Word(_)) {
        return None;
    }
    if recorded == ValueKind::Float
        && let Cell::Word(word) = cell
        && json_float::word(row.text(word)).is_some()
    {
        return None;
    }
    let (kind, _) = kind_of(row, cell)?;
    let fits = if recorded.is_number() && kind.is_number() {
        let mut number = Numbers::default();
        number.see(row, cell);
        number.fit(recorded)
    } else {
        recorded.holds(kind)
    };
    (!fits).then_some(kind)
}

/// Returns the reason for refusing a value that does not fit. `what` names the column or field.
pub fn misfits(what: &str, here: ValueKind, recorded: ValueKind) -> String {
    format!(
        "{what} is {} here and {} in the data set; correct the value, or pack all samples into another \
         folder, where the type is inferred again",
        here.word(),
        recorded.word()
    )
}

/// Returns name and type of a top-level field; `None` for another column.
fn field(column: &Column) -> Option<(String, ValueKind)> {
    let name = column.name.strip_prefix('/')?;
    Some((name.replace("~1", "/").replace("~0", "~"), ValueKind::from_word(&column.kind)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str) -> Column {
        Column { name: name.into(), kind: kind.into(), shape: None, nullable: false, items: None }
    }

    #[test]
    fn fields_have_the_names_that_their_pointers_name() {
        let columns =
            [column("/a~1b~0c", "int64"), column("x.raw", "uint8"), column("/y", "unknown")];
        let recorded = Recorded::of(&columns);
        assert_eq!(recorded.kind("a/b~c"), Some(ValueKind::Int));
        assert_eq!(recorded.fields().count(), 1);
    }

    #[test]
    fn a_value_fits_its_own_type_and_a_wider_one() {
        let mut row = TableRow::default();
        row.begin(1, None, 1);
        let mut word = |text: &str| Cell::Word(row.add_text(text));
        let whole = word("12");
        let point = word("1.5");
        let zeros = word("007");
        let text = word("abc");
        let fits = |kind: ValueKind, cell: Cell| misfit(kind, &row, cell).is_none();
        assert!(
            fits(ValueKind::Int, whole)
                && fits(ValueKind::Float, whole)
                && fits(ValueKind::Float, point)
        );
        assert!(fits(ValueKind::String, whole) && fits(ValueKind::String, text));
        assert!(fits(ValueKind::Int, Cell::Null) && fits(ValueKind::Float, Cell::Int(3)));
        for (kind, cell) in [
            (ValueKind::Int, point),
            (ValueKind::Int, zeros),
            (ValueKind::Float, text),
            (ValueKind::Bool, whole),
        ] {
            assert!(!fits(kind, cell), "{kind:?} {cell:?}");
        }
        assert_eq!(misfit(ValueKind::String, &row, Cell::Int(1)), Some(ValueKind::Int));
        assert_eq!(misfit(ValueKind::Int, &row, Cell::Large(u64::MAX)), Some(ValueKind::UInt));
        assert_eq!(misfit(ValueKind::UInt, &row, Cell::Large(u64::MAX)), None);
        assert_eq!(misfit(ValueKind::UInt, &row, Cell::Int(-1)), Some(ValueKind::Int));
        assert_eq!(misfit(ValueKind::Float, &row, Cell::Int(1 << 53)), None);
        assert_eq!(misfit(ValueKind::Float, &row, Cell::Int((1 << 53) + 1)), Some(ValueKind::Int));
        assert_eq!(misfit(ValueKind::Float, &row, Cell::Large(u64::MAX)), Some(ValueKind::UInt));
    }
}
