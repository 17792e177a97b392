//! `Settings`: the keywords of a loader, parsed once, and the builder made from them. A loader keeps them
//! to start again from a saved state.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tarflume::transforms::{CopyPaste, Mix, Mosaic};
use tarflume::{
    Bucketing, ClassTable, Dataset, Device, Error, Libraries, Loader, LoaderBuilder, LoaderState,
    ObjectTable, OnBad, Packing, Remainder, Residency, Shuffle, SourceKind, Split, Subset, Verify,
    Weights,
};

use crate::arguments::{labels, storage, words};
use crate::batches::draws::Given;
use crate::datasets::selecting;
use crate::datasets::shards::{DataPart, open};
use crate::decoders::gate;
use crate::faults::errors::{OrRaise, usage};
use crate::loading::any_loader::AnyLoader;
use crate::loading::deliver::Delivery;
use crate::loading::keywords::array_rows::{NamedArrays, Runs, arrays, runs};
use crate::loading::keywords::bucket_keywords::BatchKeywords;
use crate::loading::keywords::loader_columns::{columns, copy_paste_of, mix_of, mosaic_of};
use crate::loading::keywords::loader_keywords::Keywords;
use crate::loading::keywords::pack_keywords::packing;
use crate::loading::resident::residency;

/// The options of a loader.
#[derive(Clone)]
pub(crate) struct Settings {
    /// With weights in a mixture.
    datasets: Vec<(Dataset, Option<u64>)>,
    /// In place of data sets.
    arrays: Option<NamedArrays>,
    /// The device, and its number of slots.
    pub(crate) device: Option<(Device, usize)>,
    pub(crate) resident: Option<Residency>,
    pub(crate) columns: Given,
    keep_transforms: bool,
    batch: u64,
    buckets: Option<Bucketing>,
    packs: Option<Packing>,
    shuffle: Shuffle,
    split: Split,
    remainder: Remainder,
    threads: Option<usize>,
    prefetch: Option<usize>,
    memory: Option<String>,
    on_bad: OnBad,
    bad_budget: Option<u64>,
    verify: Option<Verify>,
    source: SourceKind,
    pub(crate) delivery: Arc<Delivery>,
    exclude: Vec<PathBuf>,
    pub(crate) select: Option<Subset>,
    weights: Option<Weights>,
    take: Option<u64>,
    skip: Option<u64>,
    repeat: Option<u64>,
    epoch_length: Option<u64>,
    mix: Option<Mix>,
    mosaic: Option<Mosaic>,
    copy_paste: Option<CopyPaste>,
}

impl Settings {
    pub(crate) fn new(
        py: Python<'_>,
        shards: &Bound<'_, PyAny>,
        given: Keywords<'_>,
    ) -> PyResult<Settings> {
        let arrays = arrays(shards, &given)?;
        let store = given.object("storage")?;
        let cache = given.object("cache")?;
        let storage = storage::pairs_with_cache(py, store.as_ref(), cache.as_ref())?;
        let mut datasets = match arrays {
            Some(_) => Vec::new(),
            None => datasets(py, shards, &storage)?,
        };
        let part = DataPart {
            split: given.value("split", "the name of a split")?,
            version: given.value("version", "a number of builds")?,
        };
        for (dataset, _) in &mut datasets {
            *dataset = part.of(dataset).or_raise(py)?;
        }
        let select = given.object("select")?.map(|table| select(&datasets, &table)).transpose()?;
        let (numbers, classes) = labels::of_classes(given.object("classes")?)?;
        let weights = selecting::weights(py, given.object("weights")?, classes)?;
        let (columns, texts) = columns(py, &given, numbers)?;
        let BatchKeywords { rows, bucketing } = BatchKeywords::new(py, &given)?;
        let settings = Settings {
            datasets,
            device: device(py, &given)?,
            resident: given.object("resident")?.map(|what| residency(py, &what)).transpose()?,
            columns: Given {
                decoders: columns.into(),
                texts: texts.into(),
                of_arrays: arrays.is_some(),
            },
            keep_transforms: given.value("keep_transforms", "True or False")?.unwrap_or(false),
            batch: rows,
            buckets: bucketing,
            packs: given.object("pack")?.map(|pack| packing(&pack)).transpose()?,
            shuffle: shuffle(py, &given, arrays.as_ref())?,
            split: split(py, &given)?,
            remainder: remainder(py, given.object("drop_last")?)?,
            threads: given.value("num_threads", "a number of threads")?,
            prefetch: given.value("prefetch", "a number of batches")?,
            memory: given.value("memory_limit", "a size such as \"2GiB\"")?,
            on_bad: words::on_bad(py, &given.word("on_bad", "error")?)?,
            bad_budget: given.whole("bad_budget")?,
            verify: verify(py, &given)?,
            source: words::source(py, &given.word("source", "file")?)?,
            delivery: delivery(py, &given)?.into(),
            exclude: exclude(py, given.object("exclude")?)?,
            select,
            weights,
            take: given.whole("take")?,
            skip: given.whole("skip")?,
            repeat: given.whole("repeat")?,
            epoch_length: given.whole("epoch_length")?,
            mix: given.object("mix")?.map(|mix| mix_of(&mix)).transpose()?,
            mosaic: given.object("mosaic")?.map(|mosaic| mosaic_of(&mosaic)).transpose()?,
            copy_paste: given
                .object("copy_paste")?
                .map(|paste| copy_paste_of(&paste))
                .transpose()?,
            arrays,
        };
        given.end()?;
        Ok(settings)
    }

