//! Rows of arrays by number: files written by NumPy, raw files, files with false or truncated content, and
//! a large one of which little is read.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tarflume::{ArrayBatches, ArrayDataset, ArrayOrder, ArrayPlace, DType, ErrorKind};
use tarflume_formats::npy;

/// `np.save(file, np.arange(6, dtype='<f4').reshape(3, 2))`, NumPy 2.4.6.
const FLOATS: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }                                                          \n\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@";
/// `np.save(file, np.arange(12, dtype='<f2').reshape(2, 2, 3))`, NumPy 2.4.6.
const HALVES: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2, 3), }                                                       \n\x00\x00\x00<\x00@\x00B\x00D\x00E\x00F\x00G\x00H\x80H\x00I\x80I";
/// `np.save(file, np.arange(3, dtype='<i8') - 1)`, NumPy 2.4.6.
const LONGS: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }                                                            \n\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00";
/// `np.save(file, np.array([[True, False], [False, True]]))`, NumPy 2.4.6.
const TRUTHS: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2), }                                                          \n\x01\x00\x00\x01";
/// `np.save(file, np.arange(3, dtype='>u2'))`, NumPy 2.4.6.
const BIG: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '>u2', 'fortran_order': False, 'shape': (3,), }                                                            \n\x00\x00\x00\x01\x00\x02";
/// `np.save(file, np.asfortranarray(np.arange(6, dtype='<f4').reshape(3, 2)))`, NumPy 2.4.6.
const FORTRAN: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }                                                           \n\x00\x00\x00\x00\x00\x00\x00@\x00\x00\x80@\x00\x00\x80?\x00\x00@@\x00\x00\xa0@";
/// `np.save(file, np.float32(1))`, NumPy 2.4.6.
const SCALAR: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (), }                                                              \n\x00\x00\x80?";
/// `np.save(file, np.zeros(1, '<c8'))`, NumPy 2.4.6.
const COMPLEX: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }                                                            \n\x00\x00\x00\x00\x00\x00\x00\x00";
/// `np.save(file, np.array(['a']))`, NumPy 2.4.6.
const TEXT: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }                                                            \na\x00\x00\x00";
/// `np.save(file, np.zeros((0, 3), 'u1'))`, NumPy 2.4.6.
const EMPTY: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (0, 3), }                                                          \n";

