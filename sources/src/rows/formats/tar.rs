//! `tar:old/*.tar`: the samples of existing shards by WebDataset's rule, to be packed into other shards.
//!
//! A tar with a sidecar is listed from the sidecar, any other one by its headers. Each part is a range of its
//! tar, so no byte of a member is copied before it is packed. `stream` lists compressed tars. The members of a tar in a
//! tar are listed as files of a folder.

mod headers;
mod inner;
mod options;
mod sample;
mod select;
mod sidecar;
mod stream;

use std::path::Path;

use rayon::prelude::*;
use serde_json::{Value, json};
use tarflume_base::Failure;
use tarflume_base::packed_shard::is_compressed;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::{About, files, index_path};

use self::headers::Headers;
use self::options::TarOptions;
use self::select::Sink;
use crate::rows::Listing;
use crate::rows::places::inflate::{Codec, STREAM};
use crate::rows::places::sidecar::{SHARD, open_sidecar};
use crate::rows::url::SourceUrl;
use tarflume_scan::rows::builder::Root;

/// Lists the samples of tars.
///
/// # Errors
/// Returns an error for a file that is no tar or is damaged, for a sidecar that belongs to another tar, and if
/// the operating system refuses.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let Listing { root, builder, watch } = listing;
    let options = TarOptions::of(source, builder.options())?;
    builder.call_rows("sample");
    describe(source, builder.about())?;
    let prefix = source.option("prefix").unwrap_or("").as_bytes().to_vec();
    let mut sink = Sink::new(builder, prefix);
    let threads = rayon::current_num_threads();
    for (chunk, paths) in source.files.chunks(threads).enumerate() {
        // A compressed tar takes seconds to list, so several are decompressed at the same time.
        let streams: Vec<Result<_, Failure>> = paths
            .par_iter()
            .map(|path| {
                if is_compressed(path) && options.keys_as_sidecars() && has_frames(path)? {
                    return Ok(None);
                }
                let Some(codec) = Codec::of(path)? else { return Ok(None) };
                Ok(Some((codec, stream::list(path, codec, options, watch.stop)?)))
            })
            .collect();
        for (n, (path, stream)) in paths.iter().zip(streams).enumerate() {
            let number = chunk * threads + n;
            let mut told = serde_json::Map::new();
            if let Some(split) = source.splits.get(number).cloned().flatten() {
                told.insert("split".into(), split.into());
            }
            let root = Root { number: root + number as u32, path };
            match stream? {
                Some((codec, samples)) => {
                    told.insert("codec".into(), codec.word().into());
                    watch.counter.add(samples.parts());
                    sink.open(root, STREAM, Value::Object(told))?;
                    sink.take_all(samples)?;
                }
                None if options.keys_as_sidecars() && files::exists(&index_path(path))? => {
                    sink.open(root, SHARD, Value::Object(told))?;
                    let index = open_sidecar(path)?;
                    if index.is_compressed() && !sink.options().filters.is_empty() {
                        sink.set_frames(path, open_sidecar(path)?);
                    }
                    sidecar::list(&index, path, &mut sink, watch)?;
                }
                None => {
                    let told = if told.is_empty() { Value::Null } else { json!(told) };
                    sink.open(root, "bytes", told)?;
                    Headers { path, options, sink: &mut sink, watch, members: 0 }.list()?;
                }
            }
        }
    }
    sink.finish()
}

/// Returns true if a compressed tar has a sidecar with its frames.
fn has_frames(path: &Path) -> Result<bool, Failure> {
    Ok(files::exists(&index_path(path))? && open_sidecar(path)?.is_compressed())
}

/// Takes over the classes and columns of the data sets that are sources.
fn describe(source: &SourceUrl, about: &mut About) -> Result<(), Failure> {
    for of_set in &source.abouts {
        match (&about.classes, &of_set.classes) {
            (_, None) => {}
            (None, Some(classes)) => about.classes = Some(classes.clone()),
            (Some(one), Some(other)) if one.is_numbered_as(other) => {}
            (Some(_), Some(_)) => {
                let text = message!("the classes of two sources differ, and a class id would have two meanings; make them equal \
                     first (`{build}`), or reshard each source by itself"; build = Call::of(Task::Build).with(Name::Classes.stand("FILE")));
                return Err(Failure::usage(text));
            }
        }
        about.objects = match (about.objects.take(), &of_set.objects) {
            (own, None) => own,
            (None, Some(objects)) => Some(objects.clone()),
            (Some(own), Some(other)) if own.is_placed_as(other) => Some(own.after(other)),
            (Some(own), Some(other)) => {
                let text = message!(
                    "boxes of one source are {}, those of another {}, so their numbers would have two meanings; \
                     reshard each source by itself, and read both data sets",
                    own.words(),
                    other.words()
                );
                return Err(Failure::usage(text));
            }
        };
        for column in &of_set.columns {
            match about.columns.iter().find(|known| known.name == column.name) {
                None => about.columns.push(column.clone()),
                Some(known) if known.kind == column.kind && known.shape == column.shape => {}
                // The sources disagree about the values, so nothing can be stated about them.
                Some(_) => about.columns.retain(|known| known.name != column.name),
            }
        }
    }
    Ok(())
}