    /// The loader, which continues at `state` if there is one.
    ///
    /// # Errors
    /// Those of the builder.
    pub(crate) fn build(&self, state: Option<LoaderState>) -> Result<AnyLoader, Error> {
        let mut builder = self.builder()?;
        if let Some(state) = state {
            builder = builder.resume(state);
        }
        let Some((device, slots)) = &self.device else {
            if self.resident.is_some() {
                let text = "resident= needs a device: device=\"cuda\"";
                return Err(Error::usage(text));
            }
            return builder.build().map(AnyLoader::Host);
        };
        let mut builder = builder.device(device.clone()).device_slots(*slots);
        if let Some(residency) = &self.resident {
            builder = builder.resident(residency.clone());
        }
        builder.build().map(AnyLoader::Device)
    }

    /// The classes of the data set; of a mixture, those that all have.
    pub(crate) fn classes(&self) -> Option<ClassTable> {
        let mut all = self.datasets.iter().map(|(dataset, _)| dataset.classes());
        let first = all.next().flatten()?;
        let are_same = all.all(|classes| classes.is_some_and(|own| own.is_numbered_as(first)));
        are_same.then(|| first.clone())
    }

    /// What the numbers of objects mean; of a mixture, if that is the same in all data sets.
    pub(crate) fn objects(&self) -> Option<&ObjectTable> {
        let mut all = self.datasets.iter().map(|(dataset, _)| dataset.objects());
        let first = all.next().flatten()?;
        all.all(|objects| objects == Some(first)).then_some(first)
    }

    /// The keywords in the `repr` of a loader.
    pub(crate) fn described(&self) -> String {
        let columns: Vec<&str> = match &self.arrays {
            Some(arrays) => arrays.iter().map(|(name, _)| name.as_str()).collect(),
            None => self.columns.names().collect(),
        };
        let columns = if columns.is_empty() { "all parts".into() } else { columns.join(", ") };
        let shuffle = self.shuffle;
        let batches = match (&self.buckets, &self.packs) {
            (Some(_), _) => "batches by buckets".into(),
            (None, Some(_)) => format!("batches of {} packs", self.batch),
            (None, None) => format!("batches of {}", self.batch),
        };
        format!("{batches}, shuffle {shuffle}, columns {columns}")
    }

    /// The builder of a loader in host memory.
    fn builder(&self) -> tarflume::Result<LoaderBuilder> {
        let mixed: Option<Vec<_>> =
            self.datasets.iter().map(|(data, weight)| Some((data.clone(), (*weight)?))).collect();
        let mut builder = match (&self.arrays, mixed, &self.datasets[..]) {
            (Some(arrays), ..) => Loader::arrays(arrays.clone()),
            (None, Some(mixed), _) => Loader::mixture(mixed),
            (None, None, [(dataset, _), ..]) => Loader::from_dataset(dataset.clone()),
            (None, None, []) => Loader::builder(""),
        };
        for (name, decode) in &*self.columns.decoders {
            builder = builder.column(name, decode.clone());
        }
        if self.keep_transforms {
            builder = builder.keep_transforms();
        }
        for list in &self.exclude {
            builder = builder.exclude(list);
        }
        builder = builder
            .batch(self.batch)
            .shuffle(self.shuffle)
            .split(self.split)
            .remainder(self.remainder)
            .on_bad(self.on_bad)
            .source(self.source);
        macro_rules! given {
            ($($what:ident),*) => {
                $(if let Some(value) = &self.$what {
                    builder = builder.$what(value.clone());
                })*
            };
        }
        given!(
            threads,
            prefetch,
            verify,
            bad_budget,
            take,
            skip,
            repeat,
            epoch_length,
            mix,
            mosaic,
            copy_paste,
            buckets,
            packs
        );
        if let Some(subset) = &self.select {
            builder = builder.subset(subset.clone());
        }
        if let Some(weights) = &self.weights {
            builder = builder.weights(weights.clone());
        }
        if let Some(memory) = &self.memory {
            builder = builder.memory_limit(memory.parse()?);
        }
        Ok(builder)
    }
}

