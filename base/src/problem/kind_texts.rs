//! What each kind of problem means, and what to do about it. For reports; the reason of a problem is about its place.

use super::ProblemKind;

impl ProblemKind {
    /// All kinds.
    pub const ALL: &'static [ProblemKind] = &[
        ProblemKind::MissingPart,
        ProblemKind::NoExtension,
        ProblemKind::BadName,
        ProblemKind::RepeatedPart,
        ProblemKind::RepeatedKey,
        ProblemKind::CaseCollision,
        ProblemKind::Empty,
        ProblemKind::Unreadable,
        ProblemKind::Changed,
        ProblemKind::BadJpeg,
        ProblemKind::BadImage,
        ProblemKind::BadJson,
        ProblemKind::NoClass,
        ProblemKind::UnknownClass,
        ProblemKind::AmbiguousClass,
        ProblemKind::EmptyClass,
        ProblemKind::SeveralPictures,
        ProblemKind::NoSplit,
        ProblemKind::NotRegular,
        ProblemKind::Duplicate,
        ProblemKind::Differs,
        ProblemKind::OrphanRow,
        ProblemKind::MissingRow,
        ProblemKind::RepeatedRow,
        ProblemKind::AmbiguousRow,
        ProblemKind::Truncated,
        ProblemKind::MissingEnd,
        ProblemKind::BadHeader,
        ProblemKind::Unsupported,
        ProblemKind::Gap,
        ProblemKind::Checksum,
        ProblemKind::Digest,
        ProblemKind::SplitSample,
        ProblemKind::MissingIndex,
        ProblemKind::StaleIndex,
        ProblemKind::DamagedIndex,
        ProblemKind::BadEntryPoints,
        ProblemKind::MissingShard,
        ProblemKind::StaleManifest,
        ProblemKind::DamagedManifest,
        ProblemKind::ForeignIndex,
        ProblemKind::ClassName,
        ProblemKind::NoChecksum,
        ProblemKind::Schema,
        ProblemKind::Unexpected,
        ProblemKind::Misread,
    ];

    /// Returns a sentence that says what the kind means.
    pub fn meaning(self) -> &'static str {
        match self {
            ProblemKind::MissingPart => {
                "A sample lacks a part that is required, or that the other samples have."
            }
            ProblemKind::NoExtension => {
                "A file has no extension, so it cannot be part of a sample."
            }
            ProblemKind::BadName => {
                "A reader would misread the name, or unpacking it would write outside of the folder."
            }
            ProblemKind::RepeatedPart => "Two files are the same part of the same sample.",
            ProblemKind::RepeatedKey => {
                "Two samples have the same key; readers that look samples up by key find only one."
            }
            ProblemKind::CaseCollision => {
                "Two keys differ only in case; on some file systems they are one file."
            }
            ProblemKind::Empty => "A file or member has no bytes.",
            ProblemKind::Unreadable => "The operating system refused to read the file.",
            ProblemKind::Changed => "A file differs from the state that the plan records.",
            ProblemKind::BadJpeg => "The structure or the pixels of a JPEG are damaged.",
            ProblemKind::BadImage => "A picture cannot be decoded.",
            ProblemKind::BadJson => {
                "A JSON is malformed, is no object, or has a field that a label would replace."
            }
            ProblemKind::NoClass => "A sample is in no folder with the name of its class.",
            ProblemKind::UnknownClass => "A folder is not in the list of classes.",
            ProblemKind::AmbiguousClass => {
                "The name of a class stands for several folders, or for all samples."
            }
            ProblemKind::EmptyClass => "The folder of a class has no files.",
            ProblemKind::SeveralPictures => {
                "A sample has several pictures, and nothing says that they belong together."
            }
            ProblemKind::NoSplit => "A sample belongs to no split.",
            ProblemKind::NotRegular => "A link, a device or a pipe, which readers of shards skip.",
            ProblemKind::Duplicate => {
                "The same picture is in another sample, so --dedupe has left this one out."
            }
            ProblemKind::Differs => {
                "The files of a sample differ from those in the data set, which pack append leaves as they are."
            }
            ProblemKind::OrphanRow => "No sample matches a row of a table.",
            ProblemKind::MissingRow => "No row of a table matches a sample.",
            ProblemKind::RepeatedRow => {
                "A row of a table is about a sample that an earlier row matches."
            }
            ProblemKind::AmbiguousRow => "Several samples match a row of a table.",
            ProblemKind::Truncated => {
                "A shard ends before its data does: it was cut after it was written."
            }
            ProblemKind::MissingEnd => {
                "A shard has no end marker: it was cut, or its writer was killed."
            }
            ProblemKind::BadHeader => "The header of a member is damaged or contradicts itself.",
            ProblemKind::Unsupported => {
                "A feature of tar, or a compression, that readers of shards cannot handle."
            }
            ProblemKind::Gap => {
                "Bytes between members, or behind the end marker, belong to no member."
            }
            ProblemKind::Checksum => {
                "The bytes of a part do not have the checksum that the sidecar states."
            }
            ProblemKind::Digest => {
                "The bytes of a tar do not have the digest that the sidecar or the manifest states."
            }
            ProblemKind::SplitSample => {
                "The members of a sample are not neighbors, so readers take them as two samples."
            }
            ProblemKind::MissingIndex => "A shard has no sidecar.",
            ProblemKind::StaleIndex => "The sidecar describes another tar than the one beside it.",
            ProblemKind::DamagedIndex => "The bytes of the sidecar are damaged.",
            ProblemKind::BadEntryPoints => {
                "Entry points in the sidecar do not belong to their JPEG."
            }
            ProblemKind::MissingShard => "The manifest is missing, or a shard that it lists.",
            ProblemKind::StaleManifest => {
                "The manifest describes other shards than those beside it."
            }
            ProblemKind::DamagedManifest => {
                "The manifest is damaged, or was changed after it was written."
            }
            ProblemKind::ForeignIndex => "The index file of another reader does not match its tar.",
            ProblemKind::ClassName => {
                "The manifest gives the class of a sample another name than the sample does."
            }
            ProblemKind::NoChecksum => {
                "Data or a manifest has no checksum, so a change of its bytes cannot be found."
            }
            ProblemKind::Schema => "A JSON part breaks a rule of its schema.",
            ProblemKind::Unexpected => {
                "The data set differs from the file that states what is expected."
            }
            ProblemKind::Misread => {
                "A reader of a chosen profile misreads or drops a file, although the tar is whole."
            }
        }
    }

    /// Returns a sentence that says what to do.
    pub fn remedy(self) -> &'static str {
        match self {
            ProblemKind::MissingPart => {
                "Add the missing file and pack again, leave the sample out with --on-problem skip, or require fewer parts with --require."
            }
            ProblemKind::NoExtension => {
                "Give the file an extension, or leave it out with --exclude."
            }
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
                "Move the file into the folder of its class, or leave it out with --exclude."
            }
            ProblemKind::UnknownClass => {
                "Add the class to the file of --classes, or leave the folder out with --exclude."
            }
            ProblemKind::AmbiguousClass => "Name the level of the class with --label folder=N.",
            ProblemKind::EmptyClass => "Fill the folder, or remove it.",
            ProblemKind::SeveralPictures => {
                "Rename the pictures, or name the parts of a sample with --require."
            }
            ProblemKind::NoSplit => {
                "Correct --split or --split-by so that each sample has a split."
            }
            ProblemKind::NotRegular => {
                "Replace it by a regular file, or leave it out with --exclude."
            }
            ProblemKind::Duplicate => {
                "Nothing has to be done; without --dedupe the sample is packed."
            }
            ProblemKind::Differs => {
                "Build the data set again if the new files are to replace the old ones."
            }
            ProblemKind::OrphanRow => "Correct the name in the table, or add the file.",
            ProblemKind::MissingRow => {
                "Add the row, or leave the sample out with --on-problem skip."
            }
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
            ProblemKind::BadEntryPoints => {
                "Make a new sidecar with pack index --force --entry-points."
            }
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
            ProblemKind::ClassName => {
                "Restore dataset.json from a copy, or pack the samples again."
            }
            ProblemKind::NoChecksum => {
                "Add checksums with pack index --force, and that of dataset.json with pack index --accept-edits."
            }
            ProblemKind::Schema => "Correct the JSON and pack again, or change the schema.",
            ProblemKind::Unexpected => {
                "Restore the data set; if the change is wanted, write a new file with pack verify --write-expect."
            }
            ProblemKind::Misread => "Rename the file and pack again, or do not use that reader.",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_kind_has_a_meaning_and_a_remedy() {
        let last = *ProblemKind::ALL.last().unwrap();
        assert_eq!(ProblemKind::ALL.len(), last as usize + 1, "a kind is missing in ALL");
        let names: HashSet<String> = ProblemKind::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), ProblemKind::ALL.len());
        let meanings: HashSet<&str> = ProblemKind::ALL.iter().map(|kind| kind.meaning()).collect();
        assert_eq!(meanings.len(), ProblemKind::ALL.len(), "two kinds mean the same");
        for kind in ProblemKind::ALL {
            for text in [kind.meaning(), kind.remedy()] {
                assert!(text.len() > 8 && text.ends_with('.'), "{kind}: {text}");
            }
        }
    }
}
