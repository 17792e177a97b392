//! What each kind of problem means. For reports; the reason of a problem is about its place.

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
        ProblemKind::BadBox,
        ProblemKind::BoxOutside,
        ProblemKind::WrongClass,
        ProblemKind::BadPolygon,
        ProblemKind::BadRegion,
        ProblemKind::SizeMismatch,
        ProblemKind::BadKeypoints,
        ProblemKind::UnequalLists,
        ProblemKind::NoSignature,
        ProblemKind::BadSignature,
        ProblemKind::BadPart,
        ProblemKind::ConstantPicture,
        ProblemKind::RepeatedValue,
        ProblemKind::UnlistedClass,
        ProblemKind::PolicyPart,
        ProblemKind::PolicyField,
        ProblemKind::PolicyClass,
        ProblemKind::PolicyPicture,
        ProblemKind::PolicyShards,
        ProblemKind::PolicyTotal,
        ProblemKind::PolicyDuplicate,
        ProblemKind::PolicyAcceptance,
    ];

    /// Kinds that only packing finds: no verification reports them.
    pub const OF_PACKING: &'static [ProblemKind] = &[
        ProblemKind::NoExtension,
        ProblemKind::Unreadable,
        ProblemKind::Changed,
        ProblemKind::NoClass,
        ProblemKind::UnknownClass,
        ProblemKind::AmbiguousClass,
        ProblemKind::EmptyClass,
        ProblemKind::SeveralPictures,
        ProblemKind::NoSplit,
        ProblemKind::Duplicate,
        ProblemKind::Differs,
        ProblemKind::OrphanRow,
        ProblemKind::MissingRow,
        ProblemKind::RepeatedRow,
        ProblemKind::AmbiguousRow,
    ];

    /// Returns the kind of a name.
    pub fn from_name(name: &str) -> Option<ProblemKind> {
        ProblemKind::ALL.iter().copied().find(|kind| kind.to_string() == name)
    }

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
                "The same picture is in another sample, so this one was left out."
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
            ProblemKind::BadBox => {
                "A box is not four numbers, or its width or height is not above 0."
            }
            ProblemKind::BoxOutside => {
                "A box reaches beyond its picture by more than half a pixel."
            }
            ProblemKind::WrongClass => {
                "The class of an object is not in the class table of the manifest."
            }
            ProblemKind::BadPolygon => {
                "A polygon has fewer than three points, or no pairs of numbers."
            }
            ProblemKind::BadRegion => {
                "The run lengths of a region cannot be read, or do not add up to its pixels."
            }
            ProblemKind::SizeMismatch => {
                "A mask, a region, or the stated width and height, are of another size than the picture."
            }
            ProblemKind::BadKeypoints => {
                "An object has another number of keypoints than the data set or the object states."
            }
            ProblemKind::UnequalLists => {
                "The lists of a sample's objects differ in length, so that labels belong to other boxes."
            }
            ProblemKind::NoSignature => "The data set has no signature, although one is required.",
            ProblemKind::BadSignature => {
                "The signature is not one of an accepted key over this dataset.json."
            }
            ProblemKind::BadPart => {
                "The structure of an array, a pickle, a text, a sound or a video is damaged."
            }
            ProblemKind::ConstantPicture => "All pixels of a picture are equal.",
            ProblemKind::RepeatedValue => {
                "Several samples have the same value in a field whose values should differ."
            }
            ProblemKind::UnlistedClass => {
                "The class of a sample is null, negative, or not in the class table of the manifest."
            }
            ProblemKind::PolicyPart => {
                "Fewer samples have a part than the policy of the repository demands."
            }
            ProblemKind::PolicyField => {
                "A value of a sample is not one that the policy allows, or too few samples have the field."
            }
            ProblemKind::PolicyClass => {
                "A class is missing, or has fewer or more samples than the policy allows."
            }
            ProblemKind::PolicyPicture => "A picture is smaller or larger than the policy allows.",
            ProblemKind::PolicyShards => {
                "A shard is smaller or larger than the policy allows, or differs too much from the others."
            }
            ProblemKind::PolicyTotal => {
                "A data set has fewer or more samples, shards or bytes than the policy states."
            }
            ProblemKind::PolicyDuplicate => {
                "The same picture is in two data sets that the policy keeps apart."
            }
            ProblemKind::PolicyAcceptance => {
                "The date of an accepted problem has passed, or nothing matches it any more."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_kind_has_a_meaning() {
        let last = *ProblemKind::ALL.last().unwrap();
        assert_eq!(ProblemKind::ALL.len(), last as usize + 1, "a kind is missing in ALL");
        let names: HashSet<String> = ProblemKind::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), ProblemKind::ALL.len());
        let meanings: HashSet<&str> = ProblemKind::ALL.iter().map(|kind| kind.meaning()).collect();
        assert_eq!(meanings.len(), ProblemKind::ALL.len(), "two kinds mean the same");
        for kind in ProblemKind::ALL {
            let text = kind.meaning();
            assert!(text.len() > 8 && text.ends_with('.'), "{kind}: {text}");
        }
    }
}