/// One data set, or `[(shards, weight), ...]`.
fn datasets(
    py: Python<'_>,
    shards: &Bound<'_, PyAny>,
    storage: &[(String, String)],
) -> PyResult<Vec<(Dataset, Option<u64>)>> {
    let pairs = shards
        .cast::<PyList>()
        .ok()
        .filter(|list| !list.is_empty() && list.iter().all(|item| item.cast::<PyTuple>().is_ok()));
    let Some(pairs) = pairs else { return Ok(vec![(open(py, shards, storage)?, None)]) };
    let mut datasets = Vec::new();
    for pair in pairs.iter() {
        let Ok((shards, weight)) = pair.extract::<(Bound<'_, PyAny>, u64)>() else {
            let text =
                format!("a mixture is a list of (shards, whole weight), not {}", pair.repr()?);
            return Err(usage(py, text));
        };
        datasets.push((open(py, &shards, storage)?, Some(weight)));
    }
    Ok(datasets)
}

/// `verify=`. Without it, checksums are compared where bytes come over a network.
fn verify(py: Python<'_>, given: &Keywords<'_>) -> PyResult<Option<Verify>> {
    let word: Option<String> = given.value("verify", "a word")?;
    word.map(|word| words::verify(py, &word)).transpose()
}

/// `select=`. The ordinals of a mixture count through its data sets.
fn select(datasets: &[(Dataset, Option<u64>)], table: &Bound<'_, PyAny>) -> PyResult<Subset> {
    let py = table.py();
    match datasets {
        [(dataset, _)] => selecting::selected(dataset, table, "select="),
        datasets => {
            let datasets: Vec<Dataset> = datasets.iter().map(|(data, _)| data.clone()).collect();
            let whole = Dataset::concat(&datasets).or_raise(py)?;
            selecting::selected(&whole, table, "select=")
        }
    }
}

/// `device=` and `device_slots=`. The device is opened when the loader is made, in this process.
fn device(py: Python<'_>, given: &Keywords<'_>) -> PyResult<Option<(Device, usize)>> {
    let device = given.object("device")?;
    let slots: Option<usize> = given.value("device_slots", "a number of slots")?;
    let device = device.map(|device| device.str().map(|text| text.to_string())).transpose()?;
    let Some(device) = device.filter(|device| device != "cpu") else {
        let text = "device_slots= needs a device: device=\"cuda\"";
        return slots.map_or(Ok(None), |_| Err(usage(py, text)));
    };
    let libraries = libraries(py);
    let of_torch = if device == "cuda" { torch_device(py) } else { None };
    let device = py.detach(|| match of_torch {
        Some(ordinal) => Device::cuda_with(ordinal, libraries)
            .map(|device| device.because("PyTorch's current device when the loader was made")),
        None => Device::named(&device, libraries),
    });
    let device = device.or_raise(py)?;
    gate::end_devices_first(py)?;
    Ok(Some((device, slots.unwrap_or(3))))
}

/// The folders of packages: NVIDIA's wheels and torchvision contain libraries.
pub(crate) fn libraries(py: Python<'_>) -> Libraries {
    let path = py.import("sys").and_then(|sys| sys.getattr("path"));
    let folders: Vec<String> = path.and_then(|path| path.extract()).unwrap_or_default();
    Libraries::beside(folders.into_iter().map(PathBuf::from))
}

