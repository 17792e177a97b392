//! What packing alone finds.

use tarflume_base::ProblemKind;

use super::RuleTexts;

pub(super) const RULES: &[RuleTexts] = &[
    RuleTexts {
        kind: ProblemKind::Unreadable,
        matters: "The sample cannot be packed.",
        happens: "Permissions, a damaged disk, or a network that is gone.",
        mend: "Check the permissions of the file and the state of the disk, and run the command again.",
    },
    RuleTexts {
        kind: ProblemKind::Changed,
        matters: "The shard would not be the one that the plan promised to other machines.",
        happens: "The folder is still being written.",
        mend: "Make a new plan: run the same command with --fresh.",
    },
    RuleTexts {
        kind: ProblemKind::NoClass,
        matters: "The sample has no label.",
        happens: "A file beside the folders of classes.",
        mend: "Correct what states its class, or --label, or leave the file out with --exclude.",
    },
    RuleTexts {
        kind: ProblemKind::UnknownClass,
        matters: "Its samples have no number.",
        happens: "A folder with another spelling, or a class that is new.",
        mend: "Add the class to the file of --classes, or leave its files out with --exclude.",
    },
    RuleTexts {
        kind: ProblemKind::AmbiguousClass,
        matters: "Samples of two folders would have one label.",
        happens: "The same name at several levels of folders.",
        mend: "Name the level of the class with --label folder=N.",
    },
    RuleTexts {
        kind: ProblemKind::EmptyClass,
        matters: "The class has a number and no samples.",
        happens: "A download that failed, or a filter.",
        mend: "Fill the folder, or remove it.",
    },
    RuleTexts {
        kind: ProblemKind::SeveralPictures,
        matters: "A reader takes one of them, and which one is chance.",
        happens: "Pairs of pictures whose names share a key.",
        mend: "Rename the pictures, or name the parts of a sample with --require.",
    },
    RuleTexts {
        kind: ProblemKind::NoSplit,
        matters: "The sample would be in no data set.",
        happens: "A list of a split that does not name it.",
        mend: "Correct --split or --split-by so that each sample has a split.",
    },
    RuleTexts {
        kind: ProblemKind::Duplicate,
        matters: "Nothing is lost: the picture is there once.",
        happens: "The same file under two names.",
        mend: "Nothing has to be done; without --dedupe the sample is packed.",
    },
    RuleTexts {
        kind: ProblemKind::Differs,
        matters: "The data set keeps the old files.",
        happens: "Files of the folder were replaced after they were packed.",
        mend: "Build the data set again if the new files are to replace the old ones.",
    },
    RuleTexts {
        kind: ProblemKind::OrphanRow,
        matters: "The label of the row is not used.",
        happens: "A name in the table with another folder, extension or spelling.",
        mend: "Correct the name in the table, or add the file.",
    },
    RuleTexts {
        kind: ProblemKind::MissingRow,
        matters: "The sample has no label.",
        happens: "A table of an earlier state of the folder.",
        mend: "Add the row, or leave the sample out with --on-problem skip.",
    },
    RuleTexts {
        kind: ProblemKind::RepeatedRow,
        matters: "Which of the labels is right is not known.",
        happens: "Tables were joined, or several people labeled the picture.",
        mend: "Remove one of the rows.",
    },
    RuleTexts {
        kind: ProblemKind::AmbiguousRow,
        matters: "The label could be of another sample.",
        happens: "The table has names without folders, and two folders have the same name.",
        mend: "Write the path of the file into the table instead of its name.",
    },
];
