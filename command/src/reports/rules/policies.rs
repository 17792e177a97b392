//! Rules of a policy: pack.toml.

use tarflume_base::ProblemKind;

use super::RuleTexts;

pub(super) const RULES: &[RuleTexts] = &[
    RuleTexts {
        kind: ProblemKind::PolicyPart,
        matters: "The training expects the part in more samples.",
        happens: "A source without captions was added, or a copy lost files.",
        mend: "Add the parts and pack again, or change the share in pack.toml.",
    },
    RuleTexts {
        kind: ProblemKind::PolicyField,
        matters: "A label outside of the classes, a width of 0, a text for a number: a training fails or learns it.",
        happens: "Annotations of another tool or of another list of classes.",
        mend: "Correct the values and pack again, or change the bound in pack.toml.",
    },
    RuleTexts {
        kind: ProblemKind::PolicyClass,
        matters: "A class that is rare or gone is not learned, and a metric over all samples does not show it.",
        happens: "A source was added or left out, a split is not stratified, or labels were mapped wrongly.",
        mend: "Add samples or pack with a stratified split, or change the bound in pack.toml.",
    },
    RuleTexts {
        kind: ProblemKind::PolicyPicture,
        matters: "Tiny pictures are blurred by a resize, huge ones take the memory of a worker.",
        happens: "Thumbnails, placeholders of a web site, or originals that were not resized.",
        mend: "Leave the pictures out or resize them with pack reshard, or change the bound in pack.toml.",
    },
    RuleTexts {
        kind: ProblemKind::PolicyShards,
        matters: "Workers that read whole shards wait for the largest one; many small shards are slow in an object store.",
        happens: "Shards of several runs, or a data set that grew by appends.",
        mend: "Write even shards with pack reshard, or change the bound in pack.toml.",
    },
    RuleTexts {
        kind: ProblemKind::PolicyTotal,
        matters: "The data set is not the one that was agreed on.",
        happens: "Samples were added or lost, or only a part was copied.",
        mend: "Restore what is missing, or state the new total in pack.toml.",
    },
    RuleTexts {
        kind: ProblemKind::PolicyDuplicate,
        matters: "Validation measures what was learned by heart.",
        happens: "Pictures that were downloaded twice, or frames of one film in both sets.",
        mend: "Leave them out: pack dedupe --exclude-list writes the list for pack reshard --exclude.",
    },
    RuleTexts {
        kind: ProblemKind::PolicyAcceptance,
        matters: "What was accepted for a while would be accepted for ever.",
        happens: "The date was reached, or the data were repaired.",
        mend: "Repair the data, or decide again and write a new date; take out what matches nothing.",
    },
];
