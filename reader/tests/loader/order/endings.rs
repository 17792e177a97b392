//! The end of loaders, and misbehaving user code: panics, batches held forever, slowness.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tarflume::{
    Batch, DType, Decode, ErrorKind, OnBad, Result, Row, RowShape, Sample, Scratch, Shuffle,
};

use crate::loader::harness::{Shards, key};
use crate::loader::truth::{batches, is_true};

/// A column that a function writes.
pub struct Own<F>(pub RowShape, pub F);

impl<F> Decode for Own<F>
where
    F: Fn(&Sample<'_>, Row<'_>) -> Result<()> + Send + Sync + 'static,
{
    fn parts(&self) -> Vec<String> {
        vec!["bin".into()]
    }

    fn shape(&self) -> RowShape {
        self.0.clone()
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, _: &mut Scratch) -> Result<()> {
        self.1(sample, row)
    }
}

const NUMBER: RowShape = RowShape::Fixed(DType::U8, Vec::new());

#[test]
fn a_batch_stays_valid_after_its_loader_is_dropped() {
    let shards = Shards::of(&[20]);
    let loader = shards.loader().build().unwrap();
    let mut epoch = loader.epoch(0);
    let first = epoch.next().unwrap().unwrap();
    let second = epoch.next().unwrap().unwrap();
    drop(loader);
    let third = epoch.next().unwrap().unwrap();
    drop(epoch);
    for (step, batch) in [first, second, third].iter().enumerate() {
        is_true(batch);
        assert_eq!(batch.step(), step as u64);
    }
}

#[test]
fn batches_that_a_consumer_keeps_do_not_change() {
    let shards = Shards::of(&[100, 100]);
    let loader = shards
        .loader()
        .shuffle(Shuffle::Full { seed: 1 })
        .memory_limit("64MiB".parse().unwrap())
        .threads(2);
    let loader = loader.build().unwrap();
    let all: Vec<Batch> = (0..3).flat_map(|n| loader.epoch(n)).map(Result::unwrap).collect();
    assert_eq!(all.len(), 150);
    batches(&loader, 3).unwrap(); // others are made meanwhile
    all.iter().for_each(is_true);
}

#[test]
fn loaders_and_epochs_at_once_do_not_disturb_each_other() {
    let shards = Shards::of(&[40, 23]);
    let full = |seed| shards.loader().shuffle(Shuffle::Full { seed });
    let one = full(1).build().unwrap();
    let two = full(2).threads(1).build().unwrap();
    let expected = [batches(&one, 0), batches(&one, 5), batches(&two, 0)].map(Result::unwrap);
    let mut running = [one.epoch(0), one.epoch(5), two.epoch(0)];
    let mut came = [const { Vec::new() }; 3];
    while came[0].len() < expected[0].len() {
        for (epoch, came) in running.iter_mut().zip(&mut came) {
            let batch = epoch.next().unwrap().unwrap();
            is_true(&batch);
            came.push(batch.ordinals().collect::<Vec<_>>());
        }
    }
    assert_eq!(came, expected);
    let expected: Vec<_> = (10..18).map(|n| batches(&one, n).unwrap()).collect();
    std::thread::scope(|scope| {
        for (n, expected) in (10..).zip(&expected) {
            let one = &one;
            scope.spawn(move || assert_eq!(batches(one, n).unwrap(), *expected));
        }
    });
}

#[test]
fn at_most_prefetch_batches_are_prepared() {
    let shards = Shards::of(&[400]);
    let decoded = Arc::new(AtomicUsize::new(0));
    let count = decoded.clone();
    let column = Own(NUMBER, move |_: &Sample<'_>, mut row: Row<'_>| {
        count.fetch_add(1, Ordering::SeqCst);
        row.put(&[7])
    });
    let loader = shards.loader().column("own", column).prefetch(3).threads(4).build().unwrap();
    let mut epoch = loader.epoch(0);
    for taken in 1..20 {
        let batch = epoch.next().unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(5));
        assert!(decoded.load(Ordering::SeqCst) <= 4 * (taken + 3));
        drop(batch);
    }
}

#[test]
fn a_decoder_that_panics_is_an_error_and_the_loader_continues() {
    let shards = Shards::of(&[40]);
    let column = Own(NUMBER, |sample: &Sample<'_>, mut row: Row<'_>| {
        assert!(sample.ordinal != 9, "nine is not to my taste");
        row.put(&[1])
    });
    let builder = shards.loader().column("own", column);
    let loader = builder.clone().build().unwrap();
    for _ in 0..3 {
        let mut epoch = loader.epoch(0);
        epoch.next().unwrap().unwrap();
        epoch.next().unwrap().unwrap();
        let error = epoch.next().unwrap().unwrap_err();
        assert_eq!((error.kind(), error.place().key.clone()), (ErrorKind::Panicked, Some(key(9))));
        let text = error.to_string();
        assert!(text.contains("column 'own'") && text.contains("not to my taste"), "{text}");
        drop(epoch);
        assert_eq!(loader.state().position(), 8);
        loader.epoch(1).next().unwrap().unwrap(); // begins anew, and so does the state
        drop(loader.epoch(0));
    }
    let skipping = builder.on_bad(OnBad::Skip).build().unwrap();
    assert_eq!(batches(&skipping, 0).unwrap().concat().len(), 39);
}

