//! One data set packed by several machines: `plan` once, `run` on each, `finalize` once. The result
//! is byte for byte that of one `build`, whatever was killed, repeated or done at the same time.

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::Fault;

use crate::harness::{Place, Run};
use crate::interrupted::kills::killed_at_a_record;

/// A place with a plan of seven shards in `out`, and the result of one build of it in `whole`.
fn planned() -> Place {
    let place = Place::new();
    place.folder("photos", 20);
    place.pack("build photos -o whole --shard-samples 3").succeeds();
    place.pack("plan photos -o out --shard-samples 3").succeeds().says("next: pack run out");
    place
}

fn status(place: &Place) -> (i32, Value) {
    let run = place.pack("status out --format json");
    (run.exit, run.events().remove(0))
}

/// Returns the numbers of the finished shards.
fn finished(place: &Place) -> Vec<u64> {
    let (_, status) = status(place);
    let missing: Vec<u64> =
        status["missing"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    (0..7).filter(|n| !missing.contains(n)).collect()
}

#[test]
fn two_machines_one_of_them_killed_make_what_one_build_makes() {
    let place = Place::new();
    place.folder("photos", 900);
    place.pack("build photos -o whole --shard-samples 6").succeeds();
    place.pack("plan photos -o out --shard-samples 6").succeeds();
    let ranks = [0, 1].map(|rank| format!("run out --rank {rank} --of 2 --jobs 1"));
    let first = place.start(&ranks[0]);
    if killed_at_a_record(&place, &ranks[1], 5).is_none() {
        return;
    }
    first.ended().succeeds();
    place.pack("finalize out").exits(75).says("pack run out");
    place.pack(&ranks[1]).succeeds().says("rank 1 of 2 (--rank)");
    place.pack("finalize out").succeeds().says("published 900 samples, 150 shards");
    place.same("out", "whole");
}

#[test]
fn a_task_that_is_delivered_twice_is_skipped() {
    let place = planned();
    place.pack("run out").succeeds().says("packed 7 shards, skipped 0");
    place.pack("run out").succeeds().says("packed 0 shards, skipped 7 that were finished");
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
    for late in [
        "run out",
        "run out --rank 1 --of 2",
        "finalize out",
        "build photos -o out --shard-samples 3",
    ] {
        place.pack(late).succeeds().says("published already");
    }
    place.same("out", "whole");
}

#[test]
fn two_runs_of_the_same_shards_at_once_are_harmless() {
    let place = Place::new();
    place.folder("photos", 300);
    place.pack("build photos -o whole --shard-samples 5").succeeds();
    place.pack("plan photos -o out --shard-samples 5").succeeds();
    let both = [0; 3].map(|_| place.start("run out"));
    for child in both {
        child.ended().succeeds();
    }
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn shards_are_chosen_by_number_by_range_and_by_rank() {
    for (choice, numbers) in [
        ("--shard 2", vec![2]),
        ("--shard 6 --shard 0", vec![0, 6]),
        ("--shards 1..3", vec![1, 2]),
        ("--shards 5..99", vec![5, 6]),
        ("--rank 8 --of 9", vec![]),
        ("", (0..7).collect()),
    ] {
        let place = planned();
        place.pack(&format!("run out {choice}")).succeeds();
        assert_eq!(finished(&place), numbers, "{choice}");
    }
}

/// Returns the shards of a rank's share.
fn share(rank: u64, of: u64) -> Vec<u64> {
    let place = planned();
    place.pack(&format!("run out --rank {rank} --of {of}")).succeeds();
    finished(&place)
}

#[test]
fn each_shard_is_of_one_share() {
    let shares: Vec<Vec<u64>> = (0..3).map(|rank| share(rank, 3)).collect();
    assert!(shares.iter().all(|share| [2, 3].contains(&share.len())), "{shares:?}");
    let mut all = shares.concat();
    all.sort_unstable();
    assert_eq!(all, (0..7).collect::<Vec<_>>());
}

#[test]
fn invalid_shard_choices_are_refused() {
    let place = planned();
    for (choice, text) in [
        ("--shard 7", "the plan has 7"),
        ("--shards 7..9", "the plan has 7"),
        ("--shards 3..3", "0..100"),
        ("--shards 3", "0..100"),
        ("--rank 2 --of 2", "rank 2 of 2 does not exist"),
        ("--rank 2", "--of"),
        ("--of 2", "--rank"),
        ("--rank 0 --of 0", "--of"),
        ("--shard 1 --rank 0 --of 2", "--rank"),
    ] {
        place.pack(&format!("run out {choice}")).exits(2).says(text);
    }
    assert_eq!(finished(&place), [] as [u64; 0]);
}

#[test]
fn the_rank_comes_from_the_variables_of_launchers() {
    type Case = (&'static [(&'static str, &'static str)], &'static str, u64);
    let cases: [Case; 8] = [
        (&[("RANK", "1"), ("WORLD_SIZE", "4")], "", 1),
        (&[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")], "", 3),
        (&[("PMI_RANK", "0"), ("PMI_SIZE", "4")], "", 0),
        (&[("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")], "", 2),
        (
            &[
                ("SLURM_ARRAY_TASK_ID", "11"),
                ("SLURM_ARRAY_TASK_MIN", "10"),
                ("SLURM_ARRAY_TASK_COUNT", "4"),
            ],
            "",
            1,
        ),
        (&[("JOB_COMPLETION_INDEX", "2")], "--of 4", 2),
        (&[("LSB_JOBINDEX", "3"), ("LSB_JOBINDEX_END", "4")], "", 2),
        (&[("RANK", "1"), ("WORLD_SIZE", "4")], "--rank 3 --of 4", 3),
    ];
    let shares: Vec<Vec<u64>> = (0..4).map(|rank| share(rank, 4)).collect();
    for (env, words, rank) in cases {
        let place = planned();
        place.pack_in(env, &format!("run out {words}")).succeeds().says("rank ");
        assert_eq!(finished(&place), shares[rank as usize], "{env:?} {words}");
    }
}

#[test]
fn launchers_that_disagree_are_an_error_and_never_a_guess() {
    let place = planned();
    let ompi = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "4")];
    let torch = [("RANK", "1"), ("WORLD_SIZE", "4")];
    let run = place.pack_in(&[ompi, torch].concat(), "run out").exits(2);
    run.says("OMPI_COMM_WORLD_RANK").says("WORLD_SIZE").says("--rank R --of N");
    place.pack_in(&torch, "run out --of 2").exits(2).says("RANK/WORLD_SIZE gives 4");
    place.pack_in(&[("RANK", "one"), ("WORLD_SIZE", "4")], "run out").exits(2).says("not a number");
    place.pack_in(&[("JOB_COMPLETION_INDEX", "1")], "run out").exits(2).says("--of");
    assert_eq!(finished(&place), [] as [u64; 0]);
    let agreed = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")];
    place.pack_in(&[agreed, torch].concat(), "run out").succeeds();
    assert_eq!(finished(&place), share(1, 4));
}

#[test]
fn status_reports_progress() {
    let place = planned();
    place.pack("run out --shards 1..4").succeeds();
    let (exit, found) = status(&place);
    assert_eq!(exit, 75);
    assert_eq!(found["missing"], json!([0, 4, 5, 6]));
    assert_eq!(
        (&found["shards"], &found["finished"], &found["published"]),
        (&json!(7), &json!(3), &json!(false))
    );
    place.pack("status out").exits(75).says("3 of 7 shards finished").says("missing: 0, 4..7");
    place.pack("run out").succeeds();
    assert_eq!(status(&place).0, 0);
    place.pack("status out").succeeds().says("pack finalize out");
    place.pack("finalize out").succeeds();
    let (exit, found) = status(&place);
    assert_eq!((exit, &found["published"], &found["finished"]), (0, &json!(true), &json!(7)));
    place.pack("status nowhere").exits(2).says("pack plan");
    place.pack("run nowhere").exits(2).says("pack plan");
    place.pack("finalize nowhere").exits(2).says("pack plan");
    assert!(!place.at("nowhere").exists(), "a question creates nothing");
}

#[test]
fn bad_data_ends_with_65_so_that_no_engine_tries_again() {
    let place = Place::new();
    place.folder("photos", 20);
    Fault::BadJson.plant(&place.at("photos")).unwrap();
    place.pack("plan photos -o out --shard-samples 3").succeeds();
    place.pack("run out").exits(65).says("bad-json 1").says("refused 1 with problems");
    place.pack("finalize out").exits(75);
    place.pack("run out --on-problem skip").succeeds().says("packed 1 shard, skipped 6");
    place.pack("finalize out").succeeds().says("published 19 samples");
    place.pack("build photos -o whole --shard-samples 3 --on-problem skip").succeeds();
    place.same("out", "whole");
}

#[test]
fn the_problem_policy_is_given_once_to_plan() {
    let place = Place::new();
    place.folder("photos", 20);
    Fault::BadJson.plant(&place.at("photos")).unwrap();
    Fault::OrphanImage.plant(&place.at("photos")).unwrap();
    place.pack("plan photos -o refused").exits(1).says("missing-part 1");
    place.pack("plan photos -o out --shard-samples 3 --on-problem quarantine").succeeds();
    place.pack("run out").succeeds();
    place.pack("finalize out").succeeds();
    place.pack("build photos -o whole --shard-samples 3 --on-problem quarantine").succeeds();
    place.same("out", "whole");
    assert!(place.names("out").iter().any(|name| name.starts_with("quarantine/")));
}

#[test]
fn sources_may_have_other_paths_on_another_machine() {
    let place = planned();
    place.folder("elsewhere", 20); // the same files at another time
    fs::rename(place.at("photos"), place.at("gone")).unwrap();
    place.pack("run out").exits(75).says("the source folder does not exist");
    place.pack("run out --source elsewhere").exits(65).says("modified after it was planned");
    place.pack("run out --source elsewhere --ignore-times").succeeds();
    place
        .pack("run out --source elsewhere --source more")
        .exits(2)
        .says("1 source folders, 2 were given");
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn a_damaged_plan_is_bad_data_wherever_it_is_damaged() {
    let place = planned();
    let path = place.at("out/.pack/plan");
    let plan = fs::read(&path).unwrap();
    let refused = |run: Run| assert_eq!(run.exit, 65, "{run:#?}");
    for at in (0..plan.len()).step_by(plan.len() / 12) {
        let mut spoiled = plan.clone();
        spoiled[at] = !spoiled[at]; // zstd ignores one bit of a frame's first byte
        fs::write(&path, &spoiled).unwrap();
        refused(place.pack("run out"));
    }
    for length in [0, 8, plan.len() / 2, plan.len() - 1] {
        fs::write(&path, &plan[..length]).unwrap();
        refused(place.pack("run out"));
        refused(place.pack("status out"));
        refused(place.pack("finalize out"));
    }
    fs::write(&path, &plan).unwrap();
    place.pack("run out").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn only_finalize_removes_leftovers_of_attempts() {
    let place = planned();
    let left = "out/.pack/shards/.shard-000001.tar.other-host-1-2-3.tmp";
    place.file(left, "half a shard");
    place.pack("run out").succeeds();
    place.pack("status out").succeeds().says("in progress or abandoned");
    assert!(place.at(left).exists());
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}
