//! The plan: opening, and decoding the samples of every shard. The first byte decides how much of the
//! input is made valid, so that the code after checksums and compression is reached.

use tarflume_formats::crc32c;
use tarflume_formats::plan::{Location, MAGIC, Plan, PlannedSample};

/// Opens the input as a plan, and decodes the samples of each shard.
pub fn plan(input: &[u8]) {
    let Some((&mode, rest)) = input.split_first() else { return };
    match mode % 4 {
        0 => look_at(rest.to_vec()),
        1 => look_at(with_chunk(rest, 1, mode >> 2)),
        2 => look_at(with_chunk(rest, 2, mode >> 2)),
        _ => look_at(with_foot(rest)),
    }
}

fn look_at(bytes: Vec<u8>) {
    let Ok(plan) = Plan::from_bytes(bytes) else { return };
    let mut sample = PlannedSample::default();
    for shard in 0..=plan.foot().shards.len().min(64) {
        let mut samples = plan.samples(shard);
        let mut count = 0u64;
        while let Ok(true) = samples.next_into(&mut sample) {
            count += 1;
            assert!(u64::from(sample.root) < plan.foot().roots.len() as u64);
            for part in &sample.parts {
                assert!(usize::from(part.ext) < plan.foot().exts.len());
                match part.location {
                    Location::File { .. } => {}
                    Location::Path { at, length, .. } => {
                        let at = at as usize;
                        let length = length as usize;
                        assert!(sample.text.get(at..at + length).is_some());
                    }
                    Location::Text { .. } => assert!(sample.text_of(part).is_some()),
                    Location::Range { source, .. } | Location::Cell { source, .. } => {
                        assert!((source as usize) < plan.foot().sources.len());
                    }
                }
            }
        }
        assert!(count <= plan.foot().shards.get(shard).map_or(0, |s| s.samples));
    }
}

/// A plan of one shard whose chunks are the input, cut in two, compressed and summed.
fn with_chunk(input: &[u8], schema: u32, samples: u8) -> Vec<u8> {
    let mut plan = MAGIC.to_vec();
    for raw in input.chunks((input.len() / 2).max(1)) {
        let packed = zstd::bulk::compress(raw, 1).expect("memory compresses");
        plan.extend((packed.len() as u32).to_le_bytes());
        plan.extend((raw.len() as u32).to_le_bytes());
        plan.extend(crc32c(raw).to_le_bytes());
        plan.extend(packed);
    }
    let length = plan.len() - MAGIC.len();
    let foot = serde_json::json!({
        "schema": schema, "tool": "", "content": "", "roots": ["a", "b"], "options": null,
        "exts": [{"source": "JPG", "shard": "jpg"}, {"source": "json", "shard": "json"}],
        "samples": samples, "bytes": 0, "problems": [],
        "sources": [{"root": 0, "path": "x", "kind": "bytes", "bytes": 9, "stamp": 7}],
        "shards": [{
            "name": "a.tar", "samples": samples, "source_bytes": 0, "bytes": 0, "at": MAGIC.len(),
            "length": length, "content": "", "sources": "",
        }],
    });
    closed(plan, foot.to_string().as_bytes())
}

/// A plan whose footer is the input, behind a few bytes that may be chunks.
fn with_foot(input: &[u8]) -> Vec<u8> {
    let (body, foot) = input.split_at(input.len().min(16));
    closed([&MAGIC, body].concat(), foot)
}

fn closed(mut plan: Vec<u8>, foot: &[u8]) -> Vec<u8> {
    let at = plan.len() as u64;
    plan.extend(foot);
    plan.extend(at.to_le_bytes());
    plan.extend((foot.len() as u64).to_le_bytes());
    plan.extend(crc32c(foot).to_le_bytes());
    plan.extend([0; 4]);
    plan.extend(MAGIC);
    plan
}
