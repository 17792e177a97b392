//! Verdicts over tables of facts, and from counters to facts.

use std::time::Duration;

use crate::decode::Scratch;
use crate::decode::costs::operations::OperationStats;
use crate::loader::metrics::bottleneck::*;
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::idle::{IdleCause, SampledTime};
use crate::loader::metrics::stats::{DecoderStats, Setting};

/// A loader that a consumer without work waits for.
fn starving() -> Measurements {
    Measurements {
        taken: 101,
        batches: 100,
        seconds: 10.0,
        starved: 0.99,
        ..Measurements::default()
    }
}

#[test]
fn each_cause_has_its_rule() {
    use Bottleneck::*;
    let s = starving();
    let table: &[(Bottleneck, Measurements)] = &[
        (Storage, Measurements { storage: 0.9, own: 0.1, ..s }),
        (Storage, Measurements { storage: 0.6, decode: 0.4, ..s }),
        (Decode, Measurements { decode: 0.95, own: 0.05, ..s }),
        (Decode, Measurements { decode: 0.95, slept: 0.9, ..s }),
        (Decode, Measurements { decode: 0.95, queued: 0.8, ..s }),
        (Functions, Measurements { decode: 0.1, functions: 0.85, ..s }),
        (Memory, Measurements { memory: 0.5, decode: 0.5, ..s }),
        (Memory, Measurements { prefetch: 0.6, clamped: true, decode: 0.4, ..s }),
        (Prefetch, Measurements { prefetch: 0.6, decode: 0.4, ..s }),
        (Prefetch, Measurements { prefetch: 0.6, decode: 0.4, queued: 0.9, held_up: 0.1, ..s }),
        (
            Memory,
            Measurements { memory: 0.6, decode: 0.4, queued: 0.9, held_up: 0.5, slept: 0.9, ..s },
        ),
        (Loader, Measurements { own: 0.98, ..s }),
        (Decoder, Measurements { decoder: 0.7, own: 1.0, ..s }),
        (Upload, Measurements { upload: 0.9, own: 1.0, ..s }),
        (Consumer, Measurements { starved: 0.02, storage: 1.0, ..s }),
        (Transform, Measurements { starved: 0.02, transform: 0.9, ..s }),
        (Balanced, Measurements { starved: 0.17, decode: 1.0, ..s }),
    ];
    for (cause, facts) in table {
        assert_eq!(judge(facts), Ok(*cause), "{facts:?}");
    }
}

#[test]
fn ambiguous_measurements_give_doubt() {
    let s = starving();
    let table: &[(Doubt, Measurements)] = &[
        (Doubt::Nothing, Measurements::default()),
        (Doubt::Short, Measurements { batches: 7, decode: 1.0, ..s }),
        (Doubt::Short, Measurements { seconds: 0.04, decode: 1.0, ..s }),
        (Doubt::Mixed, Measurements { storage: 0.5, decode: 0.5, ..s }),
        (Doubt::Mixed, Measurements { decode: 0.55, own: 0.45, ..s }),
        (Doubt::Mixed, Measurements { prefetch: 0.38, decode: 0.42, own: 0.2, ..s }),
        (Doubt::Busy, Measurements { prefetch: 0.6, own: 0.4, held_up: 0.3, ..s }),
        (Doubt::Busy, Measurements { own: 0.98, queued: 0.5, ..s }),
        (Doubt::Mapped, Measurements { decode: 0.95, slept: 0.9, mapped: true, ..s }),
    ];
    for (doubt, facts) in table {
        assert_eq!(judge(facts), Err(*doubt), "{facts:?}");
    }
}

#[test]
fn between_two_causes_the_verdict_is_doubt() {
    // No step of one percent leads from one cause to another.
    let pairs: [fn(f64) -> Measurements; 3] = [
        |x| Measurements { storage: x, decode: 1.0 - x, ..starving() },
        |x| Measurements { decode: x, own: 1.0 - x, ..starving() },
        |x| Measurements { storage: x, own: 1.0 - x, ..starving() },
    ];
    for pair in pairs {
        for step in 0..100 {
            let one = f64::from(step) / 100.0;
            let other = f64::from(step + 1) / 100.0;
            if let (Ok(one), Ok(other)) = (judge(&pair(one)), judge(&pair(other))) {
                assert_eq!(one, other, "at {step} %");
            }
        }
    }
}

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// Counters of two threads after a second and ten batches.
fn counters(read: u64, decode: u64, consumer: u64, starved: u64) -> Counters {
    counted(Counters::new(2), [read, decode, consumer, starved])
}

