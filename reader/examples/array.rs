//! Mean and spread of some rows of a large array, without reading the rest.
//!
//! `cargo run -p tarflume --example array -- embeddings.npy 0 1000000 5`
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![expect(clippy::print_stdout, reason = "a program that prints what it finds")]

use std::error::Error;

use tarflume::ArrayDataset;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: array FILE.npy ROW...")?;
    let array = ArrayDataset::open(path)?;
    println!("{} rows of {:?} {:?}", array.len(), array.row_shape(), array.dtype());
    for row in args {
        let view = array.get(row.parse()?)?;
        let values = view.elements::<f32>()?;
        let n = values.len() as f32;
        let mean = values.iter().sum::<f32>() / n;
        let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / n;
        view.intact()?; // nobody cut the file while we looked
        println!("row {row}: mean {mean:.4}, standard deviation {:.4}", spread.sqrt());
    }
    Ok(())
}
