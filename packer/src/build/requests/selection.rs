//! `Selection`: which samples and parts of existing shards are packed again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_base::{Columns, Failure, json_rules};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::{Index, KeyList, files, index_path};
use tarflume_scan::filter::Filter;
use tarflume_scan::names::exclude_list::Listed;
use tarflume_scan::names::exts::PartChoice;
use tarflume_sources::rows::SourceUrl;

/// Which samples and parts of existing shards are packed again. The fields are flags of `pack reshard`.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Conditions that each sample meets; see [`Filter`].
    pub filters: Vec<String>,
    /// A list of keys: only these samples are packed.
    pub keys: Option<PathBuf>,
    /// Extensions of the parts that are packed; empty for all.
    pub parts: Vec<String>,
    /// Extensions of parts that are left out.
    pub drop: Vec<String>,
}

/// Existing shards that are packed again.
#[derive(Debug, Clone)]
pub struct Tars {
    /// A folder of a data set, a folder of tars, a tar, or a pattern.
    pub path: PathBuf,
    /// Put before each key.
    pub prefix: Option<String>,
}

/// A selection, parsed.
#[derive(Debug, Default)]
pub(in crate::build) struct Selected {
    pub(in crate::build) filters: Vec<Filter>,
    pub(in crate::build) only: Option<Arc<Listed>>,
    pub(in crate::build) parts: PartChoice,
}

impl Selection {
    /// Parses the conditions and reads the list of keys.
    ///
    /// # Errors
    /// Returns an error for a condition or a list that cannot be understood, and for sources that are no tars.
    pub(in crate::build) fn parse(&self, is_of_tars: bool) -> Result<Selected, Failure> {
        let Selection { filters, keys, parts, drop } = self;
        let is_empty = filters.is_empty() && keys.is_none() && parts.is_empty() && drop.is_empty();
        if !is_of_tars && !is_empty {
            let text = message!("{where_option}, {keys}, {parts} and {drop_option} select from existing shards; pack the files \
                 first, and select with `{reshard}`"; reshard = Call::of(Task::Reshard), where_option = Name::Where, keys = Name::Keys, parts = Name::Parts, drop_option = Name::Drop);
            return Err(Failure::usage(text));
        }
        let filters = filters.iter().map(|text| filter(text)).collect::<Result<_, Failure>>()?;
        let only = keys.as_deref().map(listed).transpose()?.map(Arc::new);
        Ok(Selected { filters, only, parts: PartChoice::new(parts, drop) })
    }
}

fn filter(text: &str) -> Result<Filter, Failure> {
    Filter::parse(text).map_err(|why| {
        Failure::usage(
            message!("{where_option}: {why}"; where_option = Name::Where.is(text.to_string())),
        )
    })
}

fn listed(path: &Path) -> Result<Listed, Failure> {
    let list = KeyList::read(path).map_err(|e| {
        if e.blame().is_machine() {
            Failure::from(e)
        } else {
            refused(Failure::from(e).message(), path)
        }
    })?;
    let listed = Listed::new(list.keys());
    if listed.is_empty() {
        return Err(refused("the list has no key, so no sample would be packed".into(), path));
    }
    Ok(listed)
}

fn refused(why: Message, path: &Path) -> Failure {
    Failure::usage(message!("{keys}: {why}"; keys = Name::Keys.is(path), why = why)).with_file(path)
}

/// Names the files of existing shards.
///
/// # Errors
/// Returns an error for a path that is no tar and no folder of tars, and if the operating system refuses.
pub(in crate::build) fn sources(tars: &[Tars]) -> Result<Vec<SourceUrl>, Failure> {
    tars.iter().map(|tars| SourceUrl::tars(&tars.path, tars.prefix.as_deref())).collect()
}

/// Returns the typed columns of existing shards: all that one of their sidecars has, without those of parts that are
/// left out.
///
/// # Errors
/// Returns an error if two sidecars have different columns of one name, or one cannot be read.
pub(in crate::build) fn usual_columns(
    sources: &[SourceUrl],
    tars: &[Tars],
    takes: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<Columns, Failure> {
    let mut columns = Columns::default();
    if tars.is_empty() {
        return Ok(columns);
    }
    for tar in sources.iter().flat_map(|source| &source.files) {
        let sidecar = index_path(tar);
        if !files::exists(&sidecar)? {
            continue;
        }
        let index = match Index::open(&sidecar) {
            Ok(index) => index,
            Err(error) if error.blame().is_machine() => return Err(error.into()),
            Err(_) => continue, // the scan reports it
        };
        for column in index.columns()? {
            let mut spec = column.spec().clone();
            let Some(ext) = takes(spec.ext.as_bytes()) else { continue };
            spec.ext = String::from_utf8_lossy(&ext).into_owned();
            columns.add(spec).map_err(|why| {
                Failure::usage(message!("{why}; choose with {columns}"; columns = Name::Columns))
                    .in_file(&sidecar)
            })?;
        }
    }
    Ok(columns)
}

/// Returns which texts are JSON by the rules with which existing shards were packed.
///
/// # Errors
/// Returns an error if a manifest beside them cannot be read.
pub(in crate::build) fn usual_json_rules(
    sources: &[SourceUrl],
    tars: &[Tars],
) -> Result<JsonRules, Failure> {
    if tars.is_empty() {
        return Ok(JsonRules::Strict);
    }
    let files = sources.iter().flat_map(|source| &source.files);
    Ok(json_rules::beside(files.map(PathBuf::as_path))?)
}

/// Returns the rule of splits for existing shards: their own splits, if they have some.
pub(in crate::build) fn usual_split(sources: &[SourceUrl]) -> Option<&'static str> {
    let has_splits = sources.iter().any(|source| source.splits.iter().any(Option::is_some));
    has_splits.then_some("source")
}
/// Returns the absolute paths of source folders.
///
/// # Errors
/// Returns an error for a path that is not UTF-8.
pub(super) fn roots(sources: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let roots = sources
        .iter()
        .map(|path| std::path::absolute(path).map_err(|e| Failure::io(e, "find the folder", path)));
    let roots = roots.collect::<Result<Vec<_>, _>>()?;
    if let Some(root) = roots.iter().find(|r| r.to_str().is_none()) {
        let text =
            message!("the path of {root} is not UTF-8; pack it by another path"; root = root);
        return Err(Failure::usage(text).with_file(root));
    }
    Ok(roots)
}
