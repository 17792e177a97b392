//! Planted causes have their verdicts.

use super::super::causes::{Limiter, duration, limiter};
use super::super::look::{Look, Memory};
use super::super::summary::Summary;
use super::super::targets::{Asked, Figure, Requirement, parse, requirements};
use super::super::verdicts::{State, Verdict, judge};
use super::{disk, gpu, loader, training, waiting};

fn judged(words: &[&str], look: Look) -> Vec<Verdict> {
    let asked: Vec<Asked> = words.iter().map(|word| parse(word).unwrap()).collect();
    judge(&requirements(&asked), &Summary { samples: 60, look })
}

fn one(word: &str, look: Look) -> Verdict {
    let [verdict] = &judged(&[word], look)[..] else { panic!("{word}") };
    verdict.clone()
}

/// The texts of a broken requirement.
fn said(verdict: &Verdict) -> String {
    let remedy = verdict.remedy.as_ref().unwrap();
    let effect = remedy.effect.as_deref().unwrap_or("-");
    format!("{} | {} | {effect}", remedy.cause, remedy.change)
}

fn with_word(word: &str, look: Look) -> Look {
    let mut look = look;
    look.loaders[0].bottleneck = Some(word.into());
    look
}

/// A look whose busiest disk and whose processors are this busy.
fn with_load(busy_disk: f64, cores: f64) -> Look {
    Look { disks: vec![disk("nvme0n1", busy_disk)], training: Some(training(cores)), ..waiting() }
}

/// A look whose processors other programs use.
fn with_others(word: &str) -> Look {
    let mut look = with_word(word, with_load(12.0, 1.0));
    look.cpu.busy_percent = 99.0;
    look
}

#[test]
fn each_planted_cause_is_named() {
    let table = [
        (Limiter::Disk, with_word("storage", with_load(98.0, 2.0))),
        (Limiter::Storage, with_word("storage", with_load(12.0, 2.0))),
        (Limiter::Processors, with_word("decode", with_load(12.0, 7.9))),
        (Limiter::Processors, with_word("functions", with_load(12.0, 7.9))),
        (Limiter::Threads, with_word("decode", with_load(12.0, 2.0))),
        // What the loader says of itself counts beside a busy disk of others.
        (Limiter::Threads, with_word("decode", with_load(95.0, 2.0))),
        (Limiter::Others, with_others("decode")),
        (Limiter::Others, with_others("prefetch")),
        (Limiter::Storage, with_others("storage")),
        (Limiter::Prefetch, with_word("prefetch", waiting())),
        (Limiter::Memory, with_word("memory", waiting())),
        (Limiter::Upload, with_word("upload", waiting())),
        (Limiter::Decoder, with_word("decoder", waiting())),
        (Limiter::Unknown, waiting()),
        // Of a loader that tells nothing, the machine is all that is known.
        (Limiter::Disk, Look { loaders: Vec::new(), ..with_load(98.0, 2.0) }),
        (Limiter::Processors, Look { loaders: Vec::new(), ..with_load(12.0, 7.9) }),
        (Limiter::Unknown, Look { loaders: Vec::new(), ..waiting() }),
        (
            Limiter::Nothing,
            with_word("storage", Look { loaders: vec![loader(4.0)], ..with_load(98.0, 7.9) }),
        ),
    ];
    for (expected, look) in table {
        assert_eq!(limiter(&look), expected, "{look:#?}");
    }
    let mut waits = Look { loaders: Vec::new(), ..waiting() };
    waits.cpu.waiting_for_disk_percent = 35.0;
    assert_eq!(limiter(&waits), Limiter::Storage);
}

#[test]
fn a_sleeping_disk_and_a_burning_transform_differ() {
    let sleeping = one("batch-p99=50ms", with_word("storage", with_load(12.0, 2.0)));
    let burning = one("batch-p99=50ms", with_word("functions", with_load(12.0, 7.9)));
    assert!(
        said(&sleeping).starts_with("reads wait for a storage that answers slowly"),
        "{}",
        said(&sleeping)
    );
    assert!(said(&sleeping).contains("local disk"), "{}", said(&sleeping));
    assert!(
        said(&burning).starts_with("the training uses 7.9 of 8.0 processors"),
        "{}",
        said(&burning)
    );
    assert!(said(&burning).contains("less work for a sample"), "{}", said(&burning));
}

