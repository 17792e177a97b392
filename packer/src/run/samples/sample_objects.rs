//! `SampleObjects`: what one sample's parts tell about its objects, and the check of them.

use tarflume_base::check::objects::{self, ObjectFacts, is_mask};
use tarflume_base::check::{Fault, ImageSize};
use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::{ShardWriter, name};

/// The part with the objects.
const EXT: &[u8] = b"json";

/// The JSON, the picture and the masks of the sample that is packed.
#[derive(Debug, Default)]
pub(in crate::run) struct SampleObjects {
    /// The JSON with the number of its part.
    json: Option<(usize, Value)>,
    size: Option<ImageSize>,
    masks: Vec<(String, ImageSize)>,
}

/// A fault of the sample's objects.
pub(in crate::run) struct ObjectsFault {
    /// The number of the part that has them.
    pub(in crate::run) part: usize,
    pub(in crate::run) fault: Fault,
}

impl SampleObjects {
    /// Notes part `number`, the newest of the writer, which has this size if it is a picture.
    pub(in crate::run) fn see(
        &mut self,
        number: usize,
        ext: &[u8],
        size: Option<ImageSize>,
        rules: JsonRules,
        writer: &mut ShardWriter,
    ) {
        match size {
            Some(size) if is_mask(ext) => self.masks.push((name::shown(ext), size)),
            Some(size) => _ = self.size.get_or_insert(size),
            None if ext == EXT => {
                let read: Result<(), std::convert::Infallible> = writer.values(ext, |bytes, _| {
                    self.json = parse(bytes, rules).ok().map(|json| (number, json));
                    Ok(())
                });
                let Ok(()) = read;
            }
            None => {}
        }
    }

    /// Returns what is wrong with the objects, with the tables of the plan.
    pub(in crate::run) fn faults(&self, foot: &PlanFoot) -> Vec<ObjectsFault> {
        let Some((part, json)) = &self.json else { return Vec::new() };
        let facts = ObjectFacts {
            table: foot.about.objects.as_ref(),
            classes: foot.about.classes.as_ref(),
            size: self.size,
            masks: &self.masks,
        };
        let found = objects::check(json, facts).faults.into_iter();
        found
            .map(|fault| {
                let fault = Fault { kind: fault.kind, byte: 0, reason: fault.reason.into() };
                ObjectsFault { part: *part, fault }
            })
            .collect()
    }
}
