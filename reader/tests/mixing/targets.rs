//! The columns for the loss.

use tarflume::transforms::mixing::MixMode;

use super::{batches, both, pairs, plain, samples};

const CLASSES: usize = 24;

#[test]
fn soft_targets_are_those_of_both_labels() {
    let shards = samples(24);
    for mode in [MixMode::Batch, MixMode::Elem] {
        for smoothing in [0.0, 0.1] {
            let soft = both("image").mode(mode).num_classes(CLASSES).label_smoothing(smoothing);
            let soft = plain(&shards).mix(soft).build().unwrap();
            let paired = plain(&shards).mix(both("image").mode(mode).label_pairs());
            let paired = paired.build().unwrap();
            for (soft, paired) in batches(&soft, 0).iter().zip(batches(&paired, 0)) {
                let [one, two] = [soft, &paired].map(|batch| batch.column("image").unwrap());
                assert_eq!(one.bytes(), two.bytes(), "targets change no pixel");
                let target = soft.column("target").unwrap();
                assert_eq!(target.shape(), [6, CLASSES]);
                let labels = soft.column("label").unwrap().elements::<i64>().unwrap();
                for (row, (lam, other)) in pairs(&paired).into_iter().enumerate() {
                    let weights = target.row_elements::<f32>(row).unwrap();
                    for (class, &weight) in weights.iter().enumerate() {
                        let [own, other] =
                            [row, other].map(|row| f32::from(labels[row] == class as i64));
                        let hot = own * lam + other * (1.0 - lam);
                        let smooth = smoothing as f32;
                        let expected = hot * (1.0 - smooth) + smooth / CLASSES as f32;
                        assert!((weight - expected).abs() < 1e-6, "{weight} and {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_column_of_targets_takes_a_name() {
    let shards = samples(6);
    let mix = both("image").num_classes(CLASSES).target("weights");
    let loader = plain(&shards).mix(mix).build().unwrap();
    let batch = &batches(&loader, 0)[0];
    let names: Vec<_> = batch.names().collect();
    assert_eq!(names, ["image", "float", "label", "weights"]);
    let sums = batch.column("weights").unwrap().elements::<f32>().unwrap().iter().sum::<f32>();
    assert!((sums - 6.0).abs() < 1e-4);
}
