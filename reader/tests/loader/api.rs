//! What Rust users expect of public types: traits, text forms that come back, closures and boxes as decoders and
//! transforms, `for` over a loader, paths and sizes of any usual type.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::iter::FusedIterator;
use std::path::PathBuf;
use std::str::FromStr;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tarflume::*;
use tarflume_formats::{ClassTable, Digest, digest_of, index_path};
use tarflume_order::{By, Cursor, PassCursor, Rows};

use crate::loader::harness::Shards as Made;

/// What people write into configuration files, and programs into logs.
trait Text:
    Clone + Debug + Display + FromStr + PartialEq + Serialize + DeserializeOwned + Send + Sync
{
}

impl<T> Text for T where
    T: Clone + Debug + Display + FromStr + PartialEq + Serialize + DeserializeOwned + Send + Sync
{
}

fn option<T: Text>() {}

/// A plain option, which is copied and has a default.
fn choice<T: Text + Copy + Default + Eq + Hash>() {}

/// Figures for a log.
fn figures<T: Clone + Debug + PartialEq + Serialize + Send + Sync>() {}

fn builder<T: Clone + Debug + Send + Sync>() {}

fn fused<T: FusedIterator + Debug + Send>() {}

#[test]
fn public_types_have_the_traits_of_their_kind() {
    choice::<Shuffle>();
    choice::<Split>();
    choice::<By>();
    choice::<Remainder>();
    choice::<OnBad>();
    choice::<Verify>();
    choice::<SourceKind>();
    choice::<Layout>();
    choice::<Filter>();
    choice::<Channels>();
    choice::<JsonRules>();
    option::<DType>();
    option::<ValueType>();
    option::<ColumnSpec>();
    option::<Size>();
    option::<ImageSize>();
    option::<DeviceShare>();
    option::<Fingerprint>();
    option::<Ledger>();
    option::<LoaderState>();
    option::<Bottleneck>();
    option::<RowState>();
    option::<Residency>();
    option::<Resize>();
    option::<CenterCrop>();
    option::<ResizeCenterCrop>();
    option::<RandomResizedCrop>();
    option::<Whole>();

    figures::<Stats>();
    figures::<StageStats>();
    figures::<RingStats>();
    figures::<DeviceMemoryStats>();
    figures::<DecoderStats>();
    figures::<IdleStats>();
    figures::<SampledTime>();
    figures::<FetchStats>();
    figures::<CacheStats>();
    figures::<StreamStats>();
    figures::<tarflume_store::StoreStats>();
    figures::<Blocks>();
    figures::<Calls>();
    figures::<Forecast>();
    figures::<Price>();
    figures::<Cost>();
    figures::<ResidentSize>();
    figures::<RowFacts>();
    figures::<BadSample>();
    figures::<Excluded>();
    figures::<Shards>();
    figures::<ForecastOptions>();
    figures::<ClassTable>();

    builder::<LoaderBuilder>();
    builder::<StreamLoaderBuilder>();
    builder::<DeviceLoaderBuilder>();
    builder::<Stream>();
    builder::<Image>();
    builder::<Json>();
    builder::<Tokens>();
    builder::<tarflume_store::Options>();

    fused::<Epoch>();
    fused::<StreamEpoch>();
    fused::<DeviceEpoch>();
    fused::<Samples>();
    fused::<SampleTable>();
    fused::<ArrayBatches>();
    fused::<Cursor>();
    fused::<PassCursor>();
    fused::<Rows>();
}

/// Checks that a value comes back from its text and from JSON, and that the error of another text shows that text.
#[track_caller]
fn comes_back<T>(value: T, text: &str)
where
    T: Text,
    T::Err: Debug + Display,
{
    assert_eq!(value.to_string(), text);
    assert_eq!(text.parse::<T>().unwrap(), value);
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value, "{json}");
    for wrong in [format!("{text} x"), text.to_uppercase() + "?", String::new()] {
        let error = wrong.parse::<T>().unwrap_err().to_string();
        assert!(error.contains(&wrong), "{error}");
    }
}

