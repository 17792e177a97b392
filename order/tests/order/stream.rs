//! The stream and its epochs equal the list of the naive loader.

use proptest::prelude::*;
use tarflume_order::{Order, Selection};

use crate::oracle;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn epochs_are_ranges_of_one_stream(
        counts in oracle::counts(),
        shuffle in oracle::shuffles(),
        keep in prop::collection::vec(any::<bool>(), 720),
        length in prop_oneof![Just(None), (1..700_u64).prop_map(Some)],
        seeks in prop::collection::vec(0..700_u64, 3),
    ) {
        let contents = oracle::contents("stream", &counts);
        let mut kept: Vec<_> = (0..contents.samples()).filter(|&o| keep[o as usize]).collect();
        if kept.is_empty() {
            kept.push(0);
        }
        let selection = Selection::keep(contents.samples(), kept.iter().copied()).unwrap();
        let mut order = Order::new(contents, selection, shuffle).unwrap();
        prop_assert_eq!(order.epoch_samples(), kept.len() as u64);
        if let Some(length) = length {
            order = order.epoch_length(length).unwrap();
        }
        let n = order.epoch_samples();
        let list = oracle::stream(&counts, &kept, shuffle, 3 * n);
        for (epoch, list) in list.chunks(n as usize).enumerate() {
            let epoch = epoch as u64;
            let mut cursor = order.cursor(epoch, 0).unwrap();
            let drawn: Vec<_> = cursor.by_ref().map(|d| (d.ordinal, d.pass)).collect();
            prop_assert_eq!(&drawn, list);
            for &seek in &seeks {
                cursor.seek(seek % n);
                for position in seek % n..n.min(seek % n + 5) {
                    prop_assert_eq!(cursor.position(), position);
                    prop_assert_eq!(cursor.next().unwrap().ordinal, list[position as usize].0);
                }
                let at = order.ordinal(epoch, seek % n).unwrap();
                prop_assert_eq!(at, Some(list[(seek % n) as usize].0));
            }
            prop_assert_eq!(order.ordinal(epoch, n).unwrap(), None);
        }
    }
}

#[test]
fn an_empty_order_is_an_error_with_its_reason() {
    let contents = oracle::contents("empty", &[3, 4]);
    let shuffle = tarflume_order::Shuffle::None;
    let none = Selection::all(7).skip(7).unwrap();
    fn text(e: tarflume_order::Error) -> String {
        e.text().to_string()
    }
    let error = text(Order::new(contents.clone(), none, shuffle).unwrap_err());
    assert!(error.contains("of 7 samples none is selected"), "{error}");
    let error = text(Order::new(contents.clone(), Selection::all(8), shuffle).unwrap_err());
    assert!(error.contains("8") && error.contains("7"), "{error}");
    let bare = oracle::contents("empty", &[]);
    assert!(text(Order::new(bare, Selection::all(0), shuffle).unwrap_err()).contains("no samples"));
    let order = Order::new(contents, Selection::all(7), shuffle).unwrap();
    assert!(order.clone().epoch_length(0).is_err());
    assert!(order.clone().repeat(u64::MAX).is_err());
    assert!(order.cursor(u64::MAX, 0).is_err());
    assert_eq!(order.repeat(3).unwrap().epoch_samples(), 21);
}
