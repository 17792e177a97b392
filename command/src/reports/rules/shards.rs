//! Tars, their sidecars and the manifest.

use tarflume_base::ProblemKind;

use super::RuleTexts;

pub(super) const RULES: &[RuleTexts] = &[
    RuleTexts {
        kind: ProblemKind::Truncated,
        matters: "The samples behind the cut are missing: an epoch is shorter, and nothing else says so.",
        happens: "An interrupted copy or upload, or a full disk.",
        mend: "Restore the file from a copy, or pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::MissingEnd,
        matters: "Readers cannot know whether samples are missing.",
        happens: "The program that wrote the tar was killed, or does not write the end marker.",
        mend: "Restore the file from a copy, or pack the samples again; pack index --allow-missing-end accepts a tar that lacks nothing else.",
    },
    RuleTexts {
        kind: ProblemKind::BadHeader,
        matters: "Readers end there or take data for names; what follows is lost.",
        happens: "Damaged storage, or a writer with a fault.",
        mend: "Restore the file from a copy, or pack the samples again.",
    },
    RuleTexts {
        kind: ProblemKind::Unsupported,
        matters: "A reader of shards takes the member for something else, or fails.",
        happens: "Sparse files, archives within archives, other compressions.",
        mend: "Unpack the archive with the program that made it, and pack the files again.",
    },
    RuleTexts {
        kind: ProblemKind::Gap,
        matters: "Readers end at the first end marker: the samples behind it are never seen.",
        happens: "Tars were joined with cat, or a header was overwritten with zeros.",
        mend: "Restore the file from a copy, or pack the samples again; --ignore-zeros reads tars that were joined.",
    },
    RuleTexts {
        kind: ProblemKind::Checksum,
        matters: "The part is not the one that was packed: pixels or labels changed without a trace in the file system.",
        happens: "A damaged disk or memory, a copy that failed in silence, or a file that was edited in the tar.",
        mend: "Restore the shard from a copy, or pack the samples again; if the change is wanted, make a new sidecar with pack index --force.",
    },
    RuleTexts {
        kind: ProblemKind::Digest,
        matters: "Some byte of the shard changed, if not one of a part.",
        happens: "A damaged disk, a copy that failed, or a tar that was packed again under the same name.",
        mend: "Restore the shard from a copy, or pack the samples again; if the change is wanted, make a new sidecar with pack index --force.",
    },
    RuleTexts {
        kind: ProblemKind::MissingIndex,
        matters: "Loaders cannot look samples up, shuffle globally or resume, and nothing proves the bytes.",
        happens: "The tar comes from another tool, or the sidecar was not copied.",
        mend: "Make it with pack index.",
    },
    RuleTexts {
        kind: ProblemKind::StaleIndex,
        matters: "Offsets of another tar point into the middle of files.",
        happens: "The tar was packed or copied again, and its sidecar was not.",
        mend: "Restore tar and sidecar from a copy; if the tar is right, make a new sidecar with pack index --force.",
    },
    RuleTexts {
        kind: ProblemKind::DamagedIndex,
        matters: "No sample of the shard can be looked up.",
        happens: "A damaged disk, or an interrupted copy.",
        mend: "Restore the sidecar from a copy, or make a new one with pack index --force.",
    },
    RuleTexts {
        kind: ProblemKind::MissingShard,
        matters: "An epoch is shorter than the data set states.",
        happens: "A copy left a file out, or the shard was deleted.",
        mend: "Restore the file from a copy; for tars without a manifest, make one with pack index.",
    },
    RuleTexts {
        kind: ProblemKind::StaleManifest,
        matters: "Totals, splits and classes are those of other shards; a loader refuses the data set or misses samples.",
        happens: "Shards were added or replaced by hand.",
        mend: "Restore shards and manifest from a copy; if the shards are right, make a new manifest with pack index --force.",
    },
    RuleTexts {
        kind: ProblemKind::DamagedManifest,
        matters: "The names of classes and the list of shards cannot be trusted.",
        happens: "An edit by hand, a merge of Git, or a damaged disk.",
        mend: "Restore dataset.json from a copy; if it was edited on purpose, accept it with pack index --accept-edits.",
    },
    RuleTexts {
        kind: ProblemKind::ForeignIndex,
        matters: "The other reader looks samples up at wrong places.",
        happens: "The shard was written again, and the index of DALI, Energon or wids was not.",
        mend: "Write the file again with pack index --force --export.",
    },
    RuleTexts {
        kind: ProblemKind::NoChecksum,
        matters: "Bytes that change are not found.",
        happens: "pack index --headers reads no data; earlier versions wrote no digest of the manifest.",
        mend: "Add checksums with pack index --force, and that of dataset.json with pack index --accept-edits.",
    },
    RuleTexts {
        kind: ProblemKind::NoSignature,
        matters: "Nothing proves who made the data set: who can write the files can write their digests, too.",
        happens: "The data set was not signed, or the signature was not copied with it.",
        mend: "Ask who packed the data set for its signature; pack sign makes one.",
    },
    RuleTexts {
        kind: ProblemKind::BadSignature,
        matters: "The data set is not the one that a trusted key has signed.",
        happens: "dataset.json was changed or appended to after it was signed, or another key signed it.",
        mend: "Restore dataset.json and dataset.json.minisig from a copy; who changed the data set on purpose signs it again.",
    },
];
