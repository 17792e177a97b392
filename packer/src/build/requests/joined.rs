//! `Join`: what a build joins to its samples, and the opening of it.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Name, Setting};
use tarflume_formats::{About, ClassTable};
use tarflume_scan::Scan;
use tarflume_scan::folders::walk::Watch;
use tarflume_scan::links::Links;
use tarflume_sources::annotations::exports::{ClassNames, ExportedFile};
use tarflume_sources::annotations::{coco, exports, voc, yolo};
use tarflume_sources::join::rows::{NamedBy, TableFile, TableRows};
use tarflume_sources::join::{JoinOptions, JoinRows, JoinSource, image_folder};
use tarflume_table::TableOptions;
use tarflume_table::values::recorded::Recorded;

use super::join_fields::{add_new, described};
use crate::label;

/// What is joined to the samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Join {
    /// Tables of metadata of an image folder, if there are any.
    #[default]
    Auto,
    /// Nothing.
    Nothing,
    /// A table.
    Table(JoinOptions),
    /// The annotations of a COCO file, and the classes that have numbers already.
    Coco(JoinOptions, Option<ClassTable>),
    /// The label files of a folder, and a file with the names of classes.
    Yolo(JoinOptions, Option<PathBuf>),
    /// The XML files of a folder, and the classes that have numbers already.
    Voc(JoinOptions, Option<ClassTable>),
    /// A file that another program has exported, and the classes that have numbers already.
    Exported(JoinOptions, Option<ClassNames>),
}

/// How the files of a description are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// Which texts are JSON.
    pub(crate) rules: JsonRules,
    pub(crate) links: Links,
}

impl Join {
    /// Returns the name of the file in a text of [`Join::planned`].
    pub(crate) fn file_of(planned: &str) -> &str {
        let text = planned.split_once(' ').map_or(planned, |(_, text)| text);
        text.split_once(":as=").map_or(text, |(file, _)| file)
    }

    /// Returns true if samples get JSON for certain.
    pub(crate) fn is_certain(&self) -> bool {
        !matches!(self, Join::Auto | Join::Nothing)
    }

    fn options(&self) -> Option<&JoinOptions> {
        match self {
            Join::Auto | Join::Nothing => None,
            Join::Table(options)
            | Join::Coco(options, _)
            | Join::Yolo(options, _)
            | Join::Voc(options, _)
            | Join::Exported(options, _) => Some(options),
        }
    }

    /// Returns a digest of the classes that have numbers already for the plan's options.
    pub(crate) fn classes(&self) -> Option<String> {
        match self {
            Join::Voc(_, Some(table)) | Join::Coco(_, Some(table)) => Some(label::digest(table)),
            Join::Exported(_, Some(names)) => Some(label::digest(names.table())),
            _ => None,
        }
    }

    /// Permits no other classes than these.
    pub(crate) fn fix_classes(&mut self, table: &ClassTable) {
        match self {
            Join::Voc(_, fixed) | Join::Coco(_, fixed) => *fixed = Some(table.clone()),
            Join::Exported(_, names) => *names = Some(ClassNames::of(table.clone())),
            _ => {}
        }
    }

    /// Returns the extension of the new part.
    pub(crate) fn ext(&self) -> &str {
        self.options().map_or("json", JoinOptions::ext)
    }

