//! `Classes`: the numbers of classes, from a list, from a data set that grows, or from the samples.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use tarflume_base::Failure;
use tarflume_formats::ClassTable;
use tarflume_formats::message;
use tarflume_formats::message::Name;
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
    /// None. Names are whole numbers, which are those of their classes.
    Numbers,
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
            (None, Some(ClassOrder::Number)) => Ok(ClassList::Numbers),
            (None, Some(ClassOrder::Listed)) => Err(Failure::usage(
                message!("{classes}: no file lists the classes; give {file}"; classes = Name::Classes.is("order=listed"), file = Name::Classes.stand("FILE:order=listed")),
            )),
        }
    }

    /// Returns true if classes are those that the samples have.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, ClassList::Open | ClassList::Numbers)
    }

    /// Returns true if a list has all classes, so that samples need not be read to number them.
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self, ClassList::Fixed(_))
    }

    /// Returns the table, if no other classes are possible.
    pub(crate) fn into_fixed(self) -> Option<ClassTable> {
        match self {
            ClassList::Fixed(table) => Some(table),
            ClassList::Open | ClassList::Numbers | ClassList::Grows(_) => None,
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
}

impl Classes {
    /// Gives numbers to the classes that samples state, unless the list is fixed.
    ///
    /// # Errors
    /// Returns an error for a name that must be a number.
    pub(super) fn of(list: &ClassList, found: &BTreeSet<ClassValue>) -> Result<Classes, Failure> {
        match list {
            ClassList::Fixed(table) => Ok(Classes::of_table(table.clone())),
            ClassList::Grows(before) => Classes::grown(before, found),
            ClassList::Open => Classes::grown(&ClassTable::default(), found),
            ClassList::Numbers => {
                let values = found.iter().map(|value| match value {
                    ClassValue::Number(id) => Ok(ClassValue::Number(*id)),
                    ClassValue::Name(name) => number(name).map(ClassValue::Number).map_err(|why| {
                        Failure::usage(message!("{classes}: {why}"; why = why, classes = Name::Classes.is("order=number")))
                    }),
                });
                Classes::grown(&ClassTable::default(), &values.collect::<Result<_, Failure>>()?)
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
        Classes { ids, numbers, table }
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
    fn numbers_are_those_of_their_classes() {
        let found = BTreeSet::from([ClassValue::Number(200), ClassValue::Number(-1)]);
        let classes = Classes::of(&ClassList::Open, &found).unwrap();
        assert_eq!(classes.class(&ClassValue::Number(200)), Some((200, "200")));
        let table = classes.into_table();
        assert_eq!((table.names, table.ids), (vec!["-1".into(), "200".into()], vec![-1, 200]));
        let texts = Classes::of(&ClassList::Numbers, &names(&["10", "9"])).unwrap().into_table();
        assert_eq!((texts.names, texts.ids), (vec!["9".into(), "10".into()], vec![9, 10]));
        let refused = Classes::of(&ClassList::Numbers, &names(&["x"])).unwrap_err().text();
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
