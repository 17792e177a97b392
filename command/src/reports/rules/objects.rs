//! Boxes, polygons, regions and keypoints.

use tarflume_base::ProblemKind;

use super::RuleTexts;

pub(super) const RULES: &[RuleTexts] = &[
    RuleTexts {
        kind: ProblemKind::BadBox,
        matters: "A loss of an empty or infinite box is NaN.",
        happens: "Corners in another order, sizes taken for corners, or objects that were cut to nothing.",
        mend: "Correct the annotations, and pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::BoxOutside,
        matters: "The box covers pixels that are not there, and its center moves after a crop.",
        happens: "The picture was resized or rotated, and its annotations were not.",
        mend: "Correct the annotations, and pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::WrongClass,
        matters: "The model has no output for the class, or trains another one.",
        happens: "Ids of another list of classes, or from 1 instead of 0.",
        mend: "Restore dataset.json from a copy, or add the class to the annotations and pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::BadPolygon,
        matters: "The mask of the object is empty or another one.",
        happens: "A tool exports points one by one, or cuts long lists.",
        mend: "Correct the annotations, and pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::BadRegion,
        matters: "The mask is shifted, because each run begins where the one before ends.",
        happens: "Run lengths of another order of pixels, or of another size of the picture.",
        mend: "Correct the annotations, and pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::SizeMismatch,
        matters: "Each pixel has the label of another place.",
        happens: "The picture was resized, rotated by its EXIF, or replaced.",
        mend: "Find out whether picture or annotation was resized or rotated, and pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::BadKeypoints,
        matters: "Keypoints are taken for others: an elbow for a knee.",
        happens: "Annotations of two projects with other skeletons.",
        mend: "Correct the annotations, and pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::UnequalLists,
        matters: "From the missing entry on, each label belongs to another box.",
        happens: "A filter took entries out of one list alone.",
        mend: "Correct the annotations, and pack the samples again.",
    },
];
