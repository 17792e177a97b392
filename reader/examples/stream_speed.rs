//! How fast a stream gives samples: reads an epoch and prints KEY=VALUE lines. Decodes nothing.
//!
//! `stream_speed PATTERN [BUFFER]`: with BUFFER samples of shuffle buffer.

#![allow(clippy::print_stdout)] // printing is what it is for

use std::time::Instant;

use tarflume::{Shuffle, Stream};

fn main() -> tarflume::Result<()> {
    let mut args = std::env::args().skip(1);
    let pattern = args.next().unwrap_or_else(|| "-".into());
    let mut stream = Stream::open(pattern)?;
    if let Some(size) = args.next().and_then(|size| size.parse().ok()) {
        stream = stream.shuffle(Shuffle::Buffer { size, seed: 0 });
    }
    let begin = Instant::now();
    let mut samples = stream.samples(0)?;
    let mut count = 0u64;
    let mut bytes = 0u64;
    let mut sum = 0u64;
    for sample in samples.by_ref() {
        let sample = sample?;
        count += 1;
        bytes += sample.bytes();
        // The consumer touches each part, as one that decodes would.
        sum +=
            sample.parts().filter_map(|(_, data)| data.last()).map(|&b| u64::from(b)).sum::<u64>();
    }
    let seconds = begin.elapsed().as_secs_f64();
    let stats = samples.stats();
    println!("SAMPLES={count}\nBYTES={bytes}\nSECONDS={seconds:.3}");
    println!("SAMPLES_PER_S={:.0}", count as f64 / seconds);
    println!("MB_PER_S={:.0}", bytes as f64 / seconds / 1e6);
    println!("BLOCKED_S={:.3}\nPEAK_BYTES={}\nSUM={sum}", stats.blocked.as_secs_f64(), stats.peak);
    for note in samples.notes() {
        println!("NOTE={note}");
    }
    Ok(())
}
