//! `Severity`: what a problem costs. Reports that cannot list all problems list the worst first.

use serde::Serialize;

use super::ProblemKind;

/// What a problem costs, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Samples or parts of them are gone, or cannot be read.
    Lost,
    /// Readers get other data than were meant, perhaps without an error.
    Wrong,
    /// The data are there; what describes them is missing, damaged or about other data.
    Structure,
    /// Readers get what is there; whether it is meant is a question.
    Advice,
}

impl ProblemKind {
    /// Returns what a problem of this kind costs.
    pub fn severity(self) -> Severity {
        match self {
            ProblemKind::Truncated
            | ProblemKind::MissingEnd
            | ProblemKind::MissingShard
            | ProblemKind::BadHeader
            | ProblemKind::Unreadable
            | ProblemKind::Unsupported
            | ProblemKind::Checksum
            | ProblemKind::Digest
            | ProblemKind::BadJpeg
            | ProblemKind::BadImage
            | ProblemKind::BadJson
            | ProblemKind::BadPart
            | ProblemKind::Empty
            | ProblemKind::MissingPart
            | ProblemKind::NotRegular
            | ProblemKind::NoExtension
            | ProblemKind::MissingRow
            | ProblemKind::OrphanRow => Severity::Lost,
            ProblemKind::MissingIndex
            | ProblemKind::StaleIndex
            | ProblemKind::DamagedIndex
            | ProblemKind::BadEntryPoints
            | ProblemKind::StaleManifest
            | ProblemKind::DamagedManifest
            | ProblemKind::ForeignIndex
            | ProblemKind::NoChecksum
            | ProblemKind::Gap
            | ProblemKind::Changed
            | ProblemKind::BadName
            | ProblemKind::CaseCollision => Severity::Structure,
            ProblemKind::ConstantPicture
            | ProblemKind::RepeatedValue
            | ProblemKind::UnlistedClass
            | ProblemKind::Duplicate
            | ProblemKind::Differs => Severity::Advice,
            // Repeated keys, wrong classes and boxes, broken schemas, totals that differ.
            _ => Severity::Wrong,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_data_are_worse_than_wrong_data_and_advice_is_last() {
        assert!(Severity::Lost < Severity::Wrong && Severity::Structure < Severity::Advice);
        assert!(ProblemKind::Truncated.severity() < ProblemKind::RepeatedKey.severity());
        assert!(ProblemKind::RepeatedKey.severity() < ProblemKind::MissingIndex.severity());
        assert!(ProblemKind::MissingIndex.severity() < ProblemKind::ConstantPicture.severity());
        let notices = ProblemKind::ALL.iter().filter(|kind| kind.is_notice());
        assert!(notices.into_iter().all(|kind| kind.severity() == Severity::Advice));
    }
}
