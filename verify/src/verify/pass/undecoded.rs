//! `Undecoded`: pictures of a shard of kinds and sizes that are not decoded here, and that packing has accepted.

use std::path::Path;

use tarflume_base::check::{CheckLevel, CheckedPart, Content, Fault};
use tarflume_base::{Problem, units};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::name;
use tarflume_formats::tar::Member;

/// Their number, and the first one.
#[derive(Debug, Default)]
pub(super) struct Undecoded {
    /// Whether packing has accepted such pictures.
    are_accepted: bool,
    pictures: u64,
    first: Option<Problem>,
}

/// A part of a shard.
pub(super) struct Picture<'a> {
    pub(super) tar: &'a Path,
    pub(super) member: &'a Member,
    pub(super) key: &'a [u8],
    pub(super) content: Content,
    pub(super) data: &'a [u8],
}

impl Undecoded {
    /// Begins a shard whose parts were checked at this level when they were packed.
    pub(super) fn new(packed: Option<CheckLevel>) -> Undecoded {
        let are_accepted = packed == Some(CheckLevel::Structure);
        Undecoded { are_accepted, ..Undecoded::default() }
    }

    /// Decodes a part as far as that can be done at once. A picture that packing has accepted undecoded has no fault, and is counted.
    ///
    /// # Errors
    /// Returns the first fault found.
    pub(super) fn check(
        &mut self,
        part: &Picture<'_>,
        json: JsonRules,
    ) -> Result<CheckedPart, Fault> {
        let fault = match part.content.check(part.data, CheckLevel::Decode, json) {
            Err(fault) if self.are_accepted && part.content.is_image() => fault,
            other => return other,
        };
        let Ok(accepted) = part.content.check(part.data, CheckLevel::Structure, json) else {
            return Err(fault);
        };
        self.pictures += 1;
        if self.first.is_none() {
            let tar = part.tar.display().to_string();
            let problem = Problem::new(fault.kind, tar, fault.reason);
            let place = part.member.data + fault.byte;
            self.first = Some(problem.at(place).of(name::shown(part.key)));
        }
        Ok(CheckedPart { unread: Some("kinds that are not decoded here"), ..accepted })
    }

    /// Returns one warning for all of them.
    pub(super) fn warning(self) -> Option<Problem> {
        let Problem { reason, .. } = self.first.as_ref()?;
        let others = match self.pictures - 1 {
            0 => String::new(),
            others => {
                let others = units::counted(others, "other picture", "other pictures");
                format!("; {others} of this shard, too")
            }
        };
        let reason = message!("{reason}{others}. `{build}` refuses such pictures"; reason = reason, build = Call::of(Task::Build).with(Name::Check.is("decode")));
        self.first.map(|first| Problem { reason, ..first })
    }
}
