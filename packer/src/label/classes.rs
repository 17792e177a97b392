//! `Classes`: the numbers of classes, from a list, from a data set that grows, or from the samples.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use tarflume_base::Failure;
use tarflume_formats::ClassTable;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;

use super::class_file::ClassesOption;
use super::class_list::{ClassOrder, ListedClass, NUMBER, TEXT, number, of_numbered};

/// The detail of a class that has the word of annotations.
const LABEL: &str = "label";

/// What a sample states about its class.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClassValue {
    /// A number, which is that of the class.
    Number(i64),
    /// A name.
    Name(String),
}

impl ClassValue {
    /// Returns the text of a name, or the digits of a number.
    pub(super) fn plain(&self) -> String {
        match self {
            ClassValue::Number(number) => number.to_string(),
            ClassValue::Name(name) => name.clone(),
        }
    }

    /// Returns the number that it is, also as a text.
    fn as_number(&self) -> Result<i64, Message> {
        match self {
            ClassValue::Number(number) => Ok(*number),
            ClassValue::Name(name) => number(name),
        }
    }
}

impl fmt::Display for ClassValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassValue::Number(id) => id.fmt(f),
            ClassValue::Name(name) => f.write_str(&name::shown(name.as_bytes())),
        }
    }
}

/// The classes that have numbers before the samples are read.
#[derive(Debug, Clone, Default)]
pub(crate) enum ClassList {
    /// None. Names, sorted by their bytes, are 0, 1, 2 and so on.
    #[default]
    Open,
    /// These, if there are any. Names are whole numbers, which are those of their classes.
    Numbers(ClassTable),
    /// These and no others.
    Fixed(ClassTable),
    /// These. Other names, sorted by their bytes, get the numbers after the last.
    Grows(ClassTable),
}

impl ClassList {
    /// Reads the classes that an option gives.
    ///
    /// # Errors
    /// Returns the errors of [`ClassesOption::table`], and an error for an order that needs a file.
    pub(crate) fn read(option: &ClassesOption) -> Result<ClassList, Failure> {
        match (option.table()?, option.order) {
            (Some(table), _) => Ok(ClassList::Fixed(table)),
            (None, None | Some(ClassOrder::Sorted)) => Ok(ClassList::Open),
            (None, Some(ClassOrder::Number)) => Ok(ClassList::Numbers(ClassTable::default())),
            (None, Some(ClassOrder::Listed)) => Err(Failure::usage(
                message!("{classes}: no file lists the classes; give {file}"; classes = Name::Classes.is("order=listed"), file = Name::Classes.stand("FILE:order=listed")),
            )),
        }
    }

    /// Returns true if classes are those that the samples have.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, ClassList::Open) || self.is_new_by_number()
    }

    /// Returns true if names are the numbers of their classes.
    pub(crate) fn is_by_number(&self) -> bool {
        matches!(self, ClassList::Numbers(_))
    }

    fn is_new_by_number(&self) -> bool {
        matches!(self, ClassList::Numbers(before) if before.names.is_empty())
    }

    /// Returns the list for samples that are added to a data set with these classes.
    #[must_use]
    pub(crate) fn after(&self, before: ClassTable) -> ClassList {
        match self {
            ClassList::Numbers(_) => ClassList::Numbers(before),
            _ => ClassList::Grows(before),
        }
    }

    /// Returns true if a list has all classes, so that samples need not be read to number them.
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self, ClassList::Fixed(_))
    }

    /// Returns the table, if no other classes are possible.
    pub(crate) fn into_fixed(self) -> Option<ClassTable> {
        match self {
            ClassList::Fixed(table) => Some(table),
            ClassList::Open | ClassList::Numbers(_) | ClassList::Grows(_) => None,
        }
    }
}

/// Classes with their numbers.
#[derive(Debug)]
pub(super) struct Classes {
    table: ClassTable,
    /// The numbers by name, and by a text or word that no other class has.
    ids: HashMap<String, i64>,
    /// The numbers by those that the file of classes states, if an order has given others.
    numbers: HashMap<i64, i64>,
    /// Whether a name is the number of its class.
    are_numbers: bool,
}