/// A file in a folder that goes when it is dropped.
struct OnDisk {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn on_disk(bytes: &[u8]) -> OnDisk {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    fs::write(&path, bytes).unwrap();
    OnDisk { _folder: folder, path }
}

fn refusal(bytes: &[u8]) -> (ErrorKind, String) {
    let file = on_disk(bytes);
    let error = ArrayDataset::open(&file.path).unwrap_err();
    assert_eq!(error.place().path.as_deref(), Some(&*file.path), "{error}");
    (error.kind(), error.text().to_string())
}

#[test]
fn rows_are_those_that_numpy_wrote() {
    let file = on_disk(FLOATS);
    let array = ArrayDataset::open(&file.path).unwrap();
    assert_eq!((array.len(), array.row_shape(), array.dtype()), (3, &[2][..], DType::F32));
    assert_eq!(array.get(0).unwrap().elements::<f32>().unwrap(), [0.0, 1.0]);
    assert_eq!(array.get(2).unwrap().elements::<f32>().unwrap(), [4.0, 5.0]);
    let last_two = array.rows(1..3).unwrap();
    assert_eq!((last_two.first(), last_two.rows()), (1, 2));
    assert_eq!(last_two.elements::<f32>().unwrap(), [2.0, 3.0, 4.0, 5.0]);
    assert_eq!(array.rows(3..3).unwrap().bytes(), b"");
    let mut into = [0; 24];
    array.read_rows(&[2, 0, 2], &mut into).unwrap();
    let floats: Vec<f32> =
        into.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(floats, [4.0, 5.0, 0.0, 1.0, 4.0, 5.0]);
}

#[test]
fn other_types_and_shapes_are_read() {
    let file = on_disk(HALVES);
    let array = ArrayDataset::open(&file.path).unwrap();
    assert_eq!((array.len(), array.row_shape(), array.dtype()), (2, &[2, 3][..], DType::F16));
    assert_eq!(
        array.get(1).unwrap().elements::<half::f16>().unwrap()[5],
        half::f16::from_f32(11.0)
    );
    let file = on_disk(LONGS);
    let array = ArrayDataset::open(&file.path).unwrap();
    assert_eq!((array.len(), array.row_shape()), (3, &[][..]));
    assert_eq!(array.rows(0..3).unwrap().elements::<i64>().unwrap(), [-1, 0, 1]);
    let file = on_disk(TRUTHS);
    let array = ArrayDataset::open(&file.path).unwrap();
    assert_eq!(array.dtype(), DType::Bool);
    assert_eq!(array.get(1).unwrap().elements::<u8>().unwrap(), [0, 1]);
    let file = on_disk(EMPTY);
    assert!(ArrayDataset::open(&file.path).unwrap().is_empty());
}

#[test]
fn arrays_that_cannot_be_read_in_place_are_errors_with_a_remedy() {
    for (bytes, remedy) in [
        (FORTRAN, "np.ascontiguousarray(a)"),
        (BIG, "a.astype(a.dtype.newbyteorder('<'))"),
        (SCALAR, "a.reshape(1)"),
        (COMPLEX, "a.view('<f4')"),
        (TEXT, "a.view('u1')"),
    ] {
        let (kind, text) = refusal(bytes);
        assert_eq!(kind, ErrorKind::WrongFormat, "{text}");
        assert!(text.contains(remedy), "{text}");
    }
    assert_eq!(refusal(b"PK\x03\x04").0, ErrorKind::WrongFormat);
}

#[test]
fn a_file_shorter_than_its_header_promises_is_truncated_and_names_both_numbers() {
    let (kind, text) = refusal(&FLOATS[..FLOATS.len() - 1]);
    assert_eq!(kind, ErrorKind::Truncated);
    assert!(text.contains("24 bytes") && text.contains("23 follow"), "{text}");
    for length in [0, 3, 11, 12, 60, 127] {
        assert_eq!(refusal(&FLOATS[..length]).0, ErrorKind::Truncated, "{length}");
    }
}

/// `np.save` called twice with one file: NumPy reads the first array and so do we.
#[test]
fn bytes_after_the_array_are_ignored() {
    let file = on_disk(&[FLOATS, LONGS].concat());
    let array = ArrayDataset::open(&file.path).unwrap();
    assert_eq!(array.len(), 3);
    assert_eq!(array.get(2).unwrap().elements::<f32>().unwrap(), [4.0, 5.0]);
}

#[test]
fn requests_that_cannot_be_met_are_errors() {
    fn usage(error: tarflume::Error, words: &str) {
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.text().contains(words), "{error}");
    }

    let file = on_disk(FLOATS);
    let array = ArrayDataset::open(&file.path).unwrap();
    usage(array.get(3).unwrap_err(), "row 3 does not exist: the array has 3");
    usage(array.get(u64::MAX).unwrap_err(), "the array has 3");
    let from = 2;
    let to = 1;
    usage(array.rows(from..to).unwrap_err(), "rows 2..1 do not exist");
    usage(array.read_rows(&[0, 3], &mut [0; 16]).unwrap_err(), "row 3 does not exist");
    usage(array.read_rows(&[0], &mut [0; 9]).unwrap_err(), "buffer of 9");
    usage(array.get(0).unwrap().elements::<f64>().unwrap_err(), "holds F32, not F64");
    usage(array.get(0).unwrap().copy_to(&mut [0f32; 3]).unwrap_err(), "2 elements");
}

