//! `ZarrArray`: which file and which bytes have which rows of an array, and where their numbers belong. Pure.

use std::ops::Range;

use super::chain::{Chain, Filled, advance};
use super::copy::{Side, copy, fill, row_major};
use super::faults::{ArrayFault, ChunkFault};
use super::keys::Keys;
use super::numbers::element::Element;
use super::numbers::limits::{CHUNK_MAX, DIMENSIONS, bytes_of, check_bytes, check_edges};
use super::packing::most_packed;

/// An array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZarrArray {
    shape: Vec<u64>,
    /// The shape of the chunk of one file.
    chunk: Vec<u64>,
    element: Element,
    /// The bytes of the element that chunks without a file have.
    fill: Vec<u8>,
    keys: Keys,
    chain: Chain,
}

/// What metadata states about an array.
pub(super) struct Stated {
    pub(super) shape: Vec<u64>,
    pub(super) chunk: Vec<u64>,
    pub(super) element: Element,
    pub(super) fill: Vec<u8>,
    pub(super) keys: Keys,
    pub(super) chain: Chain,
}

/// Where a piece is: the place of its file in the grid of chunks, and its number in a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiecePlace {
    /// The number of the file in the grid of chunks, in row-major order.
    pub file: u64,
    /// The name of the file under the folder of the array.
    pub key: String,
    /// The number of the inner chunk; `None` if the whole file is one piece.
    pub inner: Option<usize>,
    /// The place of the piece in the grid of pieces.
    grid: Vec<u64>,
}

impl ZarrArray {
    /// Checks what metadata states.
    ///
    /// # Errors
    /// Returns an error for an array without rows or elements, for chunks of another number of dimensions, and for those
    /// that are larger than is decoded at once.
    pub(super) fn new(stated: Stated) -> Result<ZarrArray, ArrayFault> {
        let Stated { shape, chunk, element, fill, keys, chain } = stated;
        if shape.is_empty() {
            let why = "it is a single number and has no rows";
            return Err(ArrayFault::metadata(why));
        }
        if shape.len() > DIMENSIONS {
            let why =
                format!("it has {} dimensions, and NumPy has at most {DIMENSIONS}", shape.len());
            return Err(ArrayFault::metadata(why));
        }
        check_edges(&chunk, shape.len(), "chunks")?;
        if shape[1..].contains(&0) {
            let why = format!("its shape is {shape:?}, so a row has no numbers");
            return Err(ArrayFault::metadata(why));
        }
        check_bytes(bytes_of(&shape, element.size()), "arrays", i64::MAX as u64)?;
        let array = ZarrArray { shape, chunk, element, fill, keys, chain };
        check_bytes(bytes_of(array.piece(), element.size()), "chunks", CHUNK_MAX)?;
        // A shard that is decoded as a whole has a length, too.
        check_bytes(bytes_of(&array.chunk, element.size()), "shards", i64::MAX as u64)?;
        Ok(array)
    }