#[test]
fn the_targets_of_the_document_are_kept_or_broken_with_their_numbers() {
    let verdicts = judged(&["all"], with_word("storage", with_load(98.0, 7.2)));
    let found: Vec<_> = verdicts
        .iter()
        .map(|v| (v.figure.name(), v.state, v.measured.map(|m| m.round()), v.place.as_deref()))
        .collect();
    use State::{Broken, Kept};
    assert_eq!(
        found,
        [
            ("sm", Broken, Some(50.0), Some("GPU 0")),
            ("gpu-memory", Broken, Some(40.0), Some("GPU 0")),
            ("batch-p50", Kept, Some(30.0), Some("process 7")),
            ("batch-p95", Broken, Some(60.0), Some("process 7")),
            ("batch-p99", Broken, Some(90.0), Some("process 7")),
            ("worker-cpu", Broken, Some(90.0), None),
            ("disk", Broken, Some(98.0), Some("nvme0n1")),
            ("cache", Kept, Some(100.0), Some("the page cache")),
        ]
    );
    assert!(verdicts.iter().all(|v| (v.state == Broken) == v.fails()));
    assert!(verdicts.iter().all(|v| (v.state == Kept) == v.remedy.is_none()));
}

/// The texts for a training of whose reads 80 of 100 MB/s come from a disk.
fn said_of_the_cache(memory: Option<Memory>) -> String {
    let mut look = Look { memory, ..with_load(50.0, 2.0) };
    let training = look.training.as_mut().expect("with_load has a training");
    training.calls_mb_per_s = Some(100.0);
    training.disk_mb_per_s = Some(80.0);
    look.loaders.iter_mut().for_each(|loader| loader.read_mb_per_s = 0.0);
    said(&one("cache=95", look))
}

#[test]
fn memory_that_is_not_known_is_not_called_empty() {
    let unknown = said_of_the_cache(None);
    assert!(unknown.starts_with("80.0 of 100.0 MB/s come from a disk | "), "{unknown}");
    assert!(unknown.contains("beside the programs in memory: "), "{unknown}");
    let known =
        said_of_the_cache(Some(Memory { page_cache_bytes: 3_000_000_000, ..Memory::default() }));
    assert!(known.contains("come from a disk: the page cache holds 3.0 GB | "), "{known}");
}

#[test]
fn a_limit_that_is_reached_exactly_is_kept() {
    let look = Look { gpus: vec![gpu(0, 80.0, 60.0)], ..with_load(70.0, 6.4) };
    for word in ["sm=80", "gpu-memory=60", "disk=70", "worker-cpu=80", "batch-p99=90", "epoch=10h"]
    {
        assert_eq!(one(word, look.clone()).state, State::Kept, "{word}");
    }
}

#[test]
fn predictions_are_arithmetic_over_the_waiting() {
    // 40 % of the time is waiting: what remains is 60 %.
    assert!(said(&one("sm=90", waiting())).ends_with("without waiting, SM is at most 83 %"));
    let text = said(&one("epoch=9h", waiting()));
    assert!(text.ends_with("an epoch takes 6 h 0 min, which keeps the promise"), "{text}");
    let text = said(&one("epoch=5h", waiting()));
    assert!(
        text.ends_with(
            "an epoch takes 6 h 0 min, which is not enough: the steps themselves take longer"
        ),
        "{text}"
    );
    let text = said(&one("batch-p99=50", waiting()));
    assert!(text.ends_with("the training is at most 1.7 times as fast"), "{text}");
    let text = said(&one("gpu-memory=60", waiting()));
    assert!(text.contains("about 1.5 times as many samples reach 60 %"), "{text}");
    let text = said(&one("worker-cpu=80", with_load(10.0, 7.2)));
    assert!(
        text.contains("9.0 processors do the same work at 80 %, or these with 11 % less work"),
        "{text}"
    );
    let text = said(&one("disk=70", with_load(98.0, 2.0)));
    assert!(text.contains("29 % fewer bytes from this disk bring it to 70 %"), "{text}");
    let gone = Look { loaders: vec![loader(100.0)], ..waiting() };
    assert!(said(&one("sm=80", gone)).ends_with("nothing but waiting was seen: all of the time"));
}

#[test]
fn a_loader_that_keeps_up_is_not_the_cause_of_an_idle_gpu() {
    let look = Look { loaders: vec![loader(4.0)], ..with_load(98.0, 7.9) };
    let text = said(&one("sm=80", look));
    assert!(
        text.starts_with("the training's own steps: it waits for data in 4 % of its time"),
        "{text}"
    );
    assert!(text.ends_with("SM is at most 52 %"), "{text}");
}

