//! The shards of a report: how long each took, and what its parts show.

use tarflume_base::{Failure, units};
use tarflume_formats::message;
use tarflume_formats::message::Message;

use crate::verify::contents::parts::ShardParts;
use crate::verify::options::watch::{ShardCase, VerifiedShard};
use crate::verify::{Level, Report, Sifted};

impl Report {
    /// Returns the report of a verification that has not finished: it lists what it is told by [`Report::add_verified`].
    pub fn begun(level: Level) -> Report {
        let mut report = Report { finished: false, ..Report::new(level, Sifted::default()) };
        report
            .say(Message::words("the verification has not finished: no shard was verified so far"));
        report
    }

    /// Adds a shard to a report that has not finished, and at most `most` problems and warnings to its lists.
    pub fn add_verified(&mut self, shard: VerifiedShard<'_>, most: usize) {
        self.shards += 1;
        self.samples += shard.samples;
        self.bytes += shard.bytes;
        let room = most.saturating_sub(self.problems.len());
        self.problems.extend(shard.problems.iter().take(room).cloned());
        self.unlisted += shard.problems.len().saturating_sub(room) as u64;
        let room = most.saturating_sub(self.warnings.len());
        self.warnings.extend(shard.warnings.iter().take(room).cloned());
        self.cases.push(ShardCase { path: shard.path.into(), time: shard.time, is_absent: false });
        let shards = units::counted(self.shards, "shard was", "shards were");
        self.say(format!("the verification has not finished: {shards} verified so far").into());
    }

    /// Says why a verification ended before it had finished.
    pub fn ended(&mut self, failure: &Failure) {
        self.say(message!("the verification ended before it had finished: {why}"; why = failure.message()));
    }

    fn say(&mut self, what: Message) {
        self.unchecked = vec![what];
        self.judge();
    }

    /// Adds a shard with what its parts show, but for the values of fields.
    pub(in crate::verify) fn add_case(&mut self, case: ShardCase, parts: ShardParts) {
        self.cases.push(case);
        parts.warnings.into_iter().for_each(|warning| self.warn(warning));
        self.checked.join(parts.coverage);
    }

    /// Returns what was looked into by which check, of a verification that looks into parts: `checked: 3 shards, 30
    /// samples; jpg 30 decoded, bin 3 not checked`.
    pub fn coverage(&self) -> Option<Message> {
        let clauses = self.checked.clauses();
        let is_told = self.level == Level::Decode && !clauses.is_empty();
        is_told.then(|| {
            let shards = units::counted(self.shards, "shard", "shards");
            let samples = units::counted(self.samples, "sample", "samples");
            format!("checked: {shards}, {samples}; {clauses}").into()
        })
    }
}
