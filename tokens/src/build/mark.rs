//! The mark `OUT/.tokens/content`: what the data set in OUT is, or will be, made of.
//!
//! It shows that an unfinished data set in OUT is that of an earlier run of this command, which is
//! then discarded, and that a published one has the requested content.

use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::{create_folders, write_whole};
use tarflume_formats::{Manifest, files};
use tarflume_shards::workdir::{Staging, published};

use super::options::Request;
use super::report::{Built, Report};
use crate::sample::IDS;

fn path(request: &Request) -> PathBuf {
    request.folder().join("content")
}

/// Returns the mark in the output folder.
fn read(request: &Request) -> Result<Option<String>, Failure> {
    match files::read_whole(&path(request), "read") {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_string())),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the manifest of a data set that may be the requested one.
pub(super) fn before(request: &Request) -> Result<Option<Manifest>, Failure> {
    let Some(found) = published(&Staging::of(&request.out))? else { return Ok(None) };
    // A data set with a plan is one of `pack build`, whatever the mark of an earlier run is.
    let own = found.plan.is_none() && found.extensions.contains_key(IDS);
    if own && read(request)?.is_some() { Ok(Some(found)) } else { Err(other(request)) }
}

fn other(request: &Request) -> Failure {
    let out = &request.out;
    let cache = request.cache();
    Failure::usage(
        message!("{out} holds another data set already; choose another folder with {out_option}; {cache} uses the \
             ids that are cached there"; out = out, out_option = Name::Out, cache = Name::Cache.is(&cache)),
    )
    .with_file(out)
}

/// Returns the published data set if it has the requested content.
pub(super) fn same(
    request: &Request,
    manifest: Manifest,
    content: &str,
    report: Report,
) -> Result<Built, Failure> {
    if read(request)?.as_deref() != Some(content) {
        return Err(other(request));
    }
    // A run may have been killed after it had published.
    Staging::of(&request.out).sweep_published(&manifest)?;
    let samples = manifest.samples;
    Ok(Built { manifest, report: Report { samples, published_before: true, ..report } })
}

/// Marks the output folder. Returns an error if it holds what another command has not finished.
pub(super) fn begin(request: &Request, content: &str) -> Result<(), Failure> {
    let staging = Staging::of(&request.out);
    let unfinished = files::exists(&request.out.join(".pack"))? && staging.is_begun()?;
    if unfinished && read(request)?.is_none() && !request.fresh {
        return Err(Failure::usage(message!(
            "{path} holds an unfinished data set of another command; give {fresh} to discard it, \
             or choose another folder";
            path = &request.out,
            fresh = Name::Fresh.on()
        ))
        .with_file(&request.out));
    }
    create_folders(request.folder())?;
    Ok(write_whole(path(request), format!("{content}\n").as_bytes())?)
}
