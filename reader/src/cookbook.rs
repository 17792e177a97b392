//! Recipes for common tasks. This module has documentation only.
//!
//! # Train on one machine
//!
//! All columns of a batch are decoded by one pool of threads. `pack build photos/ -o shards/` makes the shards.
//!
//! ```
//! use tarflume::{Loader, RandomResizedCrop, Shuffle};
//!
//! # fn main() -> tarflume::Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let shards = made.path();
//! let loader = Loader::builder(shards)
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .image("jpg", RandomResizedCrop::new(64).flip(0.5))
//!     .label("json", "/class")
//!     .batch(4)
//!     .build()?;
//! for epoch in 0..2 {
//!     for batch in loader.epoch(epoch) {
//!         let batch = batch?;
//!         let (images, labels) = (batch.column("image")?, batch.column("label")?);
//!         assert_eq!((images.bytes().len(), labels.elements::<i64>()?.len()), (4 * 64 * 64 * 3, 4));
//!     }
//!     println!("{}", loader.stats()); // what limits the rate
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Train on several nodes
//!
//! Each process is one rank. [`Split::from_env`](crate::Split::from_env) reads the variables of torchrun, Open MPI and
//! Slurm. Every rank has the same number of steps.
//!
//! ```
//! use tarflume::{Loader, Shuffle, Split};
//!
//! # fn main() -> tarflume::Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let shards = made.path();
//! let rank = |rank| {
//!     Loader::builder(shards)
//!         .shuffle(Shuffle::Full { seed: 42 }) // the same seed on each rank
//!         .split(Split::new(rank, 2)?) // in a job: Split::from_env()?
//!         .label("json", "/class")
//!         .global_batch(8)
//!         .build()
//! };
//! let (first, second) = (rank(0)?, rank(1)?);
//! assert_eq!(first.steps()?, second.steps()?);
//! # Ok(())
//! # }
//! ```
//!
//! # Resume
//!
//! The state is a few integers as JSON, the same on each rank. Save it with the model. The job that continues may have
//! another number of ranks, another batch size or another number of threads.
//!
//! ```
//! use tarflume::{Loader, Shuffle};
//!
//! # fn main() -> tarflume::Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let shards = made.path();
//! let options = || Loader::builder(shards).shuffle(Shuffle::Full { seed: 42 }).bytes("txt").batch(4);
//! let loader = options().build()?;
//! let mut epoch = loader.epoch(0);
//! epoch.next().unwrap()?;
//! let saved = loader.state().to_string();
//!
//! let loader = options().resume(saved.parse()?).build()?;
//! for number in loader.current_epoch()..2 {
//!     for batch in loader.epoch(number) {
//!         batch?;
//!     }
//! }
//! // Ledgers add up over stops and ranks; here the first run delivered one batch, this one the rest.
//! assert_eq!(loader.ledger().seen().count, 12 + 16);
//! # Ok(())
//! # }
//! ```
//!
//! # Evaluate without losing a sample
//!
//! [`Remainder::Uneven`](crate::Remainder::Uneven) delivers each sample once, with a smaller last batch.
//! [`Remainder::Pad`](crate::Remainder::Pad) fills the last batch and keeps the steps of all ranks equal;
//! [`RowFacts`](crate::RowFacts) mark the rows that are padding.
//!
//! ```
//! use tarflume::{Loader, Remainder, ResizeCenterCrop};
//!
//! # fn main() -> tarflume::Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let shards = made.path();
//! let loader = Loader::builder(shards)
//!     .image("jpg", ResizeCenterCrop::new(72, 64))
//!     .label("json", "/class")
//!     .remainder(Remainder::Uneven)
//!     .batch(5)
//!     .build()?;
//! let rows: usize = loader.epoch(0).map(|batch| batch.unwrap().len()).sum();
//! assert_eq!(rows, 16);
//! loader.ledger().prove(&loader.expected(0)?)?; // each sample was delivered once
//! # Ok(())
//! # }
//! ```
//!
//! # Write a decoder
//!
//! Implement [`Decode`](crate::Decode). It gets the bytes of the parts and writes the row directly into the batch.
//! Random numbers come from the sample's seed, so a resumed job repeats them.
//!
//! ```
//! use tarflume::{DType, Decode, Error, ErrorKind, Loader, Random, Result, Row, RowShape, Sample, Scratch};
//!
//! /// One character of a text, chosen at random.
//! struct OneByte;
//!
//! impl Decode for OneByte {
//!     fn parts(&self) -> Vec<String> {
//!         vec!["txt".into()]
//!     }
//!     fn shape(&self) -> RowShape {
//!         RowShape::Fixed(DType::U8, vec![1])
//!     }
//!     fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
//!         let text = sample.part(0);
//!         let at = Random::new(sample.seed).below(text.len() as u64) as usize;
//!         let byte = text.get(at).ok_or_else(|| Error::new(ErrorKind::Decode, "the text is empty"))?;
//!         row.put(&[*byte])
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let shards = made.path();
//! let loader = Loader::builder(shards).column("byte", OneByte).batch(8).build()?;
//! assert_eq!(loader.epoch(0).next().unwrap()?.column("byte")?.shape(), [8, 1]);
//! # Ok(())
//! # }
//! ```
//!
//! # Mix data sets
//!
//! Weights are integers. In any stretch from the beginning each data set has its share, to within one sample.
//!
//! ```
//! use tarflume::{Dataset, Loader, Shuffle};
//!
//! # fn main() -> tarflume::Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let (cats, dogs) = (made.path(), made.path());
//! let loader = Loader::mixture([(Dataset::open(cats)?, 3), (Dataset::open(dogs)?, 1)])
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .bytes("txt")
//!     .batch(4)
//!     .build()?;
//! let batch = loader.epoch(0).next().unwrap()?;
//! assert_eq!(batch.ordinals().filter(|&ordinal| ordinal < 16).count(), 3); // three cats, one dog
//! # Ok(())
//! # }
//! ```
//!
//! # Train on some samples, and balance classes
//!
//! [`Dataset::table`](crate::Dataset::table) is what the sidecars contain about each sample. A state belongs to its
//! selection and to its weights.
//!
//! ```
//! use tarflume::{Dataset, Loader, Shuffle, Weights};
//!
//! # fn main() -> tarflume::Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let shards = made.path();
//! let dataset = Dataset::open(shards)?;
//! let mut large = dataset.subset([])?;
//! for batch in dataset.table()? {
//!     let batch = batch?;
//!     for row in (0..batch.len()).filter(|&row| batch.bytes[row] > 1000) {
//!         large.insert(batch.first + row as u64)?;
//!     }
//! }
//! let loader = Loader::from_dataset(dataset)
//!     .subset(large) // or .select(ordinals), .select_keys(keys)
//!     .weights(Weights::balanced("/class")) // the class in the JSON part
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .label("json", "/class")
//!     .batch(4)
//!     .build()?;
//! loader.epoch(0).for_each(drop);
//! loader.ledger().prove(&loader.expected(0)?)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Stream without an index
//!
//! [`Stream`](crate::Stream) reads tars from front to back: plain, gzip, zstd, from files, pipes or any `Read`. It has no
//! states, ledgers, full shuffle or equal steps; `pack index` makes an index for plain tars, which has.
//!
//! ```
//! use tarflume::{Loader, Shuffle, Stream};
//!
//! # fn main() -> tarflume::Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let shards = made.path().display();
//! let stream = Stream::open(format!("{shards}/*.tar"))?
//!     .shuffle(Shuffle::Buffer { size: 1000, seed: 42 })
//!     .split(0, 2); // every second shard
//! let loader = Loader::stream(stream).text("txt").batch(4).build()?;
//! let rows: usize = loader.epoch(0).map(|batch| batch.unwrap().len()).sum();
//! assert_eq!(rows, 8);
//! # Ok(())
//! # }
//! ```
//!
//! # Use a GPU
//!
//! With the feature `cuda` batches are uploaded before the step that needs them. Drop a [`DeviceBatch`](crate::DeviceBatch)
//! when its reads are enqueued; `ready_on` and `used_on` order them in your stream. The adapters for candle, burn and tch
//! make tensors.
//!
//! ```no_run
//! use tarflume::{Device, Image, Layout, Loader, Normalize, RandomResizedCrop, Shuffle};
//!
//! # fn main() -> tarflume::Result<()> {
//! let image = Image::new("jpg", RandomResizedCrop::new(224).flip(0.5))
//!     .layout(Layout::Chw)
//!     .to_f16(Normalize::imagenet()); // computed on the device
//! let loader = Loader::builder("shards/")
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .column("image", image)
//!     .label("json", "/class")
//!     .batch(256)
//!     .device("cuda:0".parse::<Device>()?)
//!     .device_slots(3)
//!     .build()?;
//! for batch in loader.epoch(0) {
//!     let batch = batch?;
//!     let images = batch.column("image")?;
//!     println!("{:#x} {:?}", images.pointer, images.shape);
//! }
//! # Ok(())
//! # }
//! ```
