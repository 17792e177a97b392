//! The options of an append -> a [`Request`] that adds shards to a data set, packed as its first build
//! was.

use std::path::{Path, PathBuf};

use tarflume_base::check::CheckLevel;
use tarflume_base::compress::Compress;
use tarflume_base::{Choice, Failure, check_of, json_rules};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::{Dataset, Manifest};
use tarflume_scan::names::exts::Require;
use tarflume_scan::pair::Side;
use tarflume_shards::workdir::quarantine::Policy;
use tarflume_shards::workdir::staging::Staging;
use tarflume_shards::workdir::state::{lacks_entry_points, manifest_digest, published};
use tarflume_sources::present::Present;

use super::options::BuildOptions;
use super::request::{Append, Request};
use super::selection::Selection;
use crate::label::ClassList;
use crate::plan::Shape;
use crate::plan::deal::Cut;
use crate::plan::naming::Base;
use crate::plan::split::SplitRule;

/// The options of an append. The fields are the flags of `pack append`.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "`pack append --help` has them, word for word")]
pub struct AppendOptions {
    pub sources: Vec<PathBuf>,
    pub out: PathBuf,
    pub exclude: Vec<String>,
    pub join: Vec<String>,
    pub coco: Vec<String>,
    pub yolo: Option<String>,
    pub yolo_names: Option<PathBuf>,
    pub voc: Option<String>,
    pub annotations: Option<String>,
    pub pair: Vec<String>,
    pub split_list: Option<String>,
    pub provenance: Vec<String>,
    pub on_problem: Policy,
    pub jobs: Option<u64>,
    pub fresh: bool,
    pub dry_run: bool,
}

impl AppendOptions {
    /// Creates the default options of `pack append SOURCES -o OUT`.
    pub fn new(sources: Vec<PathBuf>, out: PathBuf) -> AppendOptions {
        AppendOptions {
            sources,
            out,
            exclude: Vec::new(),
            join: Vec::new(),
            coco: Vec::new(),
            yolo: None,
            yolo_names: None,
            voc: None,
            annotations: None,
            pair: Vec::new(),
            split_list: None,
            provenance: Vec::new(),
            on_problem: Policy::Fail,
            jobs: None,
            fresh: false,
            dry_run: false,
        }
    }

    /// Reads the data set and converts the options. Names, extensions, labels, splits and the size of
    /// shards are those of the data set's first build.
    ///
    /// # Errors
    /// Returns an error if there is no data set, if its first build cannot be continued, and the
    /// errors of [`BuildOptions::request`].
    pub fn request(self) -> Result<Request, Failure> {
        let staging = Staging::of(&self.out);
        let Some(manifest) = published(&staging)? else { return Err(no_data_set(&self.out)) };
        let digest = manifest_digest(&staging)?;
        let shape = shape_of(&manifest, &self.out)?;
        let mut options = BuildOptions::new(self.sources, self.out.clone());
        (options.join, options.coco, options.voc) = (self.join, self.coco, self.voc);
        (options.yolo, options.yolo_names) = (self.yolo, self.yolo_names);
        options.annotations = self.annotations;
        (options.pair, options.exclude) = (self.pair, self.exclude);
        (options.split_list, options.provenance) = (self.split_list, self.provenance);
        options.json_rules = Some(json_rules::of_manifest(Some(&manifest)));
        options.check = check_of(&manifest);
        let has_lists = shape.as_ref().is_some_and(|shape| shape.split_list.is_some());
        check_lists(has_lists, options.split_list.as_deref())?;
        if let Some(shape) = &shape {
            follow(&mut options, shape, &manifest)?;
        }
        options.columns = Some(manifest.sidecar_columns.join(","));
        options.entry_points = !lacks_entry_points(&staging, &manifest)?;
        (options.on_problem, options.jobs) = (self.on_problem, self.jobs);
        (options.fresh, options.dry_run) = (self.fresh, self.dry_run);
        let mut request = resolved(options, shape.as_ref())?;
        match &mut request.split {
            Some(SplitRule::Lists(lists)) => lists.appends = true,
            Some(SplitRule::Files(files)) => files.appends = true,
            _ => {}
        }
        request.look = false; // contents are checked when they are packed
        if let (Some(rule), Some(table)) = (&mut request.label, &manifest.about.classes) {
            let fixed = shape.as_ref().is_some_and(|shape| shape.classes.is_some());
            rule.list = if fixed {
                ClassList::Fixed(table.clone())
            } else {
                rule.list.after(table.clone())
            };
            request.shape.classes = rule.planned();
        }
        if let (Some(Shape { label: None, classes: Some(_), .. }), Some(table)) =
            (&shape, &manifest.about.classes)
        {
            request.join.fix_classes(table);
            request.shape.classes = request.join.classes();
        }
        let base = Base {
            manifest: digest,
            about: manifest.about.clone(),
            shards: manifest.shards.iter().map(|shard| shard.name.clone()).collect(),
        };
        let present = Present::of(Dataset::open(&self.out)?)?;
        request.append = Some(Append { manifest, base, present });
        Ok(request)
    }
}

/// Returns the options of the data set's first build; `None` if `pack index` made its manifest.
fn shape_of(manifest: &Manifest, out: &Path) -> Result<Option<Shape>, Failure> {
    let Some(options) = manifest.options.clone() else { return Ok(None) };
    let shape: Shape = serde_json::from_value(options).map_err(|e| {
        Failure::bad_data(format!(
            "the options of its manifest are those of another version ({e}); append with the \
             version that packed it"
        ))
        .in_file(out)
    })?;
    if shape.dedupe {
        return Err(Failure::usage(message!(
            "{path} was packed with {dedupe}, which compares all images at once; pack all \
             samples into another folder";
            path = out,
            dedupe = Name::Dedupe
        ))
        .with_file(out));
    }
    Ok(Some(shape))
}