#[test]
fn a_raw_file_has_its_rows_after_an_offset() {
    let bytes: Vec<u8> = [9u8; 3].into_iter().chain((0..6u32).flat_map(u32::to_le_bytes)).collect();
    let file = on_disk(&bytes);
    let array = ArrayDataset::raw(&file.path, DType::U32, &[2], 3).unwrap();
    assert_eq!((array.len(), array.row_bytes()), (3, 8));
    let row = array.get(1).unwrap();
    let error = row.elements::<u32>().unwrap_err();
    assert!(error.text().contains("byte 11") && error.text().contains("copy_to"), "{error}");
    let mut copy = [0u32; 2];
    row.copy_to(&mut copy).unwrap();
    assert_eq!(copy, [2, 3]);
    for (row, offset, kind) in [
        (&[2][..], 0, ErrorKind::Truncated),
        (&[2], 28, ErrorKind::Usage),
        (&[0], 0, ErrorKind::Usage),
        (&[usize::MAX, 2], 0, ErrorKind::Limit),
    ] {
        let error = ArrayDataset::raw(&file.path, DType::U32, row, offset).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    assert!(ArrayDataset::raw(&file.path, DType::U32, &[2], 27).unwrap().is_empty());
}

/// Without this, the header would be the first rows.
#[test]
fn the_header_of_an_npy_file_is_no_row_of_a_raw_file() {
    let mut head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }".to_vec();
    head.resize(117, b' ');
    head.push(b'\n');
    let length = u16::try_from(head.len()).unwrap().to_le_bytes();
    let rows: Vec<u8> = (0..15u8).map(f32::from).flat_map(f32::to_le_bytes).collect();
    let file = on_disk(&[b"\x93NUMPY\x01\x00", &length[..], &head, &rows].concat());
    let array = ArrayDataset::raw(&file.path, DType::F32, &[3], 0).unwrap();
    assert_eq!(array.len(), 5);
    assert_eq!(array.get(0).unwrap().elements::<f32>().unwrap(), [0.0, 1.0, 2.0]);
    for (dtype, row) in [(DType::F32, &[1][..]), (DType::U32, &[3]), (DType::F32, &[])] {
        let error = ArrayDataset::raw(&file.path, dtype, row, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.text().contains("rows of F32 [3]"), "{error}");
    }
    // From an offset the bytes are taken as they are.
    assert_eq!(ArrayDataset::raw(&file.path, DType::F32, &[3], 128).unwrap().len(), 5);
}

/// Kilobytes of `path` that are in this process's memory.
fn resident_kb(path: &Path) -> u64 {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let name = path.to_str().unwrap();
    let mut ours = false;
    let mut sum = 0;
    for line in maps.lines() {
        if line.contains(" r--") || line.contains(" rw-") || line.contains(" r-x") {
            ours = line.ends_with(name);
        } else if let Some(kb) = line.strip_prefix("Rss:").filter(|_| ours) {
            sum += kb.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
        }
    }
    sum
}

#[test]
fn one_row_of_three_gigabytes_reads_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.npy");
    let rows = 3_000_000u64;
    let row = 256u64;
    let mut head = Vec::new();
    let dtype = npy::Dtype { kind: 'f', size: 4, little: true };
    npy::write_header(&mut head, dtype, false, &[rows, row]).unwrap();
    let file = File::create(&path).unwrap();
    file.write_all_at(&head, 0).unwrap();
    file.set_len(head.len() as u64 + rows * row * 4).unwrap();
    let at = 1_234_567;
    file.write_all_at(&1.5f32.to_le_bytes(), head.len() as u64 + at * row * 4).unwrap();

    let array = ArrayDataset::open(&path).unwrap();
    assert_eq!(resident_kb(&path), 0, "opening touches no page of the map");
    let clone = array.clone();
    let first = std::thread::spawn(move || clone.get(at).unwrap().elements::<f32>().unwrap()[0]);
    assert_eq!(first.join().unwrap(), 1.5);
    assert_eq!(array.get(at + 1).unwrap().elements::<f32>().unwrap(), [0.0; 256]);
    let resident = resident_kb(&path);
    assert!((1..=512).contains(&resident), "{resident} kB of 3,000,000 are in memory");
}

#[test]
fn a_file_cut_while_it_is_open_is_an_error() {
    fn open(path: &Path) -> ArrayDataset {
        fs::write(path, [7; 40_000]).unwrap();
        ArrayDataset::raw(path, DType::U8, &[1000], 0).unwrap()
    }

    fn is_cut<T: std::fmt::Debug>(read: tarflume::Result<T>, path: &Path) {
        let error = read.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
        assert_eq!(error.place().path.as_deref(), Some(path));
    }

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.raw");
    let array = open(&path);
    let seen = array.get(0).unwrap();
    let lost = array.get(30).unwrap();
    assert_eq!(seen.bytes(), [7; 1000]);
    File::options().write(true).open(&path).unwrap().set_len(10_000).unwrap();
    assert_eq!(lost.bytes(), [0; 1000]);
    is_cut(lost.intact(), &path);
    is_cut(seen.intact(), &path);
    is_cut(lost.copy_to(&mut [0u8; 1000]), &path);
    is_cut(array.get(0), &path);
    is_cut(array.read_rows(&[39], &mut [0; 1000]), &path);
    drop(array);
    let array = open(&path);
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    is_cut(array.read_rows(&[0], &mut [0; 1000]), &path);
}