/// Panics in `room`.
struct NoRoom;

impl Decode for NoRoom {
    fn parts(&self) -> Vec<String> {
        vec!["bin".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Variable(DType::U8)
    }

    fn room(&self, _: &[u64]) -> u64 {
        panic!("room for what?")
    }

    fn decode(&self, _: &Sample<'_>, _: Row<'_>, _: &mut Scratch) -> Result<()> {
        Ok(())
    }
}

#[test]
fn other_user_code_that_panics_is_an_error_too() {
    let shards = Shards::of(&[40]);
    for on_bad in [OnBad::Error, OnBad::Substitute] {
        let loader = shards.loader().column("own", NoRoom).on_bad(on_bad).build().unwrap();
        let error = loader.epoch(0).next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked, "{error}");
        assert!(error.to_string().contains("room for what?"), "{error}");
    }
    let error = shards.loader().filter(|_| panic!("no opinion")).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(error.to_string().contains("the filter panicked: no opinion"), "{error}");
}

#[test]
fn an_unwritten_variable_row_is_empty() {
    let shards = Shards::of(&[40]);
    let own = Own(RowShape::Variable(DType::U8), |sample: &Sample<'_>, mut row: Row<'_>| {
        match sample.ordinal % 2 {
            0 => row.put(sample.part(0)),
            _ => Ok(()),
        }
    });
    let loader = shards.loader().column("own", own).build().unwrap();
    for epoch in 0..3 {
        for batch in loader.epoch(epoch).map(Result::unwrap) {
            is_true(&batch);
            let own = batch.column("own").unwrap();
            let bin = batch.column("bin").unwrap();
            for (row, ordinal) in batch.ordinals().enumerate() {
                let expected = if ordinal % 2 == 0 { bin.row(row) } else { &[] };
                assert!(own.row(row) == expected, "row {row}");
            }
        }
    }
}

/// A row of another length would move the elements of the rows behind it.
#[test]
fn a_variable_row_that_a_decoder_leaves_wrong_is_an_error_with_key_and_column() {
    let shards = Shards::of(&[40]);
    let part_of_an_element =
        Own(RowShape::Variable(DType::F32), |_: &Sample<'_>, mut row: Row<'_>| {
            row.bytes()[..3].fill(1);
            row.set_used(3);
            Ok(())
        });
    let too_much = Own(RowShape::Variable(DType::U8), |_: &Sample<'_>, mut row: Row<'_>| {
        let room = row.bytes().len();
        row.set_used(room + 1);
        Ok(())
    });
    let loaders = [
        (
            shards.loader().column("own", part_of_an_element),
            "wrote 3 bytes, and elements of F32 have 4",
        ),
        (shards.loader().column("own", too_much), "room for"),
    ];
    for (loader, says) in loaders {
        let error = loader.build().unwrap().epoch(0).next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
        let text = error.to_string();
        assert!(text.contains(says) && text.contains("own"), "{text}");
        assert!(error.place().key.is_some(), "{text}");
    }
}

#[test]
fn polling_before_each_batch_gives_the_same_batches_and_counts_as_waiting() {
    const LOOK: Duration = Duration::from_millis(1);
    let shards = Shards::of(&[20]);
    // No sample is decoded before the consumer has looked in vain once more.
    let looked = Arc::new(AtomicUsize::new(0));
    let decoded = AtomicUsize::new(0);
    let looks = looked.clone();
    let waits = Own(NUMBER, move |_: &Sample<'_>, mut row: Row<'_>| {
        let wanted = decoded.fetch_add(1, Ordering::SeqCst);
        while looks.load(Ordering::SeqCst) <= wanted {
            std::thread::yield_now();
        }
        row.put(&[1])
    });
    let loader = shards.loader().column("waits", waits).threads(1).build().unwrap();
    let mut epoch = loader.epoch(0);
    let mut steps = 0;
    let mut before_batches = 0;
    loop {
        while !epoch.ready(LOOK) {
            looked.fetch_add(1, Ordering::SeqCst);
        }
        let looks = looked.load(Ordering::SeqCst);
        let Some(batch) = epoch.next() else { break };
        is_true(&batch.unwrap());
        steps += 1;
        before_batches = looks;
    }
    assert!(epoch.ready(Duration::ZERO) && steps == loader.steps().unwrap());
    assert!(before_batches >= 20, "{before_batches}");
    // Each look in vain took that long, and looking is waiting.
    let stats = loader.stats();
    let waited = stats.stage("consumer").unwrap().waiting_input;
    assert!(waited >= LOOK * before_batches as u32, "{before_batches} looks: {stats}");
}
