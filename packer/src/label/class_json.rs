//! Classes in JSON: of a data set, of `config.json` of transformers, of `imagenet_class_index.json`, of COCO, and lists.

use serde_json::{Map, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::{Manifest, manifest, name};

use super::class_list::{ListedClass, number};

/// Returns the classes of a JSON text; `None` for a text that is no JSON object and no list.
///
/// # Errors
/// Returns the reason for a JSON without classes.
pub(super) fn of_json(text: &str) -> Result<Option<Vec<ListedClass>>, Message> {
    tarflume_base::json_rules::check_names(text.as_bytes())?;
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields)) => of_object(fields, text).map(Some),
        Ok(Value::Array(items)) => of_array(items).map(Some),
        // A name may look like another JSON value.
        _ => Ok(None),
    }
}

fn of_object(fields: Map<String, Value>, text: &str) -> Result<Vec<ListedClass>, Message> {
    if fields.get("format").is_some_and(|format| format == manifest::FORMAT) {
        return of_data_set(text);
    }
    for of_transformers in ["id2label", "label2id"] {
        if let Some(Value::Object(names)) = fields.get(of_transformers) {
            return names.iter().map(|(name, value)| member(name, value)).collect();
        }
    }
    if let Some(Value::Array(categories)) = fields.get("categories") {
        return categories.iter().map(category).collect();
    }
    fields.iter().map(|(name, value)| member(name, value)).collect()
}

fn of_data_set(text: &str) -> Result<Vec<ListedClass>, Message> {
    let found = Manifest::from_json(text.as_bytes()).map_err(|e| e.message().clone())?;
    let table = found.about.classes.ok_or("this data set has no classes")?;
    let ids: Vec<i64> = (0..table.names.len()).map(|position| table.id(position)).collect();
    let mut details = table.details.into_iter();
    let classes = table.names.into_iter().zip(ids).map(|(name, id)| ListedClass {
        name,
        id: Some(id),
        details: details.next().unwrap_or_default(), // a table without details has none for any class
    });
    Ok(classes.collect())
}

/// Returns the class of `"cat": 0`, `"0": "cat"` or `"0": ["n01440764", "tench"]`.
fn member(key: &str, value: &Value) -> Result<ListedClass, Message> {
    match value {
        Value::Number(id) => match id.as_i64() {
            Some(id) => Ok(ListedClass::new(key.into()).numbered(id)),
            None => {
                Err(message!("the id of '{}' is not a whole number", name::shown(key.as_bytes())))
            }
        },
        Value::String(class) => Ok(ListedClass::new(class.clone()).numbered(number(key)?)),
        Value::Array(words) => match words.as_slice() {
            [Value::String(class), Value::String(text)] => {
                Ok(ListedClass::new(class.clone()).called(text).numbered(number(key)?))
            }
            _ => Err(message!("'{}' is no pair of texts", name::shown(key.as_bytes()))),
        },
        _ => Err(message!("the id of '{}' is not a whole number", name::shown(key.as_bytes()))),
    }
}

fn category(value: &Value) -> Result<ListedClass, Message> {
    match (&value["name"], value["id"].as_i64()) {
        (Value::String(name), Some(id)) => Ok(ListedClass::new(name.clone()).numbered(id)),
        _ => Err("a category has no whole number 'id' or no text 'name'".into()),
    }
}

fn of_array(items: Vec<Value>) -> Result<Vec<ListedClass>, Message> {
    let classes = items.into_iter().map(|item| match item {
        Value::String(name) => Ok(ListedClass::new(name)),
        Value::Object(_) => category(&item),
        _ => Err("an item of the list is not a string".into()),
    });
    classes.collect()
}
