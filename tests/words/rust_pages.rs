//! The Rust blocks of the pages: this file contains them in functions that the compiler checks and nothing calls, and a
//! test compares. The blocks of READMEs of crates are tests of their documentation.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use tarflume::{DeviceShare, Image, Loader, RandomResizedCrop, Shuffle, Split};

/// A page, and how many blocks of it are not here: they need candle, burn or libtorch, which `make adapters` has.
const ADAPTERS: (&str, usize) = ("RUST.md", 3);

#[rustfmt::skip]
#[allow(dead_code, unused_variables)]
fn loading() -> Result<(), Box<dyn Error>> {
    let loader = Loader::builder("shards/")
        .shuffle(Shuffle::Full { seed: 42 })
        .split(Split::from_env()?)
        .image("jpg", RandomResizedCrop::new(224).flip(0.5))
        .label("json", "/class")
        .batch(256)
        .build()?;
    for epoch in 0..90 {
        for batch in loader.epoch(epoch) {
            let batch = batch?;
        }
    }
    Ok(())
}

#[rustfmt::skip]
#[allow(dead_code, unused_variables)]
fn tars_without_sidecars() -> Result<(), Box<dyn Error>> {
    let stream = tarflume::Stream::open("s3://bucket/train-{000..099}.tar")?
        .shuffle(Shuffle::Buffer { size: 1000, seed: 42 });
    for sample in stream.samples(0)? {
        let jpeg = sample?.part("jpg").map(<[u8]>::len);
    }
    Ok(())
}

#[rustfmt::skip]
#[allow(dead_code, unused_variables)]
fn decoded_by_the_gpu() {
    let crop = RandomResizedCrop::new(224).flip(0.5);
    let share = DeviceShare::fixed(650);
    let pictures = Image::new("jpg", crop).device_decoder(share);
}

#[rustfmt::skip]
#[allow(dead_code, unused_variables)]
fn writing(samples: Vec<(String, Vec<u8>, Vec<u8>)>) -> Result<(), Box<dyn Error>> {
    use tarflume_packer::writer::{DatasetWriter, Options, Rejected};

    let options = Options { prefix: "train".into(), ..Options::default() };
    let mut writer = DatasetWriter::create("shards/".as_ref(), options)?;
    for (key, jpeg, json) in samples {
        match writer.write(key.as_bytes(), &[(b"jpg", &jpeg), (b"json", &json)]) {
            Ok(()) => {}
            Err(Rejected::Problem(problem)) => eprintln!("left out: {problem}"),
            Err(failure) => return Err(failure.into()),
        }
    }
    let manifest = writer.finish()?;
    Ok(())
}

#[rustfmt::skip]
#[allow(dead_code, unused_variables, clippy::print_stdout)]
fn packing() -> Result<(), Box<dyn Error>> {
    use tarflume_packer::build::BuildOptions;
    use tarflume_packer::session::{Build, Finalized, Planned, StoreOutcome};

    let options = BuildOptions::new(vec!["photos/".into()], "shards/".into());
    let build = Build::new(options.request()?); // or Build::in_bucket(..), for a store
    // It scans and plans, and refuses before anything is written.
    match build.plan()? {
        Planned::Ready(planned) => {
            println!("{} samples", planned.foot().samples);
            // The plan is stored where all machines see it.
            if let StoreOutcome::Ready(stored) = planned.store()? {
                let packed = stored.run()?;
                match packed.finalize()? {
                    Finalized::Published(done) => {
                        println!("{} shards", done.manifest.shards.len());
                    }
                    Finalized::Refused(ran) => {
                        eprintln!("{} samples have problems", ran.problems.len());
                    }
                }
            }
        }
        Planned::Refused(refused) => {
            eprintln!("{} problems", refused.scanned().problems.len());
        }
        // There is nothing to pack.
        Planned::Published { .. } | Planned::Nothing { .. } | Planned::Dry(_) => {}
    }
    Ok(())
}

#[rustfmt::skip]
#[allow(dead_code, unused_variables)]
fn configuration() -> Result<(), Box<dyn Error>> {
    #[derive(serde::Deserialize)]
    struct Training {
        shards: tarflume::Shards,
        shuffle: String,
        on_bad: tarflume::OnBad,
        memory: tarflume::Size,
    }

    let text = r#"{"shards": "shards/", "shuffle": "full, seed 42",
                   "on_bad": "skip", "memory": "4GiB"}"#;
    let training: Training = serde_json::from_str(text)?;
    let loader = Loader::builder(training.shards)
        .shuffle(training.shuffle.parse()?)
        .on_bad(training.on_bad)
        .memory_limit(training.memory)
        .build()?;
    let stats = serde_json::to_string(&loader.stats())?;
    Ok(())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The lines of a text without indentation and comments.
fn lines(text: &str) -> Vec<String> {
    let code = |line: &str| {
        let end = line.find("// ").filter(|&at| at == 0 || line[..at].ends_with(' '));
        line[..end.unwrap_or(line.len())].trim().to_string()
    };
    text.lines().map(code).filter(|line| !line.is_empty()).collect()
}

fn blocks(page: &str) -> Vec<String> {
    let after = page.split("```rust\n").skip(1);
    after.map(|rest| rest.split("```").next().unwrap().to_string()).collect()
}

#[test]
fn rust_blocks_of_pages_are_compiled() {
    let here = lines(include_str!("rust_pages.rs"));
    let mut found = 0;
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ext| ext != "md") {
            continue;
        }
        let known = |block: &String| {
            let block = lines(block);
            here.windows(block.len()).any(|window| window == block)
        };
        let all = blocks(&fs::read_to_string(&path).unwrap());
        let other: Vec<_> = all.iter().filter(|block| !known(block)).collect();
        let (page, blocks) = ADAPTERS;
        let expected = if path.ends_with(page) { blocks } else { 0 };
        let text = format!("{}: not in tests/words/rust_pages.rs: {other:#?}", path.display());
        assert_eq!(other.len(), expected, "{text}");
        found += all.len() - other.len();
    }
    assert_eq!(found, 6);
}
