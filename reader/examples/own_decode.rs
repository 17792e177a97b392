//! A decoder of one's own, in ten lines: the mean brightness of a picture.
//!
//!     cargo run --release -p tarflume --example own_decode -- shards/
#![allow(clippy::print_stdout, clippy::print_stderr)]

use tarflume::{DType, Decode, Error, ErrorKind, Loader, Result, Row, RowShape, Sample, Scratch};

struct Brightness;

impl Decode for Brightness {
    fn parts(&self) -> Vec<String> {
        vec!["jpg;png".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::F32, vec![])
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let picture = image::load_from_memory(sample.part(0));
        let picture = picture.map_err(|e| Error::new(ErrorKind::Decode, e.to_string()))?.to_luma8();
        let sum: u64 = picture.iter().map(|&p| u64::from(p)).sum();
        row.elements::<f32>()?[0] = sum as f32 / picture.len().max(1) as f32;
        Ok(())
    }
}

fn main() -> Result<()> {
    let shards = std::env::args().nth(1).unwrap_or_else(|| "shards/".into());
    let loader = Loader::builder(&shards).column("brightness", Brightness).batch(4).build()?;
    for batch in loader.epoch(0) {
        let batch = batch?;
        for (row, mean) in batch.column("brightness")?.elements::<f32>()?.iter().enumerate() {
            println!("{}: {mean:.1}", String::from_utf8_lossy(batch.key(row)));
        }
    }
    Ok(())
}