/// Refuses numbers for a data set whose classes have names, and names for one whose classes are numbers: a number is that
/// of its class, so it would name another one.
fn check_kind(before: &ClassTable, found: &BTreeSet<ClassValue>) -> Result<(), Failure> {
    let is_renumbered = before.details.iter().any(|details| details.contains_key(NUMBER));
    let names = before.names.iter().enumerate();
    let mut named = names.filter(|(at, name)| **name != before.id(*at).to_string());
    let Some((_, name)) = named.next().filter(|_| !is_renumbered) else { return Ok(()) };
    match found.first() {
        Some(ClassValue::Number(number)) => Err(Failure::usage(message!(
            "the class of a sample is the number {number}, and those of the data set are names, such as '{}'; give names",
            name::shown(name.as_bytes())
        ))),
        _ => Ok(()),
    }
}

impl Classes {
    /// Gives numbers to the classes that samples state, unless the list is fixed.
    ///
    /// # Errors
    /// Returns an error for a name that must be a number.
    pub(super) fn of(list: &ClassList, found: &BTreeSet<ClassValue>) -> Result<Classes, Failure> {
        match list {
            ClassList::Fixed(table) => Ok(Classes::of_table(table.clone())),
            ClassList::Grows(before) => {
                check_kind(before, found)?;
                Classes::grown(before, found)
            }
            ClassList::Open => Classes::grown(&ClassTable::default(), found),
            ClassList::Numbers(before) => {
                let values = found.iter().map(|value| value.as_number().map(ClassValue::Number));
                let values = values.collect::<Result<_, Message>>().map_err(|why| {
                    Failure::usage(message!("{classes}: {why}"; why = why, classes = Name::Classes.is("order=number")))
                })?;
                let classes = Classes::grown(before, &values)?;
                Ok(Classes { are_numbers: true, ..classes })
            }
        }
    }

    fn of_table(table: ClassTable) -> Classes {
        let mut ids: HashMap<String, i64> = HashMap::new();
        let mut twice: BTreeSet<String> = BTreeSet::new();
        for (position, details) in table.details.iter().enumerate() {
            let words =
                [TEXT, LABEL].into_iter().filter_map(|detail| details.get(detail)?.as_str());
            for word in words {
                if ids
                    .insert(word.into(), table.id(position))
                    .is_some_and(|other| other != table.id(position))
                {
                    twice.insert(word.into());
                }
            }
        }
        let numbers = table.details.iter().enumerate().filter_map(|(position, details)| {
            Some((details.get(NUMBER)?.as_i64()?, table.id(position)))
        });
        let numbers: HashMap<i64, i64> = numbers.collect();
        ids.retain(|word, _| !twice.contains(word));
        ids.extend(table.names.iter().enumerate().map(|(at, name)| (name.clone(), table.id(at))));
        Classes { ids, numbers, table, are_numbers: false }
    }

    fn grown(before: &ClassTable, found: &BTreeSet<ClassValue>) -> Result<Classes, Failure> {
        let known = Classes::of_table(before.clone());
        let mut details = before.details.iter();
        let mut classes: Vec<ListedClass> = Vec::with_capacity(before.names.len());
        for (position, name) in before.names.iter().enumerate() {
            let mut class = ListedClass::new(name.clone()).numbered(before.id(position));
            if let Some(details) = details.next() {
                class.details.clone_from(details);
            }
            classes.push(class);
        }
        let last = classes.iter().filter_map(|class| class.id).max();
        let mut next = last.map_or(0, |last| last.saturating_add(1));
        for value in found.iter().filter(|value| known.class(value).is_none()) {
            match value {
                ClassValue::Number(id) => {
                    classes.push(ListedClass::new(id.to_string()).numbered(*id));
                    next = next.max(id.saturating_add(1));
                }
                ClassValue::Name(name) => {
                    classes.push(ListedClass::new(name.clone()).numbered(next));
                    next = next.saturating_add(1);
                }
            }
        }
        of_numbered(classes).map(Classes::of_table).map_err(Failure::usage)
    }

    /// Returns the number and the name of the class that a sample states; `None` if it is none.
    pub(super) fn class(&self, value: &ClassValue) -> Option<(i64, &str)> {
        let id = match value {
            ClassValue::Name(_) if self.are_numbers => value.as_number().ok()?,
            ClassValue::Number(number) if !self.numbers.is_empty() => {
                self.numbers.get(number).copied()?
            }
            ClassValue::Number(id) => *id,
            ClassValue::Name(name) => *self.ids.get(name)?,
        };
        Some((id, self.table.name(id)?))
    }