    /// Returns the number of rows, then the shape of a row.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the type of the numbers.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Returns the bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        bytes_of(&self.shape[1..], self.element.size()).expect("the bytes of all rows were checked")
    }

    /// Returns the shape of what is decoded at once.
    fn piece(&self) -> &[u64] {
        self.chain.open_shard().map_or(&self.chunk, |sharding| &sharding.chunk)
    }

    /// Returns the rows of a block: what is decoded at once has so many.
    pub fn block_rows(&self) -> u64 {
        self.piece()[0]
    }

    /// Returns the bytes that are decoded at once.
    pub fn piece_bytes(&self) -> u64 {
        bytes_of(self.piece(), self.element.size()).expect("they were checked")
    }

    /// Returns the most bytes that the stored form of a piece has.
    pub fn most_stored(&self) -> u64 {
        most_packed(self.piece_bytes() as usize) as u64
    }

    /// Returns the number of files if each chunk has one; `None` if 64 bits do not hold it.
    pub fn files(&self) -> Option<u64> {
        let counts = self.shape.iter().zip(&self.chunk).map(|(edge, chunk)| edge.div_ceil(*chunk));
        counts.into_iter().try_fold(1u64, |files, count| files.checked_mul(count))
    }

    /// Returns the names of the files of all chunks, in row-major order of the grid.
    pub fn keys(&self) -> impl Iterator<Item = String> + '_ {
        let edges = self.shape.iter().zip(&self.chunk);
        let counts: Vec<usize> =
            edges.map(|(edge, chunk)| edge.div_ceil(*chunk) as usize).collect();
        let mut place = vec![0; counts.len()];
        (0..self.files().unwrap_or(u64::MAX)).map(move |_| {
            let wide: Vec<u64> = place.iter().map(|&n| n as u64).collect();
            let key = self.keys.key(&wide);
            advance(&mut place, &counts);
            key
        })
    }

    /// Returns the pieces that have the rows of a block, whose first row is a multiple of [`ZarrArray::block_rows`].
    pub fn pieces(&self, first: u64) -> impl Iterator<Item = PiecePlace> + '_ {
        let piece = self.piece();
        let row = first / piece[0];
        let counts: Vec<usize> = self.shape[1..]
            .iter()
            .zip(&piece[1..])
            .map(|(edge, piece)| edge.div_ceil(*piece) as usize)
            .collect();
        let mut place = vec![0; counts.len()];
        // A row has fewer pieces than bytes, which were checked.
        (0..counts.iter().product::<usize>()).map(move |_| {
            let rest = place.iter().map(|&n| n as u64);
            let grid: Vec<u64> = [row].into_iter().chain(rest).collect();
            advance(&mut place, &counts);
            self.place(grid)
        })
    }

    /// Returns where the piece at a place of the grid of pieces is.
    fn place(&self, grid: Vec<u64>) -> PiecePlace {
        let piece = self.piece();
        let mut file = Vec::with_capacity(grid.len());
        let mut inner = 0;
        let mut number = 0;
        for (n, &at) in grid.iter().enumerate() {
            let each = self.chunk[n] / piece[n];
            file.push(at / each);
            inner = inner * each + at % each;
            number = number * self.shape[n].div_ceil(self.chunk[n]) + at / each;
        }
        let has_inner = self.chain.open_shard().is_some();
        let inner = has_inner.then_some(inner as usize);
        PiecePlace { file: number, key: self.keys.key(&file), inner, grid }
    }

    /// Returns where the index is in a shard of `length` bytes; `None` for an array whose files are no shards, or are
    /// decoded as a whole.
    ///
    /// # Errors
    /// Returns an error for a file that is shorter than its index.
    pub fn index_place(&self, length: u64) -> Option<Result<Range<u64>, ChunkFault>> {
        let sharding = self.chain.open_shard()?;
        Some(sharding.index.place(self.inner_chunks(), length))
    }

    /// Returns the number of inner chunks of a shard.
    fn inner_chunks(&self) -> usize {
        let edges = self.chunk.iter().zip(self.piece());
        edges.map(|(edge, inner)| (edge / inner) as usize).product()
    }

    /// Reads the index of a shard of `length` bytes: where each inner chunk is, `None` for one that was not written.
    ///
    /// # Errors
    /// Returns an error if the index is damaged. Its byte is one of the index.
    pub fn parse_index(
        &self,
        stored: Vec<u8>,
        length: u64,
    ) -> Result<Vec<Option<Range<u64>>>, ChunkFault> {
        let sharding = self.chain.open_shard().expect("only shards have an index");
        sharding.index.parse(stored, self.inner_chunks(), length)
    }

    /// Decodes a piece and puts its numbers into `rows` of a block that begins with the row `first`, row by row. A piece
    /// without stored bytes has the fill value.
    ///
    /// # Errors
    /// Returns an error if the stored bytes are damaged, and if the machine has no memory.
    pub fn put(
        &self,
        place: &PiecePlace,
        stored: Option<Vec<u8>>,
        first: u64,
        rows: &mut [u8],
    ) -> Result<(), ChunkFault> {
        let size = self.element.size();
        let piece: Vec<usize> = self.piece().iter().map(|&edge| edge as usize).collect();
        let row: Vec<usize> = self.shape[1..].iter().map(|&edge| edge as usize).collect();
        let count = rows.len() / (row.iter().product::<usize>() * size);
        let shape: Vec<usize> = [count].into_iter().chain(row).collect();
        let strides = row_major(&shape);
        let mut extents = Vec::with_capacity(shape.len());
        let mut start = 0;
        for (n, &at) in place.grid.iter().enumerate() {
            let from =
                if n == 0 { at * self.piece()[0] - first } else { at * self.piece()[n] } as usize;
            extents.push(piece[n].min(shape[n] - from));
            start += from * strides[n];
        }
        let into = Side { start, strides: &strides };
        let Some(stored) = stored else {
            fill(&self.fill, rows, into, &extents);
            return Ok(());
        };
        let chain = self.chain.open_shard().map_or(&self.chain, |sharding| &sharding.inner);
        let filled = Filled { element: self.element, fill: &self.fill };
        let bytes = chain.decode(stored, &piece, filled)?;
        let from = Side { start: 0, strides: &chain.strides(&piece) };
        copy(&bytes, from, rows, into, &extents, size);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::zarr::faults::Unread;

    /// Metadata of an array of 5 x 4 numbers in chunks of 2 x 3.
    fn metadata() -> Value {
        json!({
            "zarr_format": 3, "node_type": "array", "shape": [5, 4], "data_type": "int16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 7,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        })
    }

    fn parsed(change: Value) -> Result<ZarrArray, ArrayFault> {
        let mut object = metadata();
        for (name, value) in change.as_object().unwrap() {
            object[name] = value.clone();
        }
        ZarrArray::of_v3(object.to_string().as_bytes())
    }

    fn shards(inner: u64, place: &str) -> Value {
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let configuration = json!({
            "chunk_shape": [1, inner], "codecs": [bytes], "index_codecs": [bytes, "crc32c"], "index_location": place,
        });
        json!({"codecs": [{"name": "sharding_indexed", "configuration": configuration}]})
    }

    #[test]
    fn a_block_is_put_together_from_its_chunks() {
        let array = parsed(json!({})).unwrap();
        assert_eq!((array.block_rows(), array.files(), array.row_bytes()), (2, Some(6), 8));
        let keys: Vec<String> = array.keys().collect();
        assert_eq!(keys, ["c/0/0", "c/0/1", "c/1/0", "c/1/1", "c/2/0", "c/2/1"]);
        let pieces: Vec<PiecePlace> = array.pieces(4).collect();
        assert_eq!(pieces.iter().map(|piece| piece.file).collect::<Vec<u64>>(), [4, 5]);
        assert_eq!(pieces[1].key, "c/2/1");
        // The last block has one row, the last chunk of it one number.
        let mut rows = [0; 8];
        let stored = (1..=6i16).flat_map(i16::to_le_bytes).collect();
        array.put(&pieces[0], Some(stored), 4, &mut rows).unwrap();
        array.put(&pieces[1], None, 4, &mut rows).unwrap();
        assert_eq!(rows, [1, 0, 2, 0, 3, 0, 7, 0]);
        let fault = array.put(&pieces[0], Some(vec![0; 11]), 4, &mut rows).unwrap_err();
        let ChunkFault::Damaged { why, .. } = fault else { panic!("{fault:?}") };
        assert_eq!(why, "it has 11 bytes after decoding, and the metadata declares 12");
    }

    #[test]
    fn an_inner_chunk_has_a_place_in_its_shard() {
        for place in ["start", "end"] {
            let array = parsed(shards(3, place)).unwrap();
            let pieces: Vec<PiecePlace> = array.pieces(3).collect();
            let found: Vec<(u64, Option<usize>)> =
                pieces.iter().map(|piece| (piece.file, piece.inner)).collect();
            assert_eq!(found, [(2, Some(1)), (3, Some(1))]);
            let range = array.index_place(100).unwrap().unwrap();
            assert_eq!(range, if place == "start" { 0..36 } else { 64..100 });
            assert!(array.index_place(35).unwrap().is_err());
            let entries = [u64::MAX, u64::MAX, 40, 6].map(u64::to_le_bytes).concat();
            let sum = tarflume_formats::crc32c(&entries).to_le_bytes();
            let index = [&entries[..], &sum].concat();
            assert_eq!(array.parse_index(index.clone(), 100).unwrap(), [None, Some(40..46)]);
            assert!(array.parse_index(index.clone(), 45).is_err(), "it ends after the end");
            let mut flipped = index;
            flipped[20] ^= 1;
            let fault = array.parse_index(flipped, 100).unwrap_err();
            assert!(matches!(fault, ChunkFault::Damaged { byte: Some(32), .. }), "{fault:?}");
        }
        assert!(parsed(shards(2, "end")).is_err(), "inner chunks do not divide the shard");
        assert!(parsed(shards(0, "end")).is_err());
        assert!(parsed(shards(3, "middle")).is_err());
    }

    fn grid(shape: [u64; 2]) -> Value {
        json!({"name": "regular", "configuration": {"chunk_shape": shape}})
    }

    fn codecs(codecs: Value) -> Value {
        json!({ "codecs": codecs })
    }

    #[test]
    fn claims_beyond_memory_are_refused_before_anything_is_allocated() {
        for change in [
            json!({"shape": [u64::MAX, u64::MAX]}),
            json!({"shape": [1u64 << 62, 1]}),
            json!({"chunk_grid": grid([1 << 40, 1])}),
            json!({"chunk_grid": grid([u64::MAX, u64::MAX])}),
        ] {
            let fault = parsed(change.clone()).unwrap_err();
            assert!(matches!(fault, ArrayFault::TooLarge { .. }), "{change}: {fault:?}");
        }
        let mut many = shards(1, "end");
        many["chunk_grid"] = grid([1 << 20, 1 << 10]);
        let fault = parsed(many).unwrap_err();
        assert!(
            matches!(fault, ArrayFault::TooLarge { what: "indexes of shards", .. }),
            "{fault:?}"
        );
    }

    #[test]
    fn what_is_not_read_and_what_is_damaged_are_told_apart() {
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        for (change, part) in [
            (codecs(json!([bytes, "numcodecs.bz2"])), Some(Unread::Codec)),
            (
                codecs(json!([bytes, {"name": "blosc", "configuration": {"cname": "snappy"}}])),
                Some(Unread::Codec),
            ),
            (json!({"data_type": "complex64"}), Some(Unread::Type)),
            (json!({"data_type": {"name": "numpy.datetime64"}}), Some(Unread::Type)),
            (json!({"chunk_grid": {"name": "rectilinear"}}), Some(Unread::Grid)),
            (json!({"chunk_key_encoding": {"name": "odd"}}), Some(Unread::Keys)),
            (json!({"storage_transformers": [{"name": "x"}]}), Some(Unread::Extension)),
            (json!({"novel": 3}), Some(Unread::Extension)),
            (json!({"novel": {"must_understand": false}, "shape": []}), None),
            (json!({"shape": [5]}), None),
            (json!({"shape": [5, -4]}), None),
            (json!({"shape": [5, 0]}), None),
            (json!({"zarr_format": 2}), None),
            (json!({"node_type": "group"}), None),
            (json!({"fill_value": null}), None),
            (codecs(json!([])), None),
            (codecs(json!(["bytes"])), None),
            (codecs(json!(["gzip", bytes])), None),
            (codecs(json!([bytes, bytes])), None),
            (
                codecs(json!([{"name": "transpose", "configuration": {"order": [0, 0]}}, bytes])),
                None,
            ),
            (codecs(json!([{"name": "transpose", "configuration": {"order": [0]}}, bytes])), None),
        ] {
            let found = match parsed(change.clone()).unwrap_err() {
                ArrayFault::Unread { part, .. } => Some(part),
                _ => None,
            };
            assert_eq!(found, part, "{change}");
        }
    }

    /// A value of JSON that metadata may have at any place.
    fn anything() -> impl Strategy<Value = Value> {
        let number = prop_oneof![0u64..6, Just(1 << 31), Just(u64::MAX), any::<u64>()];
        let leaf = prop_oneof![
            number.prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            prop::sample::select(vec![
                "bytes",
                "transpose",
                "sharding_indexed",
                "regular",
                "C",
                "/",
                "NaN",
                "0x",
                ""
            ])
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            let names = prop::sample::select(vec![
                "name",
                "configuration",
                "chunk_shape",
                "codecs",
                "index_codecs",
                "order",
                "endian",
                "separator",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((names, inner), 0..4).prop_map(|members| {
                    members.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_metadata_is_an_array_or_an_error(
            member in prop::sample::select(vec![
                "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "storage_transformers",
            ]),
            value in anything(),
            stored in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let Ok(array) = parsed(json!({ member: value })) else { return Ok(()) };
            prop_assert!(array.piece_bytes() <= CHUNK_MAX);
            let rows = array.block_rows().min(array.shape()[0]);
            let Some(bytes) = rows.checked_mul(array.row_bytes()).filter(|&bytes| bytes < 1 << 20) else { return Ok(()) };
            if array.piece_bytes() > 1 << 20 || rows == 0 {
                return Ok(());
            }
            let mut space = vec![0; bytes as usize];
            for place in array.pieces(0).take(9) {
                let _ = array.put(&place, Some(stored.clone()), 0, &mut space);
                array.put(&place, None, 0, &mut space).unwrap();
            }
        }
    }
}