#[test]
fn small_reads_and_a_small_page_cache_are_named() {
    let mut look = with_load(98.0, 2.0);
    look.disks[0].read_size_bytes = Some(12_000.0);
    look.disks[0].read_mb_per_s = 4.8;
    let text = said(&one("disk=70", look));
    assert!(text.contains("400 reads of 12.0 kB") && text.contains("pack build"), "{text}");
    assert!(text.contains("need 19 requests a second instead of 400"), "{text}");

    let mut look = waiting();
    look.training = Some(super::Training { disk_mb_per_s: Some(120.0), ..training(2.0) });
    look.memory = Some(Memory { file_refaults_per_s: 4000.0, ..look.memory.unwrap() });
    let verdict = one("cache=95", look);
    assert_eq!(verdict.measured, Some(40.0));
    let text = said(&verdict);
    assert!(
        text.contains("120.0 of 200.0 MB/s come from a disk") && text.contains("read again soon"),
        "{text}"
    );
    assert!(text.ends_with("at 95 %, the disk gives 10.0 MB/s instead of 120.0"), "{text}");
}

#[test]
fn what_writes_to_a_disk_is_told_to_write_less() {
    let mut look = with_load(98.0, 2.0);
    look.disks[0].write_mb_per_s = 400.0;
    assert!(said(&one("disk=70", look)).contains("checkpoints and logs"));
}

#[test]
fn the_cache_of_a_store_precedes_the_page_cache() {
    let mut look = waiting();
    look.loaders[0].cache_hit_percent = Some(62.0);
    let verdict = one("cache=95", look);
    assert_eq!((verdict.measured, verdict.place.as_deref()), (Some(62.0), Some("the local cache")));
    assert!(said(&verdict).contains("TARFLUME_CACHE_SIZE"));
}

#[test]
fn what_is_not_measured_fails_only_if_it_is_named() {
    let bare = Look { gpus: Vec::new(), loaders: Vec::new(), training: None, ..waiting() };
    let verdicts = judged(&["all"], bare.clone());
    let states: Vec<_> = verdicts.iter().map(|v| v.state).collect();
    use State::{Kept, Unmeasured};
    assert_eq!(states[..5], [Unmeasured; 5]);
    assert_eq!(states[5..], [Kept, Kept, Unmeasured]);
    assert!(!verdicts.iter().any(Verdict::fails));
    let named = one("sm=80", bare);
    assert!(named.fails() && named.state == Unmeasured);
    assert!(said(&named).starts_with("no GPU of this machine told it"), "{}", said(&named));
}

#[test]
fn without_a_sample_nothing_is_measured() {
    let summary = Summary { samples: 0, look: with_load(98.0, 7.2) };
    let verdicts = judge(&requirements(&[Asked::All]), &summary);
    assert!(verdicts.iter().all(|v| v.state == State::Unmeasured && v.measured.is_none()));
    assert!(said(&verdicts[0]).starts_with("the watch ended before its first sample"));
}

#[test]
fn gpus_that_nothing_uses_are_not_judged() {
    let look = Look { gpus: vec![gpu(0, 91.0, 80.0), gpu(1, 0.0, 0.5)], ..waiting() };
    assert_eq!(one("sm=80", look).state, State::Kept);
    let look = Look { gpus: vec![gpu(0, 0.0, 0.5)], ..waiting() };
    assert_eq!(one("sm=80", look).state, State::Broken, "nothing trains");
}

#[test]
fn the_worst_rank_is_named() {
    let mut look = waiting();
    for rank in 0..2 {
        look.loaders[0].rank = Some(0);
        look.loaders[0].world_size = Some(2);
        let mut other = loader(10.0);
        other.rank = Some(rank + 1);
        other.world_size = Some(2);
        other.batch_wait_ms.as_mut().unwrap().p99 = 400.0;
        look.loaders.push(other);
    }
    assert_eq!(one("batch-p99=50", look).place.as_deref(), Some("rank 2"));
}

#[test]
fn every_figure_can_be_required_and_has_a_line() {
    for figure in Figure::ALL {
        let limit = if figure.at_least() { 100.0 } else { 0.0 };
        let requirement = Requirement { figure, limit, named: true };
        let summary = Summary { samples: 1, look: waiting() };
        let verdict = &judge(&[requirement], &summary)[0];
        assert_eq!(verdict.state, State::Broken, "{figure:?}");
        assert!(
            !said(verdict).contains("NaN") && !said(verdict).contains("inf"),
            "{}",
            said(verdict)
        );
    }
}

#[test]
fn durations_are_for_people() {
    let table = [
        (0.44, "0.4 s"),
        (59.0, "59.0 s"),
        (200.0, "3 min 20 s"),
        (7500.0, "2 h 5 min"),
        (9e8, "10,416 days"),
    ];
    for (seconds, text) in table {
        assert_eq!(duration(seconds), text);
    }
}
