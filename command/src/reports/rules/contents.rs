//! What parts contain.

use tarflume_base::ProblemKind;

use super::RuleTexts;

pub(super) const RULES: &[RuleTexts] = &[
    RuleTexts {
        kind: ProblemKind::BadJpeg,
        matters: "A decoder fails, or fills the rest with gray: the model is trained on pixels that are not there.",
        happens: "An interrupted download, a damaged disk, or a program that cut the file.",
        mend: "Restore the picture from its source, or leave the sample out with --on-problem skip.",
    },
    RuleTexts {
        kind: ProblemKind::BadImage,
        matters: "A decoder fails in the middle of an epoch.",
        happens: "A damaged file, another format than its extension says, or a kind that is not decoded here.",
        mend: "Restore the picture from its source, or leave the sample out with --on-problem skip.",
    },
    RuleTexts {
        kind: ProblemKind::BadJson,
        matters: "Labels and captions of the sample cannot be read.",
        happens: "A text that was cut, NaN of a program in Python, or a comma too much of an edit by hand.",
        mend: "Correct the JSON, or accept what Python writes with --json-rules python.",
    },
    RuleTexts {
        kind: ProblemKind::Schema,
        matters: "A training reads a field that is missing, or a number that is a text.",
        happens: "The annotations come from several tools, or a tool changed its form.",
        mend: "Correct the JSON and pack again, or change the schema.",
    },
    RuleTexts {
        kind: ProblemKind::ClassName,
        matters: "Reports, charts and exports name a class that the samples do not have.",
        happens: "The manifest was edited, or annotations were made again with another order of classes.",
        mend: "Restore dataset.json from a copy, or pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::BadEntryPoints,
        matters: "A loader that decodes a crop begins at a wrong place of the JPEG.",
        happens: "The JPEG was replaced in place, or a sidecar of another tar was copied.",
        mend: "Make a new sidecar with pack index --force --entry-points.",
    },
    RuleTexts {
        kind: ProblemKind::Unexpected,
        matters: "The data that a result was made with are not these.",
        happens: "Shards were added, left out or packed again, and the expectation was not.",
        mend: "Restore the data set; if the change is wanted, write a new file with pack verify --write-expect.",
    },
    RuleTexts {
        kind: ProblemKind::BadPart,
        matters: "A reader of the part fails in the middle of an epoch, or reads other values.",
        happens: "An array that was cut, a file of another format with this extension, a member that was overwritten.",
        mend: "Restore the part from its source, or leave the sample out with --on-problem skip.",
    },
    RuleTexts {
        kind: ProblemKind::ConstantPicture,
        matters: "A picture of one color teaches nothing, and is labeled as if it did.",
        happens: "A placeholder of a web site, a camera with its cap on, a render that failed.",
        mend: "Look at the picture with pack view; get it again if it should have a content.",
    },
    RuleTexts {
        kind: ProblemKind::RepeatedValue,
        matters: "A sample that is there twice is weighted twice, or one of two samples has the id of the other.",
        happens: "Sources that overlap were joined, or ids were made for each source alone.",
        mend: "Find out which sample the value belongs to; leave the other out with --exclude.",
    },
    RuleTexts {
        kind: ProblemKind::UnlistedClass,
        matters: "A loss over classes fails or counts the sample to another class.",
        happens: "-1 or null for unlabeled samples, or a list of classes that is shorter than that of the labels.",
        mend: "Correct the class, or add it to the classes, and pack the samples again; leave unlabeled samples out with --where.",
    },
];