#[test]
fn each_word_of_an_option_comes_back() {
    macro_rules! words {
        ($($type:ident { $($variant:ident $word:literal),* })*) => {
            $($(
                comes_back($type::$variant, $word);
                assert_eq!(serde_json::to_value($type::$variant).unwrap(), $word);
            )*)*
        };
    }
    words! {
        By { Position "sample", Shard "shard" }
        Remainder { Drop "drop", Pad "pad", Even "even", Uneven "uneven" }
        OnBad { Error "error", Skip "skip", Substitute "substitute" }
        Verify { Off "off", Sampled "sampled", All "all" }
        SourceKind { File "file", Mapped "mapped", Threads "threads" }
        Layout { Hwc "hwc", Chw "chw" }
        Filter {
            Bilinear "bilinear", Bicubic "bicubic", Lanczos "lanczos", Nearest "nearest", BilinearFast "bilinear-fast"
        }
        Channels { Gray "gray", Luma "luma", Index "index", Rgb "rgb", Rgba "rgba" }
        JsonRules { Strict "strict", Python "python" }
        DType {
            U8 "uint8", I8 "int8", U16 "uint16", I16 "int16", U32 "uint32", I32 "int32", U64 "uint64", I64 "int64",
            F16 "float16", Bf16 "bfloat16", F32 "float32", F64 "float64", Bool "bool"
        }
        RowState { Whole "whole", Replaced "replaced", Skipped "skipped" }
        Bottleneck {
            Unknown "unknown", Storage "storage", Decode "decode", Functions "functions", Decoder "decoder",
            Upload "upload", Transform "transform", Consumer "consumer", Balanced "balanced", Memory "memory",
            Prefetch "prefetch", Loader "loader"
        }
    }
    for kind in ValueType::ALL {
        comes_back(kind, kind.word());
    }
    let error = "alll".parse::<Verify>().unwrap_err().to_string();
    assert_eq!(error, "verify 'alll' is not known; there are off, sampled, all");
    let padded = format!("[{:>6}]", Verify::All);
    assert_eq!(padded, "[   all]", "a word is padded as a str is");
}

