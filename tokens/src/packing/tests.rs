//! Every id appears once and in order; best fit splits nothing that fits; blocks are full.

use proptest::prelude::*;

use super::*;

fn packed(packing: Packing, length: usize, window: usize, lengths: &[usize]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut keep = |block| {
        blocks.push(block);
        Ok(())
    };
    let mut packer = Packer::with_window(packing, length, window);
    for (number, &count) in lengths.iter().enumerate() {
        let ids: Vec<u32> = (0..count as u32).collect();
        let document = DocumentId { source: 0, number: number as u64 };
        packer.push(document, &ids, &mut keep).unwrap();
    }
    packer.finish(&mut keep).unwrap();
    blocks
}

/// Returns the share of ids that are no padding, in percent.
fn fill(blocks: &[Block], length: usize) -> f64 {
    let tokens: usize = blocks.iter().map(Block::tokens).sum();
    100.0 * tokens as f64 / (blocks.len() * length) as f64
}

/// Asserts that the pieces are the documents, each id once; returns the pieces of each document.
fn check(blocks: &[Block], length: usize, lengths: &[usize]) -> Vec<usize> {
    let mut pieces: Vec<Vec<(u64, &[u32])>> = vec![Vec::new(); lengths.len()];
    for block in blocks {
        assert!((1..=length).contains(&block.tokens()));
        assert_eq!(block.cu_seqlens().last(), Some(&block.tokens()));
        for piece in &block.pieces {
            assert!(!piece.ids.is_empty());
            pieces[piece.document.number as usize].push((piece.from, &piece.ids[..]));
        }
    }
    for (own, &count) in pieces.iter_mut().zip(lengths) {
        own.sort();
        let ids: Vec<u32> = own.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        assert_eq!(ids, (0..count as u32).collect::<Vec<_>>());
        assert!(own.iter().all(|(from, ids)| u64::from(ids[0]) == *from));
    }
    pieces.iter().map(Vec::len).collect()
}

/// Returns lengths of texts as they are on the web: log-normal, from a fixed generator.
fn web(count: usize, median: f64, spread: f64) -> Vec<usize> {
    let mut state = 1u64;
    let normals = (0..count).map(|_| {
        let radius = (-2.0 * uniform(&mut state).ln()).sqrt();
        radius * (std::f64::consts::TAU * uniform(&mut state)).cos()
    });
    normals.map(|normal| (median * (spread * normal).exp()).round().max(1.0) as usize).collect()
}

/// Returns the next number between 0 and 1.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

#[test]
fn best_fit_wastes_less_than_a_hundredth_on_lengths_of_the_web() {
    for (median, spread, length) in
        [(400.0, 1.1, 2048), (700.0, 1.3, 2048), (400.0, 1.1, 8192), (90.0, 0.9, 512)]
    {
        let lengths = web(20_000, median, spread);
        let blocks = packed(Packing::BestFit, length, Packer::WINDOW, &lengths);
        let pieces = check(&blocks, length, &lengths);
        let fill = fill(&blocks, length);
        assert!(fill >= 99.0, "median {median}, spread {spread}, length {length}: {fill:.2} %");
        for (count, &ids) in pieces.iter().zip(&lengths) {
            assert_eq!(*count, ids.div_ceil(length), "a document that fits is not split");
        }
        let padded: usize = lengths.iter().map(|ids| ids.div_ceil(length)).sum();
        assert!(
            blocks.len() * 10 < padded * 9,
            "{} blocks, {padded} without packing",
            blocks.len()
        );
    }
}

#[test]
fn concatenation_fills_every_block_but_the_last() {
    let lengths = web(500, 400.0, 1.1);
    let blocks = packed(Packing::Concat, 1024, 1, &lengths);
    check(&blocks, 1024, &lengths);
    assert!(blocks.iter().rev().skip(1).all(|block| block.tokens() == 1024));
    let order: Vec<DocumentId> =
        blocks.iter().flat_map(|b| b.pieces.iter().map(|p| p.document)).collect();
    assert!(order.is_sorted());
}

#[test]
fn the_least_room_that_is_enough_is_taken() {
    let blocks = packed(Packing::BestFit, 10, 100, &[7, 5, 3, 5, 2]);
    let found: Vec<Vec<u64>> = blocks
        .iter()
        .map(|block| block.pieces.iter().map(|p| p.document.number).collect())
        .collect();
    assert_eq!(found, [vec![0, 2], vec![1, 3], vec![4]]);
}

#[test]
fn nothing_gives_nothing() {
    for packing in [Packing::BestFit, Packing::Concat] {
        assert!(packed(packing, 8, 4, &[]).is_empty());
        assert!(packed(packing, 8, 4, &[0, 0]).is_empty());
        assert_eq!(packed(packing, 8, 4, &[8, 16]).len(), 3);
    }
}

proptest! {
    #[test]
    fn each_id_is_packed_once(
        lengths in prop::collection::vec(0usize..40, 0..80), length in 1usize..20, window in 1usize..20,
    ) {
        for packing in [Packing::BestFit, Packing::Concat] {
            let blocks = packed(packing, length, window, &lengths);
            check(&blocks, length, &lengths);
            prop_assert_eq!(&blocks, &packed(packing, length, window, &lengths));
        }
    }
}
