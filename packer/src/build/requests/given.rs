//! `Given`: the options of a build that name what is joined, as text -> [`Join`].

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::ClassTable;
use tarflume_formats::files::{self, FileKind};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_sources::annotations::exports::ClassNames;
use tarflume_sources::join::JoinOptions;
use tarflume_table::TableOptions;

use super::joined::Join;
use crate::label::{ClassList, ClassesOption};

/// The options of a build that name what is joined, as text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    /// `--join`.
    pub(crate) join: &'a [String],
    /// `--coco`.
    pub(crate) coco: &'a [String],
    /// `--yolo`.
    pub(crate) yolo: Option<&'a str>,
    /// `--yolo-names`.
    pub(crate) yolo_names: Option<&'a Path>,
    /// `--voc`.
    pub(crate) voc: Option<&'a str>,
    /// `--annotations`.
    pub(crate) annotations: Option<&'a str>,
    /// `--classes`, for `--coco`, `--voc` and `--annotations`.
    pub(crate) classes: Option<&'a Path>,
}

impl Given<'_> {
    /// Parses the tables, which must be files.
    ///
    /// # Errors
    /// Returns an error for a malformed option and a missing file.
    pub(super) fn tables(self) -> Result<Vec<Join>, Failure> {
        self.join.iter().map(|text| table(text).map(Join::Table)).collect()
    }

    /// Parses the options that name annotations: several files of COCO, or one of another kind.
    ///
    /// # Errors
    /// Returns an error for several kinds, a malformed option, and a missing file.
    pub(super) fn annotations(self) -> Result<Vec<Join>, Failure> {
        let Given { coco, yolo, yolo_names, voc, annotations, classes, .. } = self;
        let others = [yolo, voc, annotations];
        if others.iter().flatten().count() + usize::from(!coco.is_empty()) > 1 {
            let text = message!("give one of {coco}, {yolo}, {voc} and {annotations}: a sample has objects of one kind"; coco = Name::Coco, yolo = Name::Yolo, voc = Name::Voc, annotations = Name::Annotations);
            return Err(Failure::usage(text));
        }
        if classes.is_some() && [voc, annotations] == [None, None] && coco.is_empty() {
            let text = message!("{classes} numbers the classes of {label}, {coco}, {voc} and {annotations}: give one of them"; classes = Name::Classes, label = Name::Label, coco = Name::Coco, voc = Name::Voc, annotations = Name::Annotations);
            return Err(Failure::usage(text));
        }
        if yolo.is_none() && yolo_names.is_some() {
            return Err(Failure::usage(
                message!("{yolo_names}: there is no {yolo}"; yolo_names = Name::YoloNames, yolo = Name::Yolo),
            ));
        }
        if let Some(text) = annotations {
            let names = classes.map(class_names).transpose()?;
            let options = JoinOptions::parse(text, Name::Annotations)?;
            check_kind(&options.file, Name::Annotations, FileKind::File)?;
            return Ok(vec![Join::Exported(options, names)]);
        }
        if let Some(text) = yolo {
            if let Some(names) = yolo_names {
                check_kind(names, Name::YoloNames, FileKind::File)?;
            }
            let names = yolo_names.map(Path::to_path_buf);
            return Ok(vec![Join::Yolo(parsed(text, Name::Yolo, FileKind::Folder)?, names)]);
        }
        if let Some(text) = voc {
            let table = classes.map(listed).transpose()?;
            return Ok(vec![Join::Voc(parsed(text, Name::Voc, FileKind::Folder)?, table)]);
        }
        let listed = classes.filter(|_| !coco.is_empty()).map(listed).transpose()?;
        let coco = coco.iter().map(|text| parsed(text, Name::Coco, FileKind::File));
        coco.map(|options| Ok(Join::Coco(options?, listed.clone()))).collect()
    }
}

fn table(text: &str) -> Result<JoinOptions, Failure> {
    let mut options = JoinOptions::parse(text, Name::Join)?;
    options.find_tables()?;
    for table in &options.tables {
        check_kind(table, Name::Join, FileKind::File)?;
    }
    Ok(options)
}

fn parsed(text: &str, flag: Name, kind: FileKind) -> Result<JoinOptions, Failure> {
    let options = JoinOptions::parse(text, flag)?;
    check_kind(&options.file, flag, kind)?;
    if options.table != TableOptions::default() {
        let why = message!("{flag}: {} are options of tables; leave them out", options.table.planned().trim_start_matches(','); flag = flag);
        return Err(Failure::usage(why).in_file(&options.file));
    }
    Ok(options)
}

/// Reads the file of `--classes` for exported annotations: a table of words and names, or a list of names.
fn class_names(given: &Path) -> Result<ClassNames, Failure> {
    let ClassesOption { file, order, table } = ClassesOption::parse(given)?;
    match file.as_ref().filter(|path| order.is_none() && is_table(path)) {
        Some(path) => {
            check_kind(path, Name::Classes, FileKind::File)?;
            ClassNames::read(path, &table)
        }
        None => listed(given).map(ClassNames::of),
    }
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case("csv"))
}

/// Returns the classes of `--classes`, which must name a file.
fn listed(given: &Path) -> Result<ClassTable, Failure> {
    let list = ClassList::read(&ClassesOption::parse(given)?)?;
    list.into_fixed().ok_or_else(|| {
        Failure::usage(message!("{given}: give a file that lists the classes"; given = Name::Classes.is(given)))
    })
}

fn check_kind(path: &Path, flag: Name, wanted: FileKind) -> Result<(), Failure> {
    let found = files::kind(path)?;
    if found == Some(wanted) {
        return Ok(());
    }
    let what = match (found, wanted) {
        (None, _) => "there is no such file or folder",
        (_, FileKind::Folder) => "this is no folder",
        _ => "this is no file",
    };
    Err(Failure::usage(message!("{given}: {what}"; given = flag.is(path))).with_file(path))
}
