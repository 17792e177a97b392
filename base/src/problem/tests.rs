//! Problems that are stored and read again, in each face.

use std::path::{Path, PathBuf};

use tarflume_formats::message;
use tarflume_formats::message::{Call, Face, Name, Task};

use super::{Problem, ProblemKind};

fn moved(path: &Path) -> Option<PathBuf> {
    path.strip_prefix("/my --force").ok().map(|below| Path::new("s3://set").join(below))
}

fn named() -> Problem {
    let reason = message!(
        "no pair; give {policy}, or `{index}`";
        policy = Name::OnProblem.is("skip"),
        index = Call::of(Task::Index).with(Name::Force.on()).on_path("/my --force")
    );
    Problem::new(ProblemKind::MissingPart, "/my --force/a.jpg", reason).at(7).of("a")
}

#[test]
fn a_stored_problem_has_the_words_of_each_face_when_it_is_read() {
    let problem = named();
    let stored = problem.to_stored();
    let reason = "no pair; give --on-problem skip, or `pack index --force '/my --force'`";
    assert_eq!(stored["reason"], reason, "programs and earlier versions read the text");
    let text = serde_json::to_string(&stored).unwrap();
    let read = Problem::of_stored(&serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(read, problem);
    let python =
        "no pair; give on_problem=\"skip\", or `tarflume.pack.index(\"/my --force\", force=True)`";
    assert_eq!(read.reason.in_face(Face::Python), python);
    assert_eq!(Problem::without_pieces(stored), problem.to_value(Face::Command));
}

#[test]
fn problems_of_earlier_and_later_versions_have_their_text() {
    let problem = named();
    let old = problem.to_value(Face::Command);
    let read = Problem::of_stored(&old).unwrap();
    assert_eq!(read.text_in(Face::Python), problem.text_in(Face::Command));
    let mut later = problem.to_stored();
    later["pieces"] = serde_json::json!([{"setting": {"name": "from-2040", "value": "on"}}]);
    assert_eq!(Problem::of_stored(&later).unwrap(), read);
    let mut unknown = old;
    unknown["kind"] = "from-2040".into();
    assert!(Problem::of_stored(&unknown).is_err());
    let plain = Problem::new(ProblemKind::Empty, "a", "it is empty");
    assert_eq!(plain.to_stored(), plain.to_value(Face::Command), "words need no pieces");
}

#[test]
fn a_problem_of_a_copy_is_one_of_its_object() {
    let text = named().map_paths(moved).text_in(Face::Command);
    let told = "missing-part: s3://set/a.jpg: byte 7: key a: no pair; give --on-problem skip, or `pack index --force \
                s3://set/`";
    assert_eq!(text, told);
    assert_eq!(named().map_paths(|_| None), named());
}