    /// Returns the word for the plan's options.
    fn word(&self) -> &'static str {
        match self {
            Join::Auto => "auto",
            Join::Nothing => "none",
            Join::Table(_) => "table",
            Join::Coco(..) => "coco",
            Join::Yolo(..) => "yolo",
            Join::Voc(..) => "voc",
            Join::Exported(..) => "annotations",
        }
    }

    /// Returns the text for the plan's options; `None` for the default.
    pub(crate) fn planned(&self) -> Option<String> {
        match (self, self.options()) {
            (Join::Auto, _) => None,
            (_, None) => Some(self.word().into()),
            (_, Some(options)) => Some(format!("{} {}", self.word(), options.planned())),
        }
    }

    /// Returns what an append joins: what is given, with the options of the data set's first build,
    /// which [`Join::planned`] has `recorded`.
    ///
    /// # Errors
    /// Returns an error if nothing is given and the first build had a table or annotations, and if
    /// another kind or another option is given.
    pub(crate) fn following(
        mut self,
        recorded: Option<&str>,
        is_given: bool,
    ) -> Result<Join, Failure> {
        let recorded = recorded.unwrap_or("auto");
        let (word, text) = recorded.split_once(' ').unwrap_or((recorded, ""));
        let first = match word {
            "none" if !is_given => return Ok(Join::Nothing),
            "auto" | "none" if self.word() == word => return Ok(self),
            "auto" | "none" => {
                return Err(self.differs(Name::Join.is(word)));
            }
            _ => JoinOptions::parse(text, flag_of(word))?,
        };
        let name = first.file.file_name().unwrap_or_default();
        let packed = flag_of(word).is(Path::new(name));
        if !is_given {
            let given = if matches!(word, "yolo" | "voc") { "DIR" } else { "FILE" };
            return Err(Failure::usage(message!(
                "the data set was packed with {packed}; give {} again, with the new ones alone or with \
                 all: {again}",
                if word == "table" { "the rows" } else { "the annotations" };
                packed = packed,
                again = flag_of(word).stand(given)
            )));
        }
        if self.word() != word {
            return Err(self.differs(packed));
        }
        if let Some(options) = self.options_mut() {
            options.follow(&first, flag_of(word))?;
        }
        Ok(self)
    }

    /// Returns the error for another kind than that of the first build, which had the flag `packed`.
    fn differs(&self, packed: Setting) -> Failure {
        let given = match self.options() {
            Some(options) => flag_of(self.word()).is(&options.file),
            None => Name::Join.is(self.word()),
        };
        let remedy = "an append joins what the first build joined; pack the new samples into another \
                      folder to join something else, and read both data sets";
        Failure::usage(
            message!("{given}: the data set was packed with {packed}; {remedy}"; given = given, packed = packed),
        )
    }

    fn options_mut(&mut self) -> Option<&mut JoinOptions> {
        match self {
            Join::Auto | Join::Nothing => None,
            Join::Table(options)
            | Join::Coco(options, _)
            | Join::Yolo(options, _)
            | Join::Voc(options, _)
            | Join::Exported(options, _) => Some(options),
        }
    }

    /// Returns the paths under the roots of files that are no parts, because they are joined.
    pub(crate) fn paths_under(&self, roots: &[PathBuf]) -> Vec<Vec<u8>> {
        let names = match self {
            Join::Yolo(_, Some(names)) => Some(names.as_path()),
            _ => None,
        };
        let tables = self.options().map(|options| options.tables.as_slice()).unwrap_or(&[]);
        let files = tables.iter().map(PathBuf::as_path).chain(names);
        files
            .filter_map(|file| {
                let rest = roots.iter().find_map(|root| file.strip_prefix(root).ok())?;
                Some(rest.as_os_str().as_bytes().to_vec())
            })
            .collect()
    }

    /// Opens what is joined to the samples; `None` if it is nothing. Adds classes and columns to the
    /// description of the samples. Classes and columns of `before`, the data set that gets more
    /// samples, keep their ids and types.
    ///
    /// # Errors
    /// Returns the errors of the readers.
    pub(crate) fn open(
        &self,
        scan: &mut Scan,
        roots: &[PathBuf],
        before: &About,
        reading: Reading,
        watch: Watch<'_>,
    ) -> Result<Option<JoinSource>, Failure> {
        let own = scan.about.columns.len();
        let Some(mut source) = self.opened(scan, roots, before, reading, watch)? else {
            return Ok(None);
        };
        source.json = reading.rules;
        let columns = scan.about.columns.split_off(own);
        if let Some(options) = self.options() {
            let is_table = matches!(self, Join::Table(_));
            let columns = described(options, is_table, columns, &mut source)?;
            add_new(columns, &mut scan.about.columns);
        } else {
            scan.about.columns.extend(columns);
        }
        Ok(Some(source))
    }

    fn opened(
        &self,
        scan: &mut Scan,
        roots: &[PathBuf],
        before: &About,
        reading: Reading,
        watch: Watch<'_>,
    ) -> Result<Option<JoinSource>, Failure> {
        let Reading { rules, links } = reading;
        let recorded = Recorded::of(&before.columns);
        let source = match self {
            Join::Nothing => return Ok(None),
            Join::Auto if scan.tables.is_empty() => return Ok(None),
            Join::Auto => image_folder(scan, roots, &recorded, rules, watch.stop)?,
            Join::Table(options) => {
                let tables = options.tables.iter().map(|path| TableFile {
                    path: path.clone(),
                    folder: if options.is_pattern() { folder_of(path, roots) } else { Vec::new() },
                });
                let tables: Vec<TableFile> = tables.collect();
                let by_field = options.rules.key();
                let key = if options.rules.ordered {
                    NamedBy::Order
                } else {
                    NamedBy::of(options.key.as_deref().or(by_field.as_deref()))
                };
                let table = TableOptions { rules, ..options.table.clone() };
                let recorded = if options.rules.collects {
                    Recorded::of_elements(&before.columns)
                } else {
                    recorded
                };
                let (rows, columns) =
                    TableRows::survey(&tables, &table, key, &recorded, watch.stop)?;
                scan.about.columns.extend(columns);
                scan.notes.extend(rows.notes());
                let key = rows.key();
                let files = options.tables.clone();
                JoinSource { key, ..source(options, Box::new(rows), files, Name::Join) }
            }
            Join::Coco(options, listed) => {
                let (rows, about) = coco::open(&options.file, listed.as_ref(), before, watch.stop)?;
                add(scan, about);
                source(options, Box::new(rows), vec![options.file.clone()], Name::Coco)
            }
            Join::Yolo(options, names) => {
                let names = names.as_deref();
                let found = yolo::open(&options.file, names, before, links, watch)?;
                add(scan, found.about);
                scan.newest = scan.newest.max(found.newest);
                let files = vec![options.file.clone()];
                let mut source = source(options, Box::new(found.rows), files, Name::Yolo);
                source.without = Some(found.without);
                return Ok(Some(source));
            }
            Join::Voc(options, classes) => {
                let classes = classes.as_ref();
                let found = voc::open(&options.file, before, classes, links, watch)?;
                scan.notes.extend(found.note);
                add(scan, found.about);
                scan.newest = scan.newest.max(found.newest);
                let files = vec![options.file.clone()];
                return Ok(Some(source(options, Box::new(found.rows), files, Name::Voc)));
            }
            Join::Exported(options, names) => {
                let file = ExportedFile { path: &options.file, table: &options.table };
                let found = exports::open(file, names.as_ref(), before, watch.stop)?;
                add(scan, found.about);
                let files = vec![options.file.clone()];
                let mut source = source(options, Box::new(found.rows), files, Name::Annotations);
                source.without = found.without;
                source
            }
        };
        for file in &source.files {
            let found = files::metadata(file, "examine")?;
            let written = nanoseconds(found.mtime(), found.mtime_nsec());
            let changed = nanoseconds(found.ctime(), found.ctime_nsec());
            scan.newest = scan.newest.max(written.min(changed));
        }
        Ok(Some(source))
    }
}

