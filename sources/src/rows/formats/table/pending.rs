//! `Pending`: a row before its files are examined, and how it becomes a sample.

use std::path::Path;

use rayon::prelude::*;
use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_scan::links::Links;
use tarflume_scan::rows::builder::{RowName, RowPart, ScanBuilder};
use tarflume_table::TableRow;

use super::parts::{Key, Parts};
use super::template::Template;
use crate::rows::places::named_files::{Examined, FileExaminer, file_path, without_ext};

/// A row before its files are examined.
#[derive(Debug, Default)]
pub(super) struct Pending {
    number: u64,
    /// The key; `None` if it is the row's number over all sources.
    key: Option<Vec<u8>>,
    /// Position in [`Parts::files`] and path under the folder of the table.
    files: Vec<(usize, Vec<u8>)>,
    /// Position in [`Parts::texts`] and text.
    texts: Vec<(usize, Vec<u8>)>,
    /// The PNG of each of [`Parts::pictures`].
    pictures: Vec<Vec<u8>>,
    json: Vec<u8>,
    /// Why it is no sample.
    fault: Option<(ProblemKind, Message)>,
}

impl Parts {
    /// Takes what the parts need of a row of a table in `folder`.
    pub(super) fn pending(&self, folder: &Path, row: &TableRow, rules: JsonRules) -> Pending {
        let mut pending = Pending { number: row.number, ..Pending::default() };
        self.take_files(folder, row, rules, &mut pending);
        for (at, text) in self.texts.iter().enumerate() {
            let mut content = Vec::new();
            match text.text.content(row, rules, &mut content) {
                Ok(true) => pending.texts.push((at, content)),
                Ok(false) => {}
                Err(why) => pending.refuse(ProblemKind::MissingPart, &text.ext, why),
            }
        }
        for picture in &self.pictures {
            match picture.png(row) {
                Ok(png) => pending.pictures.push(png),
                Err(why) => pending.refuse(ProblemKind::BadImage, &picture.ext, why),
            }
        }
        match &self.key {
            Key::Number => {}
            Key::OfFile => {
                let first = pending.files.first();
                pending.key = first.map(|(_, path)| without_ext(path).to_vec());
            }
            Key::Of(key) => self.take_key(key, row, rules, &mut pending),
        }
        if let Some(writer) = &self.json {
            match writer.check(row, rules) {
                Ok(()) => writer.write(row, &mut pending.json),
                Err(why) => pending.fault = Some((ProblemKind::BadJson, why)),
            }
        }
        pending
    }

    fn take_files(&self, folder: &Path, row: &TableRow, rules: JsonRules, pending: &mut Pending) {
        for (at, file) in self.files.iter().enumerate() {
            let mut path = Vec::new();
            let named = file.path.name(row, rules, &mut path);
            let path = match named {
                Ok(false) if file.is_optional => continue,
                Ok(false) => Err("the row names no file".into()),
                Ok(true) => file_path(folder, &path),
                Err(why) => Err(why),
            };
            match path {
                Ok(path) => pending.files.push((at, path)),
                Err(why) => pending.refuse(ProblemKind::MissingPart, &file.ext, why),
            }
        }
    }

    /// Takes the key that an option names. The key that is the path of a file has no extension.
    fn take_key(&self, key: &Template, row: &TableRow, rules: JsonRules, pending: &mut Pending) {
        let mut name = Vec::new();
        match key.name(row, rules, &mut name) {
            Ok(true) => {}
            Ok(false) => pending.fault = Some((ProblemKind::BadName, "its key is empty".into())),
            Err(why) => pending.refuse(ProblemKind::BadName, "key", why),
        }
        let same = self.files.iter().position(|file| file.path.given() == key.given());
        if let Some(same) = same {
            let path = pending.files.iter().find(|(at, _)| *at == same);
            name = path.map_or(Vec::new(), |(_, path)| without_ext(path).to_vec());
        }
        pending.key = Some(name);
    }

    /// Examines the files of a batch and adds its rows.
    ///
    /// # Errors
    /// Returns an error if the machine fails.
    pub(super) fn push(
        &self,
        folder: &Path,
        source: u32,
        batch: Vec<Pending>,
        builder: &mut ScanBuilder<'_>,
    ) -> Result<(), Failure> {
        let links = Links::of(builder.options().follow_links);
        let examined = batch.par_iter().map_init(
            || FileExaminer::new(folder, links),
            |examiner, pending| {
                let files = pending.files.iter().map(|(_, path)| examiner.examine(path));
                files.collect::<Result<Vec<Examined>, Failure>>()
            },
        );
        let examined = examined.collect::<Result<Vec<Vec<Examined>>, Failure>>()?;
        for (pending, examined) in batch.iter().zip(examined) {
            let key = pending.key.clone().unwrap_or_else(|| builder.number().into_bytes());
            let row = RowName { source, row: pending.number };
            let mut fault = pending.fault.clone();
            let mut parts: Vec<(&str, RowPart<'_>)> = Vec::new();
            for ((at, path), found) in pending.files.iter().zip(examined) {
                match found {
                    Ok((size, stamp)) => {
                        parts.push((&self.files[*at].ext, RowPart::File { path, size, stamp }));
                    }
                    Err(why) => fault = fault.or(Some(why)),
                }
            }
            if let Some((kind, reason)) = fault {
                builder.refuse(row, kind, Some(&key), reason);
                continue;
            }
            let texts = pending.texts.iter();
            parts.extend(texts.map(|(at, text)| (&*self.texts[*at].ext, RowPart::Text(text))));
            let pictures = self.pictures.iter().zip(&pending.pictures);
            parts.extend(pictures.map(|(of, png)| (&*of.ext, RowPart::Text(png))));
            if self.json.is_some() {
                parts.push(("json", RowPart::Text(&pending.json)));
            }
            if !parts.is_empty() {
                self.note_missing(pending, row, builder);
            }
            builder.push(row, &key, &parts)?;
        }
        Ok(())
    }

    /// Notes the parts that a row lacks.
    fn note_missing(&self, pending: &Pending, row: RowName, builder: &mut ScanBuilder<'_>) {
        for (at, text) in self.texts.iter().enumerate() {
            if !pending.texts.iter().any(|(found, _)| *found == at) {
                builder.note_missing(row, text.text.given());
            }
        }
        for (at, file) in self.files.iter().enumerate() {
            if !pending.files.iter().any(|(found, _)| *found == at) {
                builder.note_missing(row, file.path.given());
            }
        }
    }
}

impl Pending {
    /// Notes why the row is no sample; `what` is the part.
    fn refuse(&mut self, kind: ProblemKind, what: &str, why: Message) {
        self.fault = Some((kind, message!("{what}: {why}"; why = why)));
    }
}
