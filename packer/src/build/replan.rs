//! Describes the difference between the plan in a working folder and a new one as a sentence. Reads
//! the plans and nothing else.

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::plan::PlannedSample;
use tarflume_formats::{Plan, name, shown};

/// Returns the first difference between two plans; `None` if they are the same.
pub(super) fn difference(old: &Plan, new: &Plan) -> Result<Option<Message>, Failure> {
    let a = old.foot();
    let b = new.foot();
    if let (Some(a), Some(b)) = (a.options.as_object(), b.options.as_object())
        && let Some(option) =
            a.keys().chain(b.keys()).find(|option| a.get(*option) != b.get(*option))
    {
        let was = a.get(option).cloned().unwrap_or_default();
        let is = b.get(option).cloned().unwrap_or_default();
        let flag = crate::plan::flag_of(option);
        return Ok(Some(message!("{flag} was {} and is {}", shown(&was), shown(&is); flag = flag)));
    }
    if a.entry_points != b.entry_points {
        return Ok(Some(
            message!("{entry_points} was {} and is {}", shown_flag(!a.entry_points), shown_flag(!b.entry_points); entry_points = Name::NoEntryPoints.on()),
        ));
    }
    if a.base != b.base {
        return Ok(Some("the data set was changed after the build was planned".into()));
    }
    if a.tool != b.tool {
        let a = shown::text(&a.tool);
        let b = shown::text(&b.tool);
        return Ok(Some(message!("it was planned by {a}, this is {b}")));
    }
    if let Some((was, is)) = a.sources.iter().zip(&b.sources).find(|(a, b)| a != b) {
        let root = b.roots.get(is.root as usize);
        let file =
            if is.path.is_empty() { root.cloned().unwrap_or_default() } else { is.path.clone() };
        let how = if was.path == is.path { "has changed" } else { "is another source" };
        return Ok(Some(message!("'{}' {how}", shown::text(&file))));
    }
    let shards = a.shards.len().max(b.shards.len());
    for shard in 0..shards {
        let same = match (a.shards.get(shard), b.shards.get(shard)) {
            (Some(a), Some(b)) => a.content == b.content && a.sources == b.sources,
            _ => false,
        };
        if !same {
            return changed_sample(old, new, shard).map(Some);
        }
    }
    Ok((a.content != b.content).then(|| "the plan differs".into()))
}

fn shown_flag(is_given: bool) -> &'static str {
    if is_given { "given" } else { "not given" }
}

/// Returns an option's value as text for a message.
fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "not given".into(),
        serde_json::Value::String(text) => format!("'{}'", shown::text(text)),
        serde_json::Value::Object(fields) => {
            let given = fields.iter().filter(|(_, v)| !v.is_null());
            given.map(|(k, v)| format!("{k} {}", shown(v))).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

fn changed_sample(old: &Plan, new: &Plan, shard: usize) -> Result<Message, Failure> {
    let mut was = old.samples(shard);
    let mut is = new.samples(shard);
    let mut a = PlannedSample::default();
    let mut b = PlannedSample::default();
    loop {
        let more_a = was.next_into(&mut a)?;
        let more_b = is.next_into(&mut b)?;
        let text = if more_a && more_b && a == b {
            continue;
        } else if more_a && more_b && a.source == b.source {
            format!("the files of '{}' have changed", name::shown(&a.source))
        } else if more_a && more_b && a.source < b.source {
            format!("'{}' is gone from the source", name::shown(&a.source))
        } else if more_b {
            format!("'{}' is new in the source", name::shown(&b.source))
        } else if more_a {
            format!("'{}' is gone from the source", name::shown(&a.source))
        } else {
            "the source folders have moved or changed".into()
        };
        return Ok(text.into());
    }
}