    pub(super) fn into_table(self) -> ClassTable {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<ClassValue> {
        names.iter().map(|name| ClassValue::Name(name.to_string())).collect()
    }

    fn id(classes: &Classes, name: &str) -> Option<i64> {
        classes.class(&ClassValue::Name(name.into())).map(|(id, _)| id)
    }

    #[test]
    fn names_are_sorted_by_bytes_and_new_ones_follow_the_old() {
        let first = Classes::of(&ClassList::Open, &names(&["b", "B", "a"])).unwrap().into_table();
        assert_eq!(
            (&first.names[..], first.ids.len()),
            (&["B".into(), "a".into(), "b".into()][..], 0)
        );
        let more = Classes::of(&ClassList::Grows(first.clone()), &names(&["A", "a", "c"])).unwrap();
        assert_eq!((id(&more, "b"), id(&more, "A"), id(&more, "c")), (Some(2), Some(3), Some(4)));
        assert_eq!(more.into_table().names, ["B", "a", "b", "A", "c"]);
        let fixed = Classes::of(&ClassList::Fixed(first.clone()), &names(&["new"])).unwrap();
        assert_eq!((id(&fixed, "new"), fixed.into_table()), (None, first));
    }

    #[test]
    fn a_number_is_no_class_of_a_data_set_with_names() {
        let before = Classes::of(&ClassList::Open, &names(&["ant", "yak"])).unwrap().into_table();
        let found = BTreeSet::from([ClassValue::Number(0)]);
        let refused = Classes::of(&ClassList::Grows(before), &found).unwrap_err().text();
        assert!(
            refused.contains("number 0, and those of the data set are names, such as 'ant'"),
            "{refused}"
        );
    }

    fn numbers() -> ClassList {
        ClassList::Numbers(ClassTable::default())
    }

    #[test]
    fn numbers_are_those_of_their_classes() {
        let found = BTreeSet::from([ClassValue::Number(200), ClassValue::Number(-1)]);
        let classes = Classes::of(&ClassList::Open, &found).unwrap();
        assert_eq!(classes.class(&ClassValue::Number(200)), Some((200, "200")));
        let table = classes.into_table();
        assert_eq!((table.names, table.ids), (vec!["-1".into(), "200".into()], vec![-1, 200]));
        let texts = Classes::of(&numbers(), &names(&["10", "09"])).unwrap();
        assert_eq!(id(&texts, "009"), Some(9));
        let texts = texts.into_table();
        assert_eq!(
            (&texts.names[..], &texts.ids[..]),
            (&["9".into(), "10".into()][..], &[9, 10][..])
        );
        let more = Classes::of(&numbers().after(texts), &names(&["50"])).unwrap();
        assert_eq!((id(&more, "50"), id(&more, "9")), (Some(50), Some(9)));
        let refused = Classes::of(&numbers(), &names(&["x"])).unwrap_err().text();
        assert!(refused.contains("'x' is no whole number"), "{refused}");
    }

    fn listed(name: &str, id: i64, text: &str) -> ListedClass {
        ListedClass::new(name.into()).numbered(id).called(text)
    }

    #[test]
    fn numbers_of_a_list_with_another_order_are_those_of_the_list() {
        let classes = vec![listed("n02", 1, "b"), listed("n01", 2, "a"), listed("n03", 3, "c")];
        let sorted = crate::label::class_list::table(classes, Some(ClassOrder::Sorted)).unwrap();
        assert_eq!(
            (&sorted.names[..], sorted.ids.len()),
            (&["n01".into(), "n02".into(), "n03".into()][..], 0)
        );
        let classes = Classes::of_table(sorted);
        assert_eq!(classes.class(&ClassValue::Number(1)), Some((1, "n02")));
        assert_eq!(classes.class(&ClassValue::Number(2)), Some((0, "n01")));
        assert_eq!(classes.class(&ClassValue::Number(0)), None);
        assert_eq!(id(&classes, "n03"), Some(2));
    }

    #[test]
    fn a_text_is_a_class_unless_two_have_it() {
        let table = of_numbered(vec![
            listed("n01", 0, "tench"),
            listed("n02", 1, "crane"),
            listed("n03", 2, "crane"),
            listed("n04", 3, "n01"),
        ]);
        let classes = Classes::of_table(table.unwrap());
        assert_eq!((id(&classes, "tench"), id(&classes, "n01")), (Some(0), Some(0)));
        assert_eq!((id(&classes, "crane"), id(&classes, "n03")), (None, Some(2)));
        assert_eq!(classes.class(&ClassValue::Name("tench".into())), Some((0, "n01")));
    }
}
