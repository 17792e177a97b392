//! `instead`: what a file has under a name that is no data set.

use std::path::Path;

use hdf5_reader::Hdf5File;
use hdf5_reader::group::Group;
use hdf5_reader::messages::HdfMessage;
use hdf5_reader::messages::link::LinkTarget;
use tarflume_formats::shown::ShowPath;

use super::file::guarded;

/// Data sets of a group that a message names.
const NAMED: usize = 8;

/// Returns what is at `name` in place of a data set, and what to do; `None` if nothing is known.
pub(super) fn instead(file: &Hdf5File, name: &str, path: &Path) -> Option<String> {
    if let Ok(group) = guarded(|| file.group(name)) {
        return Some(of_group(&group, name));
    }
    match link(file, name)? {
        LinkTarget::Hard { .. } => None,
        LinkTarget::Soft { path } => {
            Some(format!("it is a link to '{path}', which does not exist"))
        }
        LinkTarget::External { filename, path: there } => {
            let named = path.parent().unwrap_or(Path::new("")).join(filename);
            Some(format!(
                "it is a link to another file, and those are not followed; name that file: \
                 'hdf5:{}?x={there}'",
                named.shown()
            ))
        }
    }
}

fn of_group(group: &Group, name: &str) -> String {
    let under = name.trim_end_matches('/');
    let Ok((_, mut names)) = guarded(|| group.member_names()) else {
        return "it is a group whose members cannot be listed; the file may be damaged".into();
    };
    names.sort_unstable();
    if names.is_empty() {
        return "it is a group without data sets".into();
    }
    let named = names.iter().take(NAMED).map(|member| format!("{under}/{member}"));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if names.len() > NAMED { ", .." } else { "" };
    format!("it is a group; name a data set in it: {named}{more}")
}

/// Returns where the link of this name leads, if the header of its group has it. A group with many links has them in a
/// heap, which is not searched.
fn link(file: &Hdf5File, name: &str) -> Option<LinkTarget> {
    let name = name.trim_matches('/');
    let (above, last) = name.rsplit_once('/').unwrap_or(("", name));
    let group = guarded(|| file.group(above)).ok()?;
    let header = guarded(|| file.get_or_parse_header(group.address())).ok()?;
    header.messages.iter().find_map(|message| match message {
        HdfMessage::Link(link) if link.name == last => Some(link.target.clone()),
        _ => None,
    })
}
