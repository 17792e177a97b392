//! `ListedClass`: a class as a file lists it, and the table of such classes. Pure.

use std::collections::{BTreeMap, BTreeSet};

use tarflume_formats::ClassTable;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;

/// The pointer of the class table: the field that a label adds to the JSON.
const POINTER: &str = "/class";
/// The detail of a class that has its text: "tench, Tinca tinca" of `n01440764`.
pub(super) const TEXT: &str = "text";
/// The detail of a class that has its number in the file, if an order has given it another one.
pub(super) const NUMBER: &str = "number";

/// How classes get their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClassOrder {
    /// 0, 1, 2 and so on, as they are listed.
    Listed,
    /// 0, 1, 2 and so on, sorted by the bytes of their names: torchvision's rule.
    Sorted,
    /// The numbers that their names are.
    Number,
}

/// A class as a file lists it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ListedClass {
    pub(super) name: String,
    /// Its number, if the file states one.
    pub(super) id: Option<i64>,
    /// What the file states beside name and number.
    pub(super) details: BTreeMap<String, serde_json::Value>,
}

impl ListedClass {
    pub(super) fn new(name: String) -> ListedClass {
        ListedClass { name, ..ListedClass::default() }
    }

    #[must_use]
    pub(super) fn numbered(mut self, id: i64) -> ListedClass {
        self.id = Some(id);
        self
    }

    #[must_use]
    pub(super) fn called(mut self, text: &str) -> ListedClass {
        if !text.is_empty() {
            self.details.insert(TEXT.into(), text.into());
        }
        self
    }
}

/// Returns the table of the listed classes, ordered by their numbers.
///
/// # Errors
/// Returns the reason if there is none, if a name or number is repeated, and if names are no numbers that have to be.
pub(super) fn table(
    mut classes: Vec<ListedClass>,
    order: Option<ClassOrder>,
) -> Result<ClassTable, Message> {
    if classes.is_empty() {
        return Err("it has no names; give a name on each line".into());
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = classes.iter().find(|class| !seen.insert(class.name.as_str())) {
        return Err(message!("'{}' is listed twice", name::shown(twice.name.as_bytes())));
    }
    if order == Some(ClassOrder::Sorted) {
        classes.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let states_numbers = classes.iter().all(|class| class.id.is_some());
    for (class, place) in classes.iter_mut().zip(0..) {
        let stated = class.id.filter(|_| states_numbers);
        class.id = match (order, stated) {
            (Some(ClassOrder::Number), None) => Some(number(&class.name)?),
            (None | Some(ClassOrder::Number), Some(id)) => Some(id),
            _ => Some(place),
        };
        if let Some(stated) = stated.filter(|_| order.is_some_and(|o| o != ClassOrder::Number)) {
            class.details.insert(NUMBER.into(), stated.into());
        }
    }
    of_numbered(classes)
}

/// Returns the whole number that a name is.
pub(super) fn number(name: &str) -> Result<i64, Message> {
    name.parse().map_err(|_| message!("'{}' is no whole number", name::shown(name.as_bytes())))
}

fn id(class: &ListedClass) -> i64 {
    class.id.expect("each class has a number")
}

/// Returns the table of classes with numbers.
///
/// # Errors
/// Returns the reason if two have one number.
pub(super) fn of_numbered(mut classes: Vec<ListedClass>) -> Result<ClassTable, Message> {
    classes.sort_by_key(id);
    if let Some(twins) = classes.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let shown = |n: usize| name::shown(twins[n].name.as_bytes());
        return Err(message!(
            "'{}' and '{}' both have the id {}",
            shown(0),
            shown(1),
            id(&twins[0])
        ));
    }
    let is_dense = classes.iter().map(id).eq(0..classes.len() as i64);
    let ids = if is_dense { Vec::new() } else { classes.iter().map(id).collect() };
    let has_details = classes.iter().any(|class| !class.details.is_empty());
    let details = if has_details {
        classes.iter().map(|class| class.details.clone()).collect()
    } else {
        Vec::new()
    };
    let names = classes.into_iter().map(|class| class.name).collect();
    Ok(ClassTable { pointer: POINTER.into(), names, ids, details })
}