/// Returns what is before the names in a table of a pattern: its folder under the source, as in image folders.
fn folder_of(table: &Path, roots: &[PathBuf]) -> Vec<u8> {
    let folder = table.parent();
    let under =
        folder.and_then(|folder| roots.iter().find_map(|root| folder.strip_prefix(root).ok()));
    match under.map(|under| under.as_os_str().as_bytes()) {
        None | Some(b"") => Vec::new(),
        Some(under) => [under, b"/"].concat(),
    }
}

fn nanoseconds(s: i64, ns: i64) -> i64 {
    s.saturating_mul(1_000_000_000).saturating_add(ns)
}

fn source(
    options: &JoinOptions,
    rows: Box<dyn JoinRows>,
    files: Vec<PathBuf>,
    flag: Name,
) -> JoinSource {
    JoinSource {
        rows,
        files,
        on: options.on,
        ext: options.ext().into(),
        without: None,
        flag,
        rules: options.rules.clone(),
        key: None,
        json: JsonRules::default(),
        merges: false,
    }
}

fn add(scan: &mut Scan, about: About) {
    scan.about.columns.extend(about.columns);
    // Captions beside instances have no classes and no boxes.
    let has_classes = about.classes.as_ref().is_some_and(|classes| !classes.names.is_empty());
    if has_classes || scan.about.classes.is_none() {
        scan.about.classes = about.classes;
    }
    if about.objects.is_some() && (has_classes || scan.about.objects.is_none()) {
        scan.about.objects = about.objects;
    }
}

/// Returns the flag of a word in the plan's options.
fn flag_of(word: &str) -> Name {
    match word {
        "coco" => Name::Coco,
        "yolo" => Name::Yolo,
        "voc" => Name::Voc,
        "annotations" => Name::Annotations,
        _ => Name::Join,
    }
}