/// Sets the options of the first build.
fn follow(options: &mut BuildOptions, shape: &Shape, manifest: &Manifest) -> Result<(), Failure> {
    (options.shard_size, options.shard_samples) = match shape.cut {
        Cut::Limits { bytes, samples } => (bytes, samples),
        // The number of shards was chosen for the first build's samples; their size serves for more.
        Cut::Shards(_) => (manifest.shards.iter().map(|shard| shard.bytes).max(), None),
    };
    options.prefix.clone_from(&shape.prefix);
    options.keep_empty.clone_from(&shape.keep_empty);
    options.shuffle = shape.shuffle;
    options.require = Some(shape.require.clone());
    options.ext_map.clone_from(&shape.ext_map);
    options.ext_by_content = shape.ext_by_content;
    options.objects = shape.objects;
    options.prepare = shape.prepare.unwrap_or_default();
    options.names.clone_from(&shape.names);
    options.follow_links = shape.follow_links;
    options.exclude = excluded(&shape.exclude, &options.exclude)?;
    options.group.clone_from(&shape.group);
    options.pair = paired(&shape.pair, &options.pair)?;
    options.label.clone_from(&shape.label);
    options.classes = shape.class_order.as_ref().map(|order| format!("order={order}").into());
    options.split.clone_from(&shape.split);
    options.stratify.clone_from(&shape.stratify);
    options.split_by.clone_from(&shape.split_by);
    options.split_group.clone_from(&shape.split_group);
    options.selection = selection(shape)?;
    options.compress =
        shape.compress.as_deref().map(Compress::parse).transpose().map_err(|why| {
            Failure::bad_data(format!("the manifest names another compression: {why}"))
        })?;
    let level = CheckLevel::from_word(&shape.check);
    options.check = Some(level.ok_or_else(|| {
        Failure::bad_data(format!("the manifest names an unknown check '{}'", shape.check))
    })?);
    Ok(())
}

/// Returns the selection of the first build.
fn selection(shape: &Shape) -> Result<Selection, Failure> {
    if shape.keys.is_some() {
        let text = message!("the data set was packed with a list of keys ({keys}), so no other sample belongs to it; pack \
             into another folder, and merge both with `{reshard}`"; reshard = Call::of(Task::Reshard), keys = Name::Keys);
        return Err(Failure::usage(text));
    }
    let Shape { filters, parts, drop, .. } = shape.clone();
    Ok(Selection { filters, keys: None, parts, drop })
}

/// Converts the options; what is joined follows the first build.
fn resolved(options: BuildOptions, shape: Option<&Shape>) -> Result<Request, Failure> {
    let Some(shape) = shape else { return options.request() };
    let BuildOptions { join, coco, yolo, voc, annotations, .. } = &options;
    let is_given = !join.is_empty()
        || !coco.is_empty()
        || [yolo, voc, annotations].iter().any(|given| given.is_some());
    let mut request = options.resolved(|given| given.following(shape.join.as_deref(), is_given))?;
    // Without the option, tables of metadata in the folders have the required JSON.
    request.usual_require = shape.require == Require::default().to_text();
    Ok(request)
}

/// Returns the folders that the first build paired.
fn paired(before: &[String], given: &[String]) -> Result<Vec<String>, Failure> {
    if given.is_empty() || Side::planned(&Side::parse_all(given)?) == before {
        return Ok(before.to_vec());
    }
    let packed = match before {
        [] => message!("without {pair}"; pair = Name::Pair),
        before => {
            message!("with {pair}"; pair = Name::Pair.pairs(before.iter().map(String::as_str)))
        }
    };
    Err(Failure::usage(
        message!("{pair}: the data set was packed {packed}; leave it out, or pack into another folder"; packed = packed, pair = Name::Pair.pairs(given.iter().map(String::as_str))),
    ))
}

/// Refuses an append without the lists of splits, which the manifest does not have, and lists that the first build had not.
fn check_lists(before: bool, given: Option<&str>) -> Result<(), Failure> {
    match (before, given) {
        (true, None) => Err(Failure::usage(
            message!("the data set was packed with lists of its splits; give those of the new samples: {split_list}"; split_list = Name::SplitList.is("train=train.txt,val=val.txt")),
        )),
        (false, Some(_)) => Err(Failure::usage(
            message!("{split_list}: the data set was packed without lists of splits; leave it out, or pack into another folder"; split_list = Name::SplitList),
        )),
        _ => Ok(()),
    }
}

/// Returns the globs of the first build and what is given. The manifest has no list of keys, only its
/// digest, so a list must be given again.
fn excluded(before: &[String], given: &[String]) -> Result<Vec<String>, Failure> {
    if before.iter().any(|word| is_list(word)) && !given.iter().any(|word| is_list(word)) {
        let text = message!("the data set was packed with a list of keys to leave out, whose samples would be new; give it \
             again: {exclude}"; exclude = Name::Exclude.is("@FILE"));
        return Err(Failure::usage(text));
    }
    Ok(before.iter().filter(|word| !is_list(word)).chain(given).cloned().collect())
}

/// Returns true for a file with a list of keys.
fn is_list(word: &str) -> bool {
    word.starts_with('@')
}

fn no_data_set(out: &Path) -> Failure {
    Failure::usage(
        message!("there is no data set in {path}; make one with `{build}`, or a manifest for existing tars with \
             `{index}`"; path = out, build = Call::of(Task::Build).on_stand("SRC").out_path(out), index = Call::of(Task::Index).on_path(out)),
    )
    .with_file(out)
}