fn counted(counters: Counters, [read, decode, consumer, starved]: [u64; 4]) -> Counters {
    counters.read.add(ms(read), 10, 1 << 20);
    counters.decode.add(ms(decode), 100, 1 << 20);
    counters.consumer.add(ms(consumer), 10, 0);
    counters.starved.add(ms(starved), 10, 0);
    counters.startup.add(ms(0), 1, 0);
    counters.running.add(ms(consumer + starved), 0, 0);
    counters
}

#[test]
fn counters_become_facts() {
    let stats = counters(100, 1800, 10, 990).stats();
    assert_eq!(stats.bottleneck(), Bottleneck::Decode);
    assert!(stats.verdict().starts_with("Decoding is the limit: it took 90 % of"), "{stats}");
    assert!(stats.verdict().contains("taken as fast as they came"), "{stats}");

    let slow = counters(1800, 100, 300, 700);
    slow.reads_asleep.add(ms(1750), 9, 0);
    assert_eq!(slow.stats().bottleneck(), Bottleneck::Storage);
    assert!(slow.stats().verdict().contains("The consumer waited in 70 % of its time"));
    let cached = counters(1800, 100, 10, 990);
    cached.reads_asleep.add(ms(20), 9, 0);
    assert_eq!(cached.stats().bottleneck(), Bottleneck::Loader);
    cached.sampled(
        SampledTime::default(),
        SampledTime { wall: ms(100), asleep: ms(50), queued: ms(30) },
    );
    assert_eq!(cached.stats().bottleneck(), Bottleneck::Unknown);
    assert!(cached.stats().verdict().contains("waited for a core in 60 % of"));

    assert_eq!(counters(100, 300, 990, 10).stats().bottleneck(), Bottleneck::Consumer);
    assert_eq!(Counters::new(2).stats().bottleneck(), Bottleneck::Unknown);
}

#[test]
fn idle_threads_are_judged_by_what_they_lacked() {
    for (lack, cause) in [
        (IdleCause::Memory, Bottleneck::Memory),
        (IdleCause::Prefetch, Bottleneck::Prefetch),
        (IdleCause::Plan, Bottleneck::Loader),
        (IdleCause::Wake, Bottleneck::Loader),
    ] {
        let counters = counters(0, 400, 10, 990);
        counters.idle(lack, ms(1600));
        assert_eq!(counters.stats().bottleneck(), cause, "{lack:?}");
    }
    // While the consumer did not want a batch, nothing is known of the loader.
    let counters = counters(0, 400, 500, 500);
    counters.idle(IdleCause::Consumer, ms(1560));
    assert_eq!(counters.stats().bottleneck(), Bottleneck::Decode);
}

#[test]
fn time_without_a_core_is_no_stage_of_its_own() {
    let counters = counters(0, 1100, 10, 990);
    counters.sampled(
        SampledTime::default(),
        SampledTime { wall: ms(1000), asleep: ms(0), queued: ms(700) },
    );
    assert_eq!(counters.stats().bottleneck(), Bottleneck::Decode);
}