#[test]
fn text_and_json_of_orders_are_those_of_states_and_configuration_files() {
    fn parsed(text: &str) -> Shuffle {
        text.parse::<Shuffle>().unwrap()
    }

    comes_back(Shuffle::None, "none");
    comes_back(Shuffle::Buffer { size: 1000, seed: 7 }, "buffer of 1000, seed 7");
    let blocks = Shuffle::Blocks { block: 64, window: 16, seed: u64::MAX };
    comes_back(blocks, "blocks of 64, window of 16, seed 18446744073709551615");
    assert_eq!(parsed("full"), Shuffle::Full { seed: 0 });
    assert_eq!(parsed("buffer"), Shuffle::Buffer { size: 10_000, seed: 0 });
    assert_eq!(parsed("blocks, seed 3"), Shuffle::Blocks { block: 256, window: 64, seed: 3 });
    let wrong = [
        "none, seed 1",
        "full of 3",
        "full, window of 3",
        "full, seed 1, seed 1",
        "full, seed +1",
        "full, seed ",
        "buffer of 0",
        "shards, seed 18446744073709551616",
    ];
    for wrong in wrong {
        assert!(wrong.parse::<Shuffle>().is_err(), "{wrong}");
    }
    let json = r#"{"kind":"full","seed":42}"#;
    assert_eq!(serde_json::from_str::<Shuffle>(json).unwrap(), Shuffle::Full { seed: 42 });

    let split = Split::new(3, 8).unwrap();
    comes_back(split, "rank 3 of 8");
    comes_back(split.by_shard(), "rank 3 of 8, by shard");
    assert_eq!(serde_json::to_string(&split).unwrap(), r#"{"rank":3,"world":8}"#);
    let by_shard = serde_json::to_string(&split.by_shard()).unwrap();
    assert_eq!(by_shard, r#"{"rank":3,"world":8,"by":"shard"}"#);
    // A file cannot make a split that `Split::new` refuses.
    assert!(serde_json::from_str::<Split>(r#"{"rank":8,"world":8}"#).is_err());
    assert!("rank 8 of 8".parse::<Split>().is_err());
}

#[test]
fn sizes_shares_and_columns_come_back() {
    comes_back(Size::new(3 << 29), "1536MiB");
    assert_eq!(serde_json::from_str::<Size>("4096").unwrap(), Size::from(4096));
    assert!(serde_json::from_str::<Size>("-1").is_err());
    assert!(serde_json::from_str::<Size>("1.5").is_err());
    comes_back(ImageSize::new(640, 480), "640 x 480");
    assert_eq!("224".parse::<ImageSize>().unwrap(), ImageSize::from(224));
    comes_back(DeviceShare::fixed(250), "0.25");
    comes_back(DeviceShare::auto(500), "auto");
    assert!("1.5".parse::<DeviceShare>().is_err());
    let column: ColumnSpec = "class=/label:u32".parse().unwrap();
    let json = serde_json::to_string(&column).unwrap();
    assert_eq!(serde_json::from_str::<ColumnSpec>(&json).unwrap(), column);
    let names: Shards = serde_json::from_str(r#""shards/""#).unwrap();
    assert_eq!(names, Shards::from("shards/"));
    assert_eq!(serde_json::to_string(&names).unwrap(), r#"["shards/"]"#);
    let options: ForecastOptions = serde_json::from_str(r#"{"readahead": "1GiB"}"#).unwrap();
    assert_eq!(options.readahead, Size::new(1 << 30));
    assert!(serde_json::from_str::<ForecastOptions>(r#"{"readahed": 1}"#).is_err());
}

#[test]
fn transforms_and_residencies_come_back() {
    comes_back(Resize::exact((240, 320)), "320 x 240");
    comes_back(Resize::shorter(256), "shorter side 256, longest 1024");
    comes_back(Resize::shorter(256).longest(300), "shorter side 256, longest 300");
    comes_back(CenterCrop::new((224, 200)), "200 x 224");
    comes_back(ResizeCenterCrop::new(256, 224), "shorter side 256, crop 224 x 224");
    comes_back(Whole::up_to(1 << 24), "16777216 pixels");
    let crop = RandomResizedCrop::new(224);
    comes_back(
        crop.clone(),
        "224 x 224, scale 0.08 to 1, ratio 0.75 to 1.3333333333333333, flip 0",
    );
    assert_eq!("224".parse::<RandomResizedCrop>().unwrap(), crop);
    let crop = crop.scale(0.1..=0.7).ratio(0.3..=1.0 / 3.0).flip(0.1);
    comes_back(crop, "224 x 224, scale 0.1 to 0.7, ratio 0.3 to 0.3333333333333333, flip 0.1");
    assert!("shorter side 200, crop 224 x 224".parse::<ResizeCenterCrop>().is_err());
    for wrong in
        ["0", "224, flip 1.5", "224, scale 0 to 1", "224, flip 0, flip 0", "224, ratio 2 to 1"]
    {
        assert!(wrong.parse::<RandomResizedCrop>().is_err(), "{wrong}");
    }

    let budget = Size::new(40 << 30);
    comes_back(Residency::within(budget), "40GiB, side 256");
    comes_back(Residency::within(budget).side(160).yuv420(), "40GiB, side 160, yuv420");
    comes_back(Residency::within(budget).compressed(), "40GiB, side 256, compressed");
    let both = Residency::within(budget).compressed().yuv420();
    comes_back(both, "40GiB, side 256, compressed, yuv420");
    assert_eq!("40GiB".parse::<Residency>().unwrap(), Residency::within(budget));
    assert!("40GiB, side 256, side 160".parse::<Residency>().is_err());
}

#[test]
fn an_iteration_over_a_stream_loader_is_its_next_epoch() {
    fn order(epoch: StreamEpoch) -> Vec<u64> {
        epoch.flat_map(|batch| batch.unwrap().ordinals().collect::<Vec<_>>()).collect()
    }

    let shards = Made::of(&[5, 3]);
    let stream = Stream::open(format!("{}/*.tar", shards.path().display())).unwrap();
    let stream = stream.shuffle(Shuffle::Buffer { size: 8, seed: 3 });
    let loader = Loader::stream(stream).bytes("bin").batch(4).build().unwrap();
    let expected = [order(loader.epoch(1)), order(loader.epoch(0))];
    assert_ne!(expected[0], expected[1]);
    let mut orders = Vec::new();
    for epoch in [1, 2] {
        assert_eq!(loader.current_epoch(), epoch);
        orders.push(order((&loader).into_iter()));
    }
    assert_eq!((loader.current_epoch(), &orders[0]), (3, &expected[0]));
    drop((&loader).into_iter().next());
    assert_eq!(loader.current_epoch(), 3, "an epoch that was left is not over");
}

proptest! {
    #[test]
    fn any_order_comes_back(seed: u64, size in 1..Shuffle::MAX_BUFFER, block in 1..1000u64, window in 1..100u64) {
        let shuffles = [
            Shuffle::Shards { seed },
            Shuffle::Buffer { size, seed },
            Shuffle::Blocks { block, window, seed },
            Shuffle::Full { seed },
        ];
        for shuffle in shuffles {
            prop_assert_eq!(shuffle.to_string().parse::<Shuffle>().unwrap(), shuffle);
        }
        let rank = seed % size;
        let split = Split::new(rank, size).unwrap();
        for split in [split, split.by_shard()] {
            prop_assert_eq!(split.to_string().parse::<Split>().unwrap(), split);
        }
    }
}

/// A decoder of the length of `bin`, whose type is chosen at run time.
fn lengths() -> Box<dyn Decode> {
    Box::new(decode_fn(["bin"], RowShape::Fixed(DType::U64, vec![]), |sample, mut row, _| {
        row.put(&(sample.part(0).len() as u64).to_ne_bytes())
    }))
}

#[test]
fn closures_and_boxes_are_decoders_and_a_builder_is_cloned() {
    let shards = Made::of(&[5, 3]);
    let made = shards.loader().column("length", lengths()).shuffle("full, seed 3".parse().unwrap());
    let one = made.clone().build().unwrap();
    let shown = format!("{made:?}");
    assert!(shown.contains("\"length\"") && shown.contains("Full { seed: 3 }"), "{shown}");
    let other = made.memory_limit((1u64 << 30).into()).threads(1).build().unwrap();
    let mut taken = 0;
    let mut orders = Vec::new();
    for loader in [&one, &other] {
        let mut order = Vec::new();
        for batch in loader {
            let batch = batch.unwrap();
            let bins = batch.column("bin").unwrap();
            let lengths = batch.column("length").unwrap().elements::<u64>().unwrap();
            for (row, &length) in lengths.iter().enumerate() {
                assert_eq!(length, bins.row(row).len() as u64);
                taken += 1;
            }
            order.extend(batch.ordinals());
        }
        assert_eq!(loader.current_epoch(), 1, "an iteration is an epoch");
        orders.push(order);
    }
    assert_eq!((taken, &orders[0]), (16, &orders[1]));
    let mut next = (&one).into_iter();
    assert_eq!(next.number(), 1);
    assert_eq!(next.by_ref().count(), 2);
    assert!(next.next().is_none() && next.next().is_none());
}

#[test]
fn closures_and_boxes_are_transforms() {
    let size = ImageSize::from(16);
    let corner = transform_fn(Extent::Fixed(size), move |source, random| {
        let left = random.below(u64::from(source.width - 15)) as u32;
        Ok(Placement::of(Cut { left, top: 0, size }, size))
    });
    let chosen: Box<dyn Transform> = Box::new(corner);
    let image = Image::new("jpg", chosen);
    assert_eq!(image.shape(), RowShape::Fixed(DType::U8, vec![16, 16, 3]));
    let wrong =
        transform_fn(Extent::UpTo(0), move |_, _| Ok(Placement::of(Cut::whole(size), size)));
    assert!(Image::new("jpg", wrong).validate().is_err(), "defaults of the trait hold");
}

#[test]
fn statistics_are_a_line_of_json_with_the_names_of_python() {
    let shards = Made::of(&[8]);
    let loader = shards.loader().build().unwrap();
    for batch in &loader {
        batch.unwrap();
    }
    let stats = loader.stats();
    let json = serde_json::to_value(&stats).unwrap();
    assert_eq!(json["num_threads"], stats.threads);
    assert!(json["bottleneck"].as_str().unwrap().parse::<Bottleneck>().is_ok());
    assert_eq!(json["running_s"], stats.running.as_secs_f64());
    let batch = stats.stage("batch").unwrap();
    assert_eq!(json["stages"]["batch"]["items"], batch.items);
    assert_eq!(json["stages"]["batch"]["busy_s"], batch.busy.as_secs_f64());
    assert_eq!(json["idle_s"]["wake"], stats.idle.wake.as_secs_f64());
    assert_eq!(json["functions"]["calls"], 0);
    assert_eq!(Stats::default(), Stats::default());
}

#[test]
fn paths_have_any_type_that_is_a_path() {
    let shards = Made::of(&[4]);
    let text = shards.shard(0).to_str().unwrap().to_string();
    let path = PathBuf::from(&text);
    let by_text: Digest = digest_of(&text).unwrap();
    assert_eq!(by_text, digest_of(path.clone()).unwrap());
    assert_eq!(index_path(&text), index_path(&path));
    assert_eq!(Identity::at(&text).unwrap(), Identity::at(path).unwrap());
    let index = tarflume_formats::Index::open(index_path(&text)).unwrap();
    assert_eq!(index.samples(), 4);
    let loader = shards.loader().on_bad(OnBad::Skip).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("bad.jsonl");
    loader.write_bad_samples(list.to_str().unwrap()).unwrap();
    assert_eq!(std::fs::read(list).unwrap(), b"");
    assert_eq!(Libraries::beside(["a", "b"]).packages().count(), 2);
}
