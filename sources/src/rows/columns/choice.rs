//! `Choice`: a data set of HDF5, or an array of Zarr, that the options of a source choose, and what `json=` says about it.

use tarflume_base::Failure;

use crate::rows::columns::array_names::is_layout;
use crate::rows::url::SourceUrl;

/// A data set that is packed, under this name.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) name: String,
    /// Its path in the file.
    pub(crate) dataset: String,
    pub(crate) json: ForJson,
}

/// What `json=` says about a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForJson {
    /// Nothing.
    Not,
    /// It is packed unless it is a field: `json=none`.
    NoFields,
    /// It is packed if it is a field: `json=*`.
    Fields,
    /// It is named, alone or with others.
    Named { alone: bool },
}

/// Returns the data sets that the options name; without a name, all that `all` returns with name and path: those at the
/// root of the file.
///
/// # Errors
/// Returns the error of `all`.
pub(crate) fn chosen(
    source: &SourceUrl,
    all: impl FnOnce() -> Result<Vec<(String, String)>, Failure>,
) -> Result<Vec<Choice>, Failure> {
    let options = source.options.iter().filter(|(name, _)| name != "json" && !is_layout(name));
    let mut named: Vec<Choice> = options
        .map(|(name, dataset)| Choice {
            name: name.clone(),
            dataset: dataset.clone(),
            json: ForJson::Not,
        })
        .collect();
    let only_key = named.iter().all(|choice| choice.name == "key");
    let used = named.iter().map(|choice| choice.dataset.trim_start_matches('/').to_string());
    let used: Vec<String> = used.collect();
    let rest = match source.option("json") {
        None if only_key => Some(ForJson::Not),
        Some("none") if only_key => Some(ForJson::NoFields),
        Some("*") => Some(ForJson::Fields),
        None | Some("none") => None,
        Some(list) => {
            let datasets: Vec<&str> = list.split(',').collect();
            let json = ForJson::Named { alone: datasets.len() == 1 };
            named.extend(datasets.into_iter().map(|dataset| {
                let name = dataset.rsplit('/').next().unwrap_or(dataset);
                Choice { name: name.into(), dataset: dataset.into(), json }
            }));
            None
        }
    };
    if let Some(json) = rest {
        let all = all()?.into_iter();
        let left = all.filter(|(name, _)| json == ForJson::Not || !used.contains(name));
        named.extend(left.map(|(name, dataset)| Choice { name, dataset, json }));
    }
    Ok(named)
}
