//! The begin of a pass.

use tarflume_formats::Result;
use tarflume_shards::cursor::Cursor;
use tarflume_shards::index::rows::Rows;

use super::opening::Opened;
use super::undecoded::Undecoded;
use super::{LongParts, Pass, inside};
use crate::class_field::ClassCounts;
use crate::verify::contents::class_names::ClassNames;
use crate::verify::contents::points::Jpegs;
use crate::verify::contents::values::StoredValues;
use crate::verify::options::{Level, Options};

impl<'a> Pass<'a> {
    /// Begins a pass that looks into parts of at most `whole` bytes.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub(super) fn begin(
        opened: Opened<'a>,
        whole: u64,
        options: &'a Options,
        on_bytes: &'a (dyn Fn(u64) + Sync),
    ) -> Result<Pass<'a>> {
        let Opened { tar, reader, packed, sidecar, problems } = opened;
        let reader = reader.ignore_zeros(options.ignore_zeros);
        Ok(Pass {
            tar,
            same_length: sidecar.is_some_and(|index| index.tar_length() == reader.length()),
            is_shorter: sidecar.is_some_and(|index| index.tar_length() > reader.length()),
            until: u64::MAX,
            padding: None,
            packed,
            reader,
            cursor: sidecar.map(|index| Cursor::new(tar, index)).transpose()?,
            decode: options.level == Level::Decode,
            whole,
            long: LongParts::default(),
            undecoded: Undecoded::new(options.check),
            schemas: &options.schemas,
            json: options.json.unwrap_or_default(),
            class: options.class.as_ref(),
            class_names: ClassNames::new(
                options.class_table.as_ref(),
                options.json.unwrap_or_default(),
            ),
            values: sidecar
                .map(|index| StoredValues::new(tar, index, options.json.unwrap_or_default()))
                .transpose()?
                .flatten(),
            parts: inside::parts_of(tar, options),
            objects: inside::objects_of(options),
            measure: inside::measure_of(options),
            classes: ClassCounts::default(),
            stop: &options.stop,
            rows: Rows::new(),
            problems,
            jpegs: Jpegs::of(tar.display().to_string()),
            on_bytes,
            reported: 0,
        })
    }
}
