//! Loaders of arrays: rows of files without shards, by the rules of every loader.

use std::fs;

use tarflume::{
    ArrayDataset, DType, ErrorKind, Loader, LoaderBuilder, OnBad, Remainder, Shuffle, Split,
};

const ROWS: u64 = 103;

/// Two arrays in a folder: numbers (row n is n), and triples of bytes (n, n + 1, n + 2).
struct Arrays {
    dir: tempfile::TempDir,
}

impl Arrays {
    fn new() -> Arrays {
        let dir = tempfile::tempdir().unwrap();
        let numbers: Vec<u8> = (0..ROWS).flat_map(u64::to_le_bytes).collect();
        let triples: Vec<u8> = (0..ROWS as u8).flat_map(|n| [n, n + 1, n + 2]).collect();
        fs::write(dir.path().join("n.raw"), numbers).unwrap();
        fs::write(dir.path().join("t.raw"), triples).unwrap();
        Arrays { dir }
    }

    fn array(&self, name: &str, dtype: DType, row: &[usize]) -> ArrayDataset {
        ArrayDataset::raw(self.dir.path().join(name), dtype, row, 0).unwrap()
    }

    fn loader(&self) -> LoaderBuilder {
        let numbers = self.array("n.raw", DType::U64, &[]);
        let triples = self.array("t.raw", DType::U8, &[3]);
        let shuffle = Shuffle::Full { seed: 7 };
        Loader::arrays([("n", numbers), ("t", triples)]).shuffle(shuffle).batch(8).threads(3)
    }
}

/// The numbers of the rows of the rest of an epoch, without padding. All columns of a row are of the same number.
fn rows(loader: &Loader, epoch: u64) -> Vec<u64> {
    let mut rows = Vec::new();
    for batch in loader.epoch(epoch) {
        let batch = batch.unwrap();
        let numbers = batch.column("n").unwrap().elements::<u64>().unwrap();
        let triples = batch.column("t").unwrap();
        assert!(batch.ordinals().eq(numbers.iter().copied()));
        for (row, &number) in numbers.iter().enumerate() {
            let first = number as u8;
            assert_eq!(triples.row(row), [first, first + 1, first + 2]);
            if !batch.rows().nth(row).unwrap().padding {
                rows.push(number);
            }
        }
    }
    rows
}

#[test]
fn every_rank_takes_its_rows_and_all_ranks_take_each_row_once() {
    let arrays = Arrays::new();
    for remainder in [Remainder::Even, Remainder::Pad, Remainder::Uneven] {
        let mut all = Vec::new();
        let mut steps = Vec::new();
        let mut ledger = None;
        for rank in 0..3 {
            let loader = arrays.loader().split(Split::new(rank, 3).unwrap()).remainder(remainder);
            let loader = loader.build().unwrap();
            steps.push(loader.epoch(2).count());
            let expected = loader.expected(2).unwrap();
            let mut sum = ledger.unwrap_or_else(|| tarflume::Ledger::new(loader.order().data()));
            sum.merge(&loader.ledger()).unwrap();
            ledger = Some(sum);
            if rank == 2 {
                sum.prove(&expected).unwrap();
            }
            all.extend(rows(&loader, 2));
        }
        assert!(remainder == Remainder::Uneven || steps.iter().all(|&n| n == steps[0]));
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..ROWS), "{remainder:?}");
    }
}

#[test]
fn an_epoch_continues_at_the_next_row_with_another_batch_size() {
    let arrays = Arrays::new();
    let whole = rows(&arrays.loader().remainder(Remainder::Even).build().unwrap(), 4);
    let first = arrays.loader().build().unwrap();
    let taken: Vec<u64> = first
        .epoch(4)
        .take(5)
        .flat_map(|batch| batch.unwrap().ordinals().collect::<Vec<_>>())
        .collect();
    assert_eq!(taken, whole[..40]);
    let state = first.state();
    let second =
        arrays.loader().batch(10).remainder(Remainder::Even).resume(state.clone()).build().unwrap();
    assert_eq!(rows(&second, second.current_epoch()), whole[40..]);
    // A state of other numbers in an array of the same shape is refused.
    fs::write(arrays.dir.path().join("n.raw"), vec![1; 8 * ROWS as usize]).unwrap();
    let error = arrays.loader().resume(state).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
}

#[test]
fn without_a_shuffle_rows_come_in_the_order_of_the_file() {
    let arrays = Arrays::new();
    let loader =
        arrays.loader().shuffle(Shuffle::None).remainder(Remainder::Uneven).build().unwrap();
    assert!(rows(&loader, 0).into_iter().eq(0..ROWS));
    let stats = loader.stats();
    let read = stats.stages.iter().find(|stage| stage.name == "read").unwrap();
    assert_eq!(read.bytes, ROWS * 11);
    let loader = arrays.loader().shuffle(Shuffle::None).skip(10).take(20).build().unwrap();
    assert!(rows(&loader, 0).into_iter().eq(10..26)); // two whole batches of eight
}

fn refusal(loader: LoaderBuilder) -> String {
    loader.build().unwrap_err().to_string()
}

#[test]
fn what_needs_shards_is_refused() {
    let arrays = Arrays::new();
    let short = arrays.array("t.raw", DType::U8, &[1]);
    let numbers = arrays.array("n.raw", DType::U64, &[]);
    let uneven = refusal(Loader::arrays([("n", numbers.clone()), ("t", short)]));
    assert!(uneven.contains("array 't' has 309 rows, and 'n' has 103"), "{uneven}");
    assert!(refusal(Loader::arrays::<String>([])).contains("at least one array"));
    let twice = refusal(Loader::arrays([("n", numbers.clone()), ("n", numbers)]));
    assert!(twice.contains("two columns 'n'"), "{twice}");
    assert!(refusal(arrays.loader().bytes("jpg")).contains("are the arrays"));
    assert!(refusal(arrays.loader().on_bad(OnBad::Substitute)).contains("no other row"));
    assert!(refusal(arrays.loader().select_keys(["a"])).contains("'a'"));
}

#[test]
fn a_file_that_is_cut_is_an_error_with_its_path() {
    let arrays = Arrays::new();
    let loader = arrays.loader().shuffle(Shuffle::None).batch(103).build().unwrap();
    let file = fs::File::options().write(true).open(arrays.dir.path().join("n.raw")).unwrap();
    file.set_len(0).unwrap();
    let error = loader.epoch(0).next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
    assert!(error.place().path.as_ref().unwrap().ends_with("n.raw"));
}