/// 20 rows of two `u16` in three runs of a file, with bytes between them.
fn in_runs() -> (OnDisk, Vec<ArrayPlace>) {
    let mut bytes = vec![9; 6];
    let mut places = Vec::new();
    let mut row = 0u16;
    for rows in [7u16, 0, 1, 12] {
        places.push(ArrayPlace { at: bytes.len() as u64, rows: rows.into() });
        for _ in 0..rows {
            bytes.extend([row.to_le_bytes(), (row * 3).to_le_bytes()].concat());
            row += 1;
        }
        bytes.extend([9; 5]);
    }
    (on_disk(&bytes), places)
}

#[test]
fn rows_at_places_of_a_file_are_read_by_number() {
    let (file, places) = in_runs();
    let array = ArrayDataset::placed(&file.path, DType::U16, &[2], &places).unwrap();
    assert_eq!(array.len(), 20);
    let rows: Vec<u64> = (0..20).rev().collect();
    let mut bytes = vec![0; 80];
    array.read_rows(&rows, &mut bytes).unwrap();
    for (&row, bytes) in rows.iter().zip(bytes.chunks(4)) {
        let row = row as u16;
        assert_eq!(bytes, [row.to_le_bytes(), (row * 3).to_le_bytes()].concat());
    }
    assert_eq!(array.rows(8..20).unwrap().bytes().len(), 48);
    assert_eq!(array.rows(20..20).unwrap().bytes().len(), 0);
    let error = array.rows(6..8).unwrap_err();
    assert!(error.to_string().contains("several pages"), "{error}");
}

#[test]
fn places_outside_the_file_are_refused() {
    let (file, mut places) = in_runs();
    places[3].rows += 2;
    let error = ArrayDataset::placed(&file.path, DType::U16, &[2], &places).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    places[3].rows = u64::MAX;
    assert!(ArrayDataset::placed(&file.path, DType::U16, &[2], &places).is_err());
}

#[test]
fn batches_of_an_epoch_have_every_row_once_on_some_rank() {
    let (file, places) = in_runs();
    let array = ArrayDataset::placed(&file.path, DType::U16, &[2], &places).unwrap();
    /// The rows of all batches from number `first` on.
    fn rows(array: &ArrayDataset, order: ArrayOrder, first: u64) -> Vec<u64> {
        let batches = ArrayBatches::new(vec![array.clone(); 2], order, first, 3).unwrap();
        let mut rows = Vec::new();
        for batch in batches {
            let batch = batch.unwrap();
            assert_eq!(batch.columns[0], batch.columns[1]);
            for (row, bytes) in batch.rows.iter().zip(batch.columns[0].chunks(4)) {
                assert_eq!(bytes[..2], (*row as u16).to_le_bytes());
            }
            rows.extend(batch.rows);
        }
        rows
    }

    let plain = ArrayOrder { batch: 3, seed: None, epoch: 4, rank: (0, 1), drop_last: false };
    let mixed = ArrayOrder { seed: Some(7), ..plain };
    assert_eq!(rows(&array, plain, 0), (0..20).collect::<Vec<_>>());
    let one = rows(&array, mixed, 0);
    assert_ne!(one, (0..20).collect::<Vec<_>>());
    assert_eq!(one, rows(&array, mixed, 0));
    assert_eq!(one[6..], rows(&array, mixed, 2));
    let of_ranks = (0..3).map(|rank| ArrayOrder { rank: (rank, 3), ..mixed });
    let mut all: Vec<u64> = of_ranks.flat_map(|order| rows(&array, order, 0)).collect();
    all.sort_unstable();
    assert_eq!(all, (0..20).collect::<Vec<_>>());
    let even = ArrayOrder { drop_last: true, rank: (2, 3), ..mixed };
    let sizes = ArrayBatches::new(vec![array.clone()], even, 0, 1).unwrap();
    assert_eq!(sizes.map(|batch| batch.unwrap().rows.len()).collect::<Vec<_>>(), [3, 3]);
    assert!(ArrayBatches::new(vec![], even, 0, 1).is_err());
    let none = ArrayOrder { rank: (3, 3), ..plain };
    assert!(ArrayBatches::new(vec![array], none, 0, 1).is_err());
}
