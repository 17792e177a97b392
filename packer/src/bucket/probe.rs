//! Notices stores that accept conditional writes and ignore the condition.

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use crate::bucket::data_set::Bucket;
use crate::bucket::layout;
use crate::bucket::objects::Put;

impl Bucket {
    /// Creates the same object twice. A store that reports both as written ignores conditions: then
    /// two builds of different data into this prefix could both publish.
    ///
    /// # Errors
    /// Returns an error if the store ignores conditions or does not answer.
    pub fn expect_conditions(&self) -> Result<(), Failure> {
        self.objects.delete(layout::PROBE)?;
        let first = self.objects.create(layout::PROBE, b"first")?;
        let second = self.objects.create(layout::PROBE, b"second")?;
        self.objects.delete(layout::PROBE)?;
        match (first, second) {
            (_, Put::Exists) => Ok(()),
            (_, Put::Written) => Err(Failure::usage(message!(
                "this store ignores the condition If-None-Match, so two commands that write to \
                 this prefix at once would not notice each other; use another store, or make sure \
                 that one command writes and give {single_writer}";
                single_writer = Name::SingleWriter.on()
            ))
            .in_file(self.url())),
        }
    }
}
