//! What names and parts of samples are.

use tarflume_base::ProblemKind;

use super::RuleTexts;

pub(super) const RULES: &[RuleTexts] = &[
    RuleTexts {
        kind: ProblemKind::MissingPart,
        matters: "A batch needs all its columns: a loader drops the sample, fills it, or ends with an error, and the classes of those samples become rarer.",
        happens: "A file was not copied, a caption or a label was never made, or two tools name their parts differently.",
        mend: "Add the missing file and pack again, leave the sample out with --on-problem skip, or require fewer parts with --require.",
    },
    RuleTexts {
        kind: ProblemKind::NoExtension,
        matters: "Readers group files by the name up to the first dot: a file without one is dropped without a word.",
        happens: "Downloads without an extension, or README and LICENSE files in the folder.",
        mend: "Give the file an extension, or leave it out with --exclude.",
    },
    RuleTexts {
        kind: ProblemKind::BadName,
        matters: "Each reader splits names its own way, so the same tar gives other samples; a name with `..` writes outside of the folder when it is unpacked.",
        happens: "Names with leading dots, backslashes, control characters, absolute paths or bytes that are no UTF-8.",
        mend: "Rename the file and pack again; --names says which names are allowed or cleaned.",
    },
    RuleTexts {
        kind: ProblemKind::RepeatedPart,
        matters: "Readers take the first or the last of the two, so the content depends on the reader.",
        happens: "The same file was added twice, or names differ only in what packing cleans.",
        mend: "Rename or remove one of the files, and pack again.",
    },
    RuleTexts {
        kind: ProblemKind::RepeatedKey,
        matters: "A look-up by key finds one of two samples, duplicates are trained on twice, and splits leak.",
        happens: "Shards of two runs were put into one folder, or names are only unique within their folder.",
        mend: "Rename the files of one sample and pack again, or take one of the shards out of the data set.",
    },
    RuleTexts {
        kind: ProblemKind::CaseCollision,
        matters: "Unpacked on a file system that ignores case, one sample replaces the other.",
        happens: "Names of several cameras or people: `IMG_1` and `img_1`.",
        mend: "Rename the files of one sample and pack again; --names allows such keys.",
    },
    RuleTexts {
        kind: ProblemKind::Empty,
        matters: "A decoder fails on it in the middle of an epoch, or gives an empty text.",
        happens: "An interrupted download, a full disk, or a placeholder.",
        mend: "Restore the file from its source, or leave the sample out with --on-problem skip.",
    },
    RuleTexts {
        kind: ProblemKind::SplitSample,
        matters: "Readers that stream see two incomplete samples in place of one.",
        happens: "A tar was written by type or in the order of a folder that is not sorted.",
        mend: "Pack the samples again with pack reshard or pack build, which keep the parts of a sample together.",
    },
    RuleTexts {
        kind: ProblemKind::NotRegular,
        matters: "Readers skip it, so the sample lacks a part.",
        happens: "A folder of links was packed with tar.",
        mend: "Replace it by a regular file, or leave it out with --exclude.",
    },
    RuleTexts {
        kind: ProblemKind::Misread,
        matters: "The tar is whole, and the named reader still drops or misreads the file.",
        happens: "Readers differ in their rules about names, dots, folders and headers.",
        mend: "Rename the file and pack again, or do not use that reader.",
    },
];