/// PyTorch's current device, if PyTorch is imported and uses one already.
fn torch_device(py: Python<'_>) -> Option<usize> {
    let modules = py.import("sys").and_then(|sys| sys.getattr("modules")).ok()?;
    let cuda = modules.get_item("torch").and_then(|torch| torch.getattr("cuda")).ok()?;
    let begun: bool = cuda.call_method0("is_initialized").and_then(|it| it.extract()).ok()?;
    if !begun {
        return None;
    }
    cuda.call_method0("current_device").and_then(|it| it.extract()).ok()
}

fn delivery(py: Python<'_>, given: &Keywords<'_>) -> PyResult<Delivery> {
    let form = given.word("deliver", "batch")?;
    Delivery::new(py, &form, given.object("collate")?)
}

/// All words of `shuffle=`.
const SHUFFLES: &str = r#""none", "shards", "buffer", "blocks", "full""#;

/// `shuffle=` and the keywords for it. True is a full shuffle, as in PyTorch, and False is none.
fn shuffle(
    py: Python<'_>,
    given: &Keywords<'_>,
    arrays: Option<&NamedArrays>,
) -> PyResult<Shuffle> {
    let seed = given.whole("seed")?.unwrap_or(0);
    let size = given.whole("buffer_size")?;
    let block = given.whole("block_size")?;
    let window = given.whole("window")?;
    let word = given.object("shuffle")?;
    let word = match word.as_ref().map(|word| (word.extract::<bool>(), word.extract::<String>())) {
        None | Some((Ok(false), _)) => "none".to_string(),
        Some((Ok(true), _)) => "full".to_string(),
        Some((_, Ok(word))) => word,
        Some(_) => {
            let text = format!("shuffle= takes True, False or {SHUFFLES}");
            return Err(usage(py, text));
        }
    };
    if size.is_some() && word != "buffer" {
        return Err(usage(py, format!("buffer_size= is for shuffle=\"buffer\", not {word:?}")));
    }
    if (block.is_some() || window.is_some()) && word != "blocks" {
        let text = format!("block_size= and window= are for shuffle=\"blocks\", not {word:?}");
        return Err(usage(py, text));
    }
    Ok(match word.as_str() {
        "none" => Shuffle::None,
        "shards" => Shuffle::Shards { seed },
        "buffer" => Shuffle::Buffer { size: size.unwrap_or(10_000), seed },
        "blocks" => {
            let Runs { block: rows, window: together } = runs(arrays);
            Shuffle::Blocks {
                block: block.unwrap_or(rows),
                window: window.unwrap_or(together),
                seed,
            }
        }
        "full" => Shuffle::Full { seed },
        other => {
            let text =
                format!("shuffle={other:?} is not known; there are {SHUFFLES}, True and False");
            return Err(usage(py, text));
        }
    })
}

fn split(py: Python<'_>, given: &Keywords<'_>) -> PyResult<Split> {
    let rank = given.whole("rank")?;
    let world_size = given.whole("world_size")?;
    let split = Split::new(rank.unwrap_or(0), world_size.unwrap_or(1));
    let split = split.map_err(Error::from).or_raise(py)?;
    Ok(if words::by_shard(py, &given.word("divide", "sample")?)? {
        split.by_shard()
    } else {
        split
    })
}

/// `drop_last=`. By default all samples are delivered, and all ranks have as many rows: alone, the last
/// batch is short; with more ranks it may repeat samples, as PyTorch's `DistributedSampler` does.
fn remainder(py: Python<'_>, drop_last: Option<Bound<'_, PyAny>>) -> PyResult<Remainder> {
    let Some(word) = drop_last else { return Ok(Remainder::Even) };
    if let Ok(drop) = word.extract::<bool>() {
        return Ok(if drop { Remainder::Drop } else { Remainder::Even });
    }
    match word.extract::<String>().as_deref() {
        Ok("pad") => Ok(Remainder::Pad),
        Ok("uneven") => Ok(Remainder::Uneven),
        _ => {
            let text = "drop_last= takes True, False, \"pad\" or \"uneven\"";
            Err(usage(py, format!("{text}, not {}", word.repr()?)))
        }
    }
}

fn exclude(py: Python<'_>, lists: Option<Bound<'_, PyAny>>) -> PyResult<Vec<PathBuf>> {
    let Some(lists) = lists else { return Ok(Vec::new()) };
    if let Ok(path) = lists.extract::<PathBuf>() {
        return Ok(vec![path]);
    }
    let what = "exclude= takes the path of a list of keys, or several";
    lists.extract().map_err(|_| usage(py, what))
}
