//! A job that stops and resumes with another world size, batch size or remainder equals one that never stopped.

use proptest::prelude::*;
use tarflume_order::{LoaderState, Order, Remainder, Share, Shuffle, Split};

use crate::oracle::{self, split};

/// One life of the job: ranks, rows a rank, remainder, and after how many steps it ends.
type Life = (u64, u64, Remainder, u64);

fn lives() -> impl Strategy<Value = Vec<Life>> {
    prop::collection::vec((1..9_u64, 1..9_u64, oracle::remainders(), 0..6_u64), 0..8)
}

proptest! {
    #[test]
    fn any_history_gives_the_epoch_once(
        counts in oracle::counts(), shuffle in oracle::shuffles(), epoch in 0..4_u64,
        lives in lives(),
    ) {
        let order = oracle::order(&counts, shuffle);
        let whole: Vec<_> = order.cursor(epoch, 0).unwrap().map(|draw| draw.ordinal).collect();
        let mut state = LoaderState::new(&order, split(0, 1), epoch, 0).to_string();
        let mut given = Vec::new();
        for (world, batch, remainder, ends) in lives.into_iter().chain([
            (3, 2, Remainder::Uneven, u64::MAX),
        ]) {
            let saved: LoaderState = state.parse().unwrap();
            let mut ranks = Vec::new();
            for rank in 0..world {
                let resumed = saved.resume(&order, split(rank, world)).unwrap();
                ranks.push(Share::new(&resumed, split(rank, world)).unwrap());
            }
            let all = ranks.iter().map(|share| share.steps(saved.position(), batch, remainder));
            // A first batch that would drop all is refused; such a life does nothing.
            let Ok(all) = all.collect::<Result<Vec<_>, _>>() else { continue };
            let most = all.iter().map(|steps| steps.count()).max().unwrap();
            for step in 0..most.min(ends) {
                for (share, steps) in ranks.iter().zip(&all) {
                    let mut cursor = share.order().cursor(saved.epoch(), 0).unwrap();
                    for (position, _) in steps.rows(step).filter(|(_, padding)| !padding) {
                        cursor.seek(position);
                        given.push(cursor.next().unwrap().ordinal);
                    }
                }
                let position = all[0].position_after(step);
                prop_assert_eq!(position, given.len() as u64);
                state = LoaderState::new(&order, split(0, world), epoch, position).to_string();
            }
        }
        prop_assert_eq!(given, whole);
    }
}

#[test]
fn the_state_is_a_few_integers() {
    let order = oracle::order(&[10, 20], Shuffle::Full { seed: 42 });
    let state = LoaderState::new(&order, split(0, 4), 3, 12);
    let json: serde_json::Value = serde_json::from_str(&state.to_string()).unwrap();
    assert_eq!(json["format"], "tarflume-state");
    assert_eq!((&json["version"], &json["order"]), (&1.into(), &1.into()));
    assert_eq!((&json["epoch"], &json["position"]), (&3.into(), &12.into()));
    assert_eq!(json["fingerprint"], order.data().to_string());
    assert_eq!(json["shuffle"], "full, seed 42");
    assert!(json.get("world").is_none() && json.get("weights").is_none());
    assert_eq!(state.to_string().parse::<LoaderState>().unwrap(), state);
}

#[test]
fn a_state_of_another_data_set_is_refused_with_its_name() {
    fn full(seed: u64) -> Shuffle {
        Shuffle::Full { seed }
    }
    let order = oracle::order(&[10, 20], full(42));
    let state = LoaderState::new(&order, split(0, 4), 3, 12);
    fn says(state: &LoaderState, order: &Order, split: Split, words: &str) {
        let error = state.check(order, split).unwrap_err();
        assert_eq!(error.kind(), tarflume_order::ErrorKind::Stale);
        assert!(error.text().contains(words), "{error} does not say {words}");
    }
    state.check(&order, split(6, 7)).unwrap();
    says(&state, &oracle::order(&[10, 21], full(42)), split(0, 4), "another data set");
    says(&state, &oracle::order(&[10, 20], full(43)), split(0, 4), "'full, seed 43'");
    says(&state, &oracle::order(&[10, 20], Shuffle::None), split(0, 4), "'none'");
    says(&state, &order.clone().repeat(2).unwrap(), split(0, 4), "60");
    says(&state, &order, split(0, 4).by_shard(), "by_shard()");
    let late = LoaderState::new(&order, split(0, 4), 3, 31);
    says(&late, &order, split(0, 4), "past the end");
    let by_shard = LoaderState::new(&order, split(0, 2).by_shard(), 3, 12);
    by_shard.check(&order, split(1, 2).by_shard()).unwrap();
    says(&by_shard, &order, split(0, 1).by_shard(), "start 2");
    says(&by_shard, &order, split(0, 2), "by_shard()");
}

#[test]
fn invalid_states_are_refused() {
    let order = oracle::order(&[10, 20], Shuffle::None);
    let text = LoaderState::new(&order, split(0, 1), 0, 7).to_string();
    fn says(text: &str, words: &str) {
        let error = text.parse::<LoaderState>().unwrap_err();
        assert!(error.text().contains(words), "{error} does not say {words}");
    }
    for cut in 0..text.len() {
        says(&text[..cut], "cut");
    }
    says(&text.replace("\"version\":1", "\"version\":2"), "version 2");
    says(&text.replace("tarflume-state", "tarflume-dataset"), "tarflume-dataset");
    says(&text.replace("\"position\"", "\"place\""), "unknown");
    says(&text.replace("\"position\":7", "\"position\":-7"), "damaged");
    // Also as a part of another document, which serde reads.
    let inside = |from: &str, to: &str| {
        let made = serde_json::from_str::<LoaderState>(&text.replace(from, to));
        made.unwrap_err().to_string()
    };
    assert!(inside("\"version\":1", "\"version\":99").contains("version 99"));
    assert!(inside("tarflume-state", "tarflume-dataset").contains("no saved state"));
    assert_eq!(serde_json::from_str::<LoaderState>(&text).unwrap().to_string(), text);
    let newer: LoaderState = text.replace("\"order\":1", "\"order\":2").parse().unwrap();
    assert!(newer.check(&order, split(0, 1)).unwrap_err().text().contains("order version 2"));
}
