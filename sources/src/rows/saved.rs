//! Folders that `save_to_disk` of Hugging Face's `datasets` writes: the files of a data set, and its splits.

use std::io::Read;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::json::{self, JsonRules, Value};
use tarflume_formats::{files, name};

use super::data_set::ListedFile;

/// The file with the names of the splits.
const SPLITS: &str = "dataset_dict.json";
/// The file with the names of the files of one split.
const STATE: &str = "state.json";
/// Limit on the bytes of each.
const LIMIT: u64 = 16 << 20;

/// Returns the files of a saved data set, in its order; `None` for another folder.
///
/// # Errors
/// Returns an error if what the folder states is damaged, and if the operating system refuses.
pub(crate) fn of_folder(folder: &Path) -> Result<Option<Vec<ListedFile>>, Failure> {
    if !files::is_folder(folder)? {
        return Ok(None);
    }
    let path = folder.join(SPLITS);
    if !files::exists(&path)? {
        return files_of(folder, None);
    }
    let Some(Value::Array(splits)) = read(&path)?.pointer("/splits").cloned() else {
        return Err(Failure::bad_data("it has no list 'splits'").in_file(path));
    };
    let mut all = Vec::new();
    for split in &splits {
        let split = component(split, "a split", &path)?;
        let inside = folder.join(split);
        let Some(found) = files_of(&inside, Some(split))? else {
            let text = format!("the split '{split}' has no file {STATE}");
            return Err(Failure::bad_data(text).in_file(inside));
        };
        all.extend(found);
    }
    Ok(Some(all))
}

/// Returns the files of a folder with [`STATE`]; `None` if it has none.
fn files_of(folder: &Path, split: Option<&str>) -> Result<Option<Vec<ListedFile>>, Failure> {
    let path = folder.join(STATE);
    if !files::exists(&path)? {
        return Ok(None);
    }
    let state = read(&path)?;
    let indices = state.pointer("/_indices_data_files").or(state.pointer("/_indices_files"));
    if indices
        .is_some_and(|found| !found.is_null() && found.as_array().is_none_or(|a| !a.is_empty()))
    {
        let text = "the data set is a selection of the rows of its files; save it with the rows alone (in Python: \
                    dataset.flatten_indices().save_to_disk(...))";
        return Err(Failure::usage(text).in_file(path));
    }
    let Some(named) = state.pointer("/_data_files").and_then(Value::as_array) else {
        return Err(Failure::bad_data("it has no list '_data_files'").in_file(path));
    };
    let mut found = Vec::with_capacity(named.len());
    for file in named {
        let file = file.pointer("/filename").unwrap_or(&Value::Null);
        let file = folder.join(component(file, "a file", &path)?);
        found.push(ListedFile { path: file, split: split.map(String::from) });
    }
    Ok(Some(found))
}

/// Returns the name of a file or a folder in a folder.
fn component<'v>(value: &'v Value, what: &str, path: &PathBuf) -> Result<&'v str, Failure> {
    let found = value
        .as_str()
        .filter(|text| !text.contains('/') && name::unsafe_as_path(text.as_bytes()).is_none());
    found.ok_or_else(|| {
        let text = format!("{what} is named {value}, which is no name in the folder");
        Failure::bad_data(text).in_file(path)
    })
}

fn read(path: &Path) -> Result<Value, Failure> {
    let (file, found) = files::open(path)?;
    if found.len() > LIMIT {
        let text = format!("it has {} bytes, and {} MiB are the limit", found.len(), LIMIT >> 20);
        return Err(Failure::bad_data(text).in_file(path));
    }
    let mut bytes = Vec::new();
    file.take(LIMIT).read_to_end(&mut bytes).map_err(|e| Failure::io(e, "read", path))?;
    json::parse(&bytes, JsonRules::Python).map_err(|fault| {
        let place = tarflume_formats::Place {
            path: Some(path.to_path_buf()),
            byte: Some(fault.byte as u64),
            key: None,
        };
        Failure::bad_data(fault.what).in_place(place)
    })
}
