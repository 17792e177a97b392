//! What to do about each kind of problem, in the words of the command. For reports; the reason of a problem names its place.

use tarflume_base::ProblemKind;

/// Returns a sentence that says what to do.
pub(crate) fn remedy(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::MissingPart => {
            "Add the missing file and pack again, leave the sample out with --on-problem skip, or require fewer parts with --require."
        }
        ProblemKind::NoExtension => "Give the file an extension, or leave it out with --exclude.",
        ProblemKind::BadName => {
            "Rename the file and pack again; --names says which names are allowed or cleaned."
        }
        ProblemKind::RepeatedPart => "Rename or remove one of the files, and pack again.",
        ProblemKind::RepeatedKey => {
            "Rename the files of one sample and pack again, or take one of the shards out of the data set."
        }
        ProblemKind::CaseCollision => {
            "Rename the files of one sample and pack again; --names allows such keys."
        }
        ProblemKind::Empty => {
            "Restore the file from its source, or leave the sample out with --on-problem skip."
        }
        ProblemKind::Unreadable => {
            "Check the permissions of the file and the state of the disk, and run the command again."
        }
        ProblemKind::Changed => "Make a new plan: run the same command with --fresh.",
        ProblemKind::BadJpeg | ProblemKind::BadImage => {
            "Restore the picture from its source, or leave the sample out with --on-problem skip."
        }
        ProblemKind::BadJson => {
            "Correct the JSON, or accept what Python writes with --json-rules python."
        }
        ProblemKind::NoClass => {
            "Correct what states its class, or --label, or leave the file out with --exclude."
        }
        ProblemKind::UnknownClass => {
            "Add the class to the file of --classes, or leave its files out with --exclude."
        }
        ProblemKind::AmbiguousClass => "Name the level of the class with --label folder=N.",
        ProblemKind::EmptyClass => "Fill the folder, or remove it.",
        ProblemKind::SeveralPictures => {
            "Rename the pictures, or name the parts of a sample with --require."
        }
        ProblemKind::NoSplit => "Correct --split or --split-by so that each sample has a split.",
        ProblemKind::NotRegular => "Replace it by a regular file, or leave it out with --exclude.",
        ProblemKind::Duplicate => "Nothing has to be done; without --dedupe the sample is packed.",
        ProblemKind::Differs => {
            "Build the data set again if the new files are to replace the old ones."
        }
        ProblemKind::OrphanRow => "Correct the name in the table, or add the file.",
        ProblemKind::MissingRow => "Add the row, or leave the sample out with --on-problem skip.",
        ProblemKind::RepeatedRow => "Remove one of the rows.",
        ProblemKind::AmbiguousRow => {
            "Write the path of the file into the table instead of its name."
        }
        ProblemKind::Truncated | ProblemKind::BadHeader => {
            "Restore the file from a copy, or pack the samples again."
        }
        ProblemKind::MissingEnd => {
            "Restore the file from a copy, or pack the samples again; pack index --allow-missing-end accepts a tar that lacks nothing else."
        }
        ProblemKind::Unsupported => {
            "Unpack the archive with the program that made it, and pack the files again."
        }
        ProblemKind::Gap => {
            "Restore the file from a copy, or pack the samples again; --ignore-zeros reads tars that were joined."
        }
        ProblemKind::Checksum | ProblemKind::Digest => {
            "Restore the shard from a copy, or pack the samples again; if the change is wanted, make a new sidecar with pack index --force."
        }
        ProblemKind::SplitSample => {
            "Pack the samples again with pack reshard or pack build, which keep the parts of a sample together."
        }
        ProblemKind::MissingIndex => "Make it with pack index.",
        ProblemKind::StaleIndex => {
            "Restore tar and sidecar from a copy; if the tar is right, make a new sidecar with pack index --force."
        }
        ProblemKind::DamagedIndex => {
            "Restore the sidecar from a copy, or make a new one with pack index --force."
        }
        ProblemKind::BadEntryPoints => "Make a new sidecar with pack index --force --entry-points.",
        ProblemKind::MissingShard => {
            "Restore the file from a copy; for tars without a manifest, make one with pack index."
        }
        ProblemKind::StaleManifest => {
            "Restore shards and manifest from a copy; if the shards are right, make a new manifest with pack index --force."
        }
        ProblemKind::DamagedManifest => {
            "Restore dataset.json from a copy; if it was edited on purpose, accept it with pack index --accept-edits."
        }
        ProblemKind::ForeignIndex => "Write the file again with pack index --force --export.",
        ProblemKind::ClassName => "Restore dataset.json from a copy, or pack the samples again.",
        ProblemKind::NoChecksum => {
            "Add checksums with pack index --force, and that of dataset.json with pack index --accept-edits."
        }
        ProblemKind::Schema => "Correct the JSON and pack again, or change the schema.",
        ProblemKind::Unexpected => {
            "Restore the data set; if the change is wanted, write a new file with pack verify --write-expect."
        }
        ProblemKind::BadBox
        | ProblemKind::BoxOutside
        | ProblemKind::BadPolygon
        | ProblemKind::BadRegion
        | ProblemKind::BadKeypoints
        | ProblemKind::UnequalLists => "Correct the annotations, and pack the samples again.",
        ProblemKind::WrongClass => {
            "Restore dataset.json from a copy, or add the class to the annotations and pack the samples again."
        }
        ProblemKind::SizeMismatch => {
            "Find out whether picture or annotation was resized or rotated, and pack the samples again."
        }
        ProblemKind::NoSignature => {
            "Ask who packed the data set for its signature; pack sign makes one."
        }
        ProblemKind::BadSignature => {
            "Restore dataset.json and dataset.json.minisig from a copy; who changed the data set on purpose signs it again."
        }
        ProblemKind::BadPart => {
            "Restore the part from its source, or leave the sample out with --on-problem skip."
        }
        ProblemKind::ConstantPicture => {
            "Look at the picture with pack view; get it again if it should have a content."
        }
        ProblemKind::RepeatedValue => {
            "Find out which sample the value belongs to; leave the other out with --exclude."
        }
        ProblemKind::UnlistedClass => {
            "Correct the class, or add it to the classes, and pack the samples again; leave unlabeled samples out with --where."
        }
        ProblemKind::Misread => "Rename the file and pack again, or do not use that reader.",
        _ => UNKNOWN,
    }
}

/// For a kind that a newer version of the crates below adds.
const UNKNOWN: &str = "Read the reason of the problem.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_remedy() {
        for &kind in ProblemKind::ALL {
            let text = remedy(kind);
            assert!(text != UNKNOWN && text.ends_with('.'), "{kind}: {text}");
        }
    }
}