#[test]
fn waiting_for_memory_is_not_decoding() {
    let counters = counters(0, 1900, 10, 990);
    counters.waits[0].store(1_500_000_000, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(counters.stats().bottleneck(), Bottleneck::Memory);
}

#[test]
fn bytes_that_are_copied_are_not_decoded() {
    let setting = Setting { copies: true, ..Setting::default() };
    let counters = counted(Counters::of(2, setting), [0, 1900, 10, 990]);
    assert_eq!(counters.stats().bottleneck(), Bottleneck::Loader);
}

#[test]
fn the_first_batch_of_an_epoch_does_not_count() {
    let counters = counters(0, 100, 900, 2000);
    counters.startup.add(ms(1990), 0, 0);
    assert_eq!(counters.stats().bottleneck(), Bottleneck::Consumer);
    let short = self::counters(0, 1900, 10, 990);
    short.startup.add(ms(0), 4, 0); // ten batches of five epochs
    assert_eq!(short.stats().bottleneck(), Bottleneck::Unknown);
    assert!(short.stats().verdict().starts_with("Too little was measured"));
}

#[test]
fn slow_functions_and_slow_transforms_have_verdicts_of_their_own() {
    fn with(called: u64, transform: u64, consumer: u64, starved: u64) -> Stats {
        let counters = counters(0, 1800, consumer, starved);
        let mut scratch = Scratch::default();
        scratch.called(ms(called / 3), ms(called - called / 3));
        counters.count(&mut scratch);
        counters.count(&mut scratch); // what was taken over is not counted twice
        counters.transform.add(ms(transform), 5, 0);
        counters.stats()
    }

    assert_eq!(with(600, 0, 10, 990).bottleneck(), Bottleneck::Decode);
    let functions = with(1500, 0, 10, 990);
    assert_eq!(functions.bottleneck(), Bottleneck::Functions);
    assert!(functions.to_string().contains("1 calls, 1.000 s, 0.500 s waiting"), "{functions}");
    assert!(functions.verdict().contains("75 % of the threads' time, 33 % of that"), "{functions}");
    assert_eq!(with(0, 400, 990, 10).bottleneck(), Bottleneck::Consumer);
    let transform = with(0, 700, 990, 10);
    assert_eq!(transform.bottleneck(), Bottleneck::Transform);
    assert_eq!(transform.stage("consumer").unwrap().busy, ms(290));
    assert!(transform.to_string().contains("transform   0.700"), "{transform}");
}

#[test]
fn the_verdict_names_the_most_expensive_operation_of_decoding() {
    fn operation(name: &str, busy: u64) -> OperationStats {
        OperationStats { column: "image".into(), name: name.into(), calls: 100, busy: ms(busy) }
    }

    fn with(blur: u64, flip: u64) -> Stats {
        let operations =
            vec![operation("RandomVerticalFlip", flip), operation("GaussianBlur", blur)];
        Stats { operations, ..counters(0, 1800, 10, 990).stats() }
    }

    let dear = with(900, 40);
    assert_eq!(dear.bottleneck(), Bottleneck::Decode);
    let verdict = dear.verdict();
    assert!(verdict.contains("is GaussianBlur of column image, with 50 % of that"), "{verdict}");
    assert!(dear.to_string().contains("0.900 s, 100 pictures, 9000 us each; 50 % of decoding"));
    assert!(
        !with(100, 40).verdict().contains("most expensive"),
        "a small share is not worth a change"
    );
}

#[test]
fn a_slow_device_decoder_is_the_bottleneck_though_threads_are_idle() {
    fn with(waited: u64, redone: u64, consumer: u64, starved: u64) -> Stats {
        let waited = ms(waited);
        let redone = ms(redone);
        let decoder = DecoderStats { waited, redone, decoded: 7, ..DecoderStats::default() };
        Stats { decoder: Some(decoder), ..counters(100, 300, consumer, starved).stats() }
    }

    assert_eq!(with(700, 0, 10, 990).bottleneck(), Bottleneck::Decoder);
    assert_eq!(with(300, 400, 10, 990).bottleneck(), Bottleneck::Decoder);
    assert_eq!(with(300, 0, 10, 990).bottleneck(), Bottleneck::Loader);
    assert_eq!(with(900, 0, 990, 10).bottleneck(), Bottleneck::Consumer);
    let text = with(700, 0, 10, 990).to_string();
    assert!(text.contains("JPEGs decoded by the device: 7, 0 refused"), "{text}");
    assert!(text.contains("batches waited for it in 70 % of the time"), "{text}");
}

#[test]
fn the_table_ends_in_the_verdict() {
    let text = counters(100, 1800, 10, 990).stats().to_string();
    assert_eq!(text.lines().count(), 7);
    assert!(text.lines().last().unwrap().starts_with("Decoding is"), "{text}");
}
