//! `pack run --steal`: machines that take over the shards of others which have died, stopped or refused them.

use tarflume_fixtures::Fault;

use crate::harness::Place;
use crate::interrupted::faults::{Class, Deed, Ran, judged};

/// A plan of 60 shards in `out`, and the result of one build in `whole`.
fn planned() -> Place {
    let place = Place::new();
    place.folder("photos", 600);
    place.pack("build photos -o whole --shard-samples 10").succeeds();
    place.pack("plan photos -o out --shard-samples 10").succeeds();
    place
}

fn records(place: &Place) -> usize {
    let is_record = |name: &&String| name.ends_with(".record");
    place.names("out/.pack/shards").iter().filter(is_record).count()
}

fn claims(place: &Place) -> usize {
    place.names("out/.pack/claims").len()
}

/// Runs a command; calls `deed` while it writes its third shard, which it has claimed. Returns `None` if tracing is
/// known to be impossible.
fn in_a_shard(place: &Place, command: &str, deed: impl Fn() -> Deed) -> Option<Ran> {
    let mut begun = 0;
    let mut done = false;
    let ran = judged(place, command, |call| {
        let shard = call.path.starts_with("out/.pack/shards/") && call.path.contains(".tar");
        begun += u32::from(shard && call.class == Class::Open && call.nth == 0);
        if done || begun < 3 || !(shard && call.class == Class::Write) {
            return Deed::Go;
        }
        done = true;
        assert!(claims(place) > 0);
        deed()
    });
    assert!(ran.is_none() || done, "the call was not made");
    ran
}

/// Kills a command while it writes a shard.
fn killed(place: &Place, command: &str) -> Option<()> {
    let ran = in_a_shard(place, command, || Deed::Kill)?;
    assert_eq!(ran.exit, 137);
    Some(())
}

#[test]
fn the_shards_of_a_killed_machine_are_packed_by_another() {
    let place = planned();
    let Some(()) = killed(&place, "run out --rank 1 --of 2 --jobs 1 --steal") else { return };
    let ran = place.pack("run out --rank 0 --of 2 --steal").succeeds();
    ran.says("of other machines' shares");
    assert_eq!(records(&place), 60);
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn a_machine_that_does_not_answer_loses_its_shards_and_ends_well_when_it_comes_back() {
    let place = planned();
    let other = || {
        place.pack("run out --rank 0 --of 2 --steal=1").succeeds();
        assert_eq!(records(&place), 60);
        Deed::Go
    };
    let slow = in_a_shard(&place, "run out --rank 1 --of 2 --jobs 1 --steal=1", other);
    let Some(slow) = slow else { return };
    assert_eq!(slow.exit, 0, "{}", slow.stderr);
    place.pack("status out").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn machines_without_ranks_share_the_shards_among_themselves() {
    let place = planned();
    let machines = [0; 4].map(|_| place.start("run out --jobs 1 --steal"));
    for machine in machines {
        machine.ended().succeeds();
    }
    assert_eq!((records(&place), claims(&place)), (60, 0));
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn a_shard_with_bad_data_is_refused_by_one_machine_and_tried_again_later() {
    let place = Place::new();
    place.folder("photos", 100);
    Fault::BadJson.plant(&place.at("photos")).unwrap();
    place.pack("build photos -o whole --shard-samples 10 --on-problem skip").exits(0);
    place.pack("plan photos -o out --shard-samples 10").succeeds();
    place.pack("run out --steal").exits(65).says("refused 1 with problems");
    // It does not wait for the refused shard, and does not try it.
    place.pack("run out --rank 5 --of 99 --steal").succeeds();
    assert_eq!(records(&place), 9);
    place.pack("run out --steal --on-problem skip").succeeds().says("packed 1 shard");
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn claims_of_an_earlier_plan_are_forgotten() {
    let place = planned();
    let Some(()) = killed(&place, "run out --jobs 1 --steal") else { return };
    place.pack("plan photos -o out --shard-samples 9 --fresh").succeeds();
    assert_eq!(claims(&place), 0);
}
