//! Which errors of files are problems of a sample.

use std::io;

use tarflume_base::Exit;
use tarflume_scan::links::Links;

use super::*;

#[test]
fn only_errors_that_every_machine_would_see_are_problems() {
    let foot: PlanFoot = serde_json::from_value(serde_json::json!({
        "schema": 1, "tool": "", "content": "", "roots": ["/photos"], "options": {}, "samples": 1,
        "exts": [{"source": "jpg", "shard": "jpg"}], "bytes": 5, "shards": [], "problems": [],
    }))
    .unwrap();
    let roots = [PathBuf::from("/photos")];
    let checks = Checks {
        level: CheckLevel::Structure,
        times: true,
        json: JsonRules::Strict,
        objects: false,
        links: Links::Refused,
    };
    let parts = Parts::new(&foot, &roots, &checks);
    let location = Location::File { stamp: 0 };
    let part = PlannedPart { ext: 0, size: 5, location };
    let sample = PlannedSample { source: b"a/b".into(), key: b"a/b".into(), ..Default::default() };
    for code in (1..=133).chain([4000]) {
        let error = io::Error::from_raw_os_error(code);
        let data = Blame::of(&error) == Blame::Data;
        match parts.refused(SamplePart::new(&sample, &part), ReadFault::Refused(error)) {
            Refused::Problem(problem) => {
                let problem = problem.problem;
                assert!(data, "{code}: {problem}");
                assert_eq!(problem.path, "/photos/a/b.jpg");
            }
            Refused::Failure(failure) => {
                assert!(!data, "{code}: {failure}");
                assert!(matches!(failure.exit(), Exit::TryAgain | Exit::Barred), "{code}");
                assert!(failure.text().starts_with("/photos/a/b.jpg: cannot read: "), "{failure}");
            }
        }
    }
}
