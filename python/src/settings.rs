//! `Settings`: the keywords of a loader, understood once, and the builder that they come to. Kept, so
//! that a loader can begin anew from a saved state.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tarflume::{
    Dataset, Decode, Device, Error, Libraries, Loader, LoaderBuilder, LoaderState, OnBad,
    Remainder, Residency, Shuffle, SourceKind, Split, Verify,
};

use crate::any_loader::AnyLoader;
use crate::batch::KEY;
use crate::errors::{OrRaise, usage};
use crate::resident::residency;
use crate::shards::open;
use crate::{gate, parts, words};

/// What a loader was asked for.
#[derive(Clone)]
pub(crate) struct Settings {
    /// With weights, if they are mixed.
    datasets: Vec<(Dataset, Option<u64>)>,
    /// With the slots there.
    pub(crate) device: Option<(Device, usize)>,
    pub(crate) resident: Option<Residency>,
    columns: Vec<(String, Arc<dyn Decode>)>,
    /// Columns of text.
    pub(crate) texts: Arc<[String]>,
    batch: u64,
    shuffle: Shuffle,
    split: Split,
    remainder: Remainder,
    threads: Option<usize>,
    prefetch: Option<usize>,
    memory: Option<String>,
    on_bad: OnBad,
    bad_budget: Option<u64>,
    verify: Verify,
    source: SourceKind,
    exclude: Vec<PathBuf>,
    take: Option<u64>,
    skip: Option<u64>,
    repeat: Option<u64>,
    epoch_length: Option<u64>,
}

/// Keywords that were given, each taken once; what is left at the end is none of ours.
pub(crate) struct Given<'py> {
    py: Python<'py>,
    words: Bound<'py, PyDict>,
    /// Those that were looked for: all that there are.
    known: RefCell<Vec<&'static str>>,
}

impl<'py> Given<'py> {
    pub(crate) fn new(py: Python<'py>, words: Option<&Bound<'py, PyDict>>) -> PyResult<Given<'py>> {
        let words = words.map_or_else(|| Ok(PyDict::new(py)), |words| words.copy())?;
        Ok(Given { py, words, known: RefCell::default() })
    }

    /// The object given as `name`, unless it is `None`.
    fn object(&self, name: &'static str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.known.borrow_mut().push(name);
        let Some(value) = self.words.get_item(name)? else { return Ok(None) };
        self.words.del_item(name)?;
        Ok((!value.is_none()).then_some(value))
    }

    fn value<T>(&self, name: &'static str, what: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py>,
    {
        let Some(object) = self.object(name)? else { return Ok(None) };
        match object.extract::<T>() {
            Ok(value) => Ok(Some(value)),
            Err(_) => {
                let text = format!("{name}= takes {what}, not {}", object.repr()?);
                Err(usage(self.py, text))
            }
        }
    }

    fn whole(&self, name: &'static str) -> PyResult<Option<u64>> {
        self.value(name, "a whole number, 0 or more")
    }

    fn word(&self, name: &'static str, default: &str) -> PyResult<String> {
        Ok(self.value(name, "a word")?.unwrap_or_else(|| default.to_string()))
    }

    fn end(self) -> PyResult<()> {
        let left: Vec<String> = self.words.keys().extract()?;
        let Some(name) = left.first() else { return Ok(()) };
        let near = self.py.import("difflib")?.getattr("get_close_matches")?;
        let near: Vec<String> = near.call1((name, self.known.into_inner(), 1))?.extract()?;
        let what = match near.first() {
            Some(near) => format!("did you mean {near}=?"),
            None => "help(tarflume.Loader) lists all".to_string(),
        };
        Err(usage(self.py, format!("Loader takes no {name}=; {what}")))
    }
}

impl Settings {
    pub(crate) fn new(
        py: Python<'_>,
        shards: &Bound<'_, PyAny>,
        given: Given<'_>,
    ) -> PyResult<Settings> {
        let datasets = datasets(py, shards)?;
        let (columns, texts) = columns(py, &given)?;
        let settings = Settings {
            datasets,
            device: device(py, &given)?,
            resident: given.object("resident")?.map(|what| residency(py, &what)).transpose()?,
            columns,
            texts: texts.into(),
            batch: given.whole("batch_size")?.unwrap_or(1),
            shuffle: shuffle(py, &given)?,
            split: split(py, &given)?,
            remainder: remainder(py, given.object("drop_last")?)?,
            threads: given.value("threads", "a number of threads")?,
            prefetch: given.value("prefetch", "a number of batches")?,
            memory: given.value("memory", "a size such as \"2GiB\"")?,
            on_bad: words::on_bad(py, &given.word("on_bad", "error")?)?,
            bad_budget: given.whole("bad_budget")?,
            verify: words::verify(py, &given.word("verify", "off")?)?,
            source: words::source(py, &given.word("source", "file")?)?,
            exclude: exclude(py, given.object("exclude")?)?,
            take: given.whole("take")?,
            skip: given.whole("skip")?,
            repeat: given.whole("repeat")?,
            epoch_length: given.whole("epoch_length")?,
        };
        given.end()?;
        Ok(settings)
    }

    /// The loader, from `state` on if one is given.
    ///
    /// # Errors
    /// The library's.
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

    /// The builder of a loader in host memory.
    fn builder(&self) -> tarflume::Result<LoaderBuilder> {
        let mixed: Option<Vec<_>> =
            self.datasets.iter().map(|(data, weight)| Some((data.clone(), (*weight)?))).collect();
        let mut builder = match (mixed, &self.datasets[..]) {
            (Some(mixed), _) => Loader::mixture(mixed),
            (None, [(dataset, _), ..]) => Loader::from_dataset(dataset.clone()),
            (None, []) => Loader::builder(""),
        };
        for (name, decode) in &self.columns {
            builder = builder.column(name, decode.clone());
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
            .verify(self.verify)
            .source(self.source);
        macro_rules! given {
            ($($what:ident),*) => {
                $(if let Some(value) = &self.$what {
                    builder = builder.$what(value.clone());
                })*
            };
        }
        given!(threads, prefetch, bad_budget, take, skip, repeat, epoch_length);
        if let Some(memory) = &self.memory {
            builder = builder.memory_limit(memory.parse()?);
        }
        Ok(builder)
    }
}

/// One data set, or `[(shards, weight), ...]`.
fn datasets(py: Python<'_>, shards: &Bound<'_, PyAny>) -> PyResult<Vec<(Dataset, Option<u64>)>> {
    let pairs = shards
        .cast::<PyList>()
        .ok()
        .filter(|list| !list.is_empty() && list.iter().all(|item| item.cast::<PyTuple>().is_ok()));
    let Some(pairs) = pairs else { return Ok(vec![(open(py, shards)?, None)]) };
    let mut datasets = Vec::new();
    for pair in pairs.iter() {
        let Ok((shards, weight)) = pair.extract::<(Bound<'_, PyAny>, u64)>() else {
            let text =
                format!("a mixture is a list of (shards, whole weight), not {}", pair.repr()?);
            return Err(usage(py, text));
        };
        datasets.push((open(py, &shards)?, Some(weight)));
    }
    Ok(datasets)
}

/// `device=` and `ring=`; opened when the loader is made, in this process.
fn device(py: Python<'_>, given: &Given<'_>) -> PyResult<Option<(Device, usize)>> {
    let device = given.object("device")?;
    let ring: Option<usize> = given.value("ring", "a number of slots")?;
    let device = device.map(|device| device.str().map(|text| text.to_string())).transpose()?;
    let Some(device) = device.filter(|device| device != "cpu") else {
        let text = "ring= is for a device: device=\"cuda\"";
        return ring.map_or(Ok(None), |_| Err(usage(py, text)));
    };
    let libraries = libraries(py);
    let of_torch = if device == "cuda" { torch_device(py) } else { None };
    let open = || match of_torch {
        Some(ordinal) => Device::cuda_with(ordinal, libraries)
            .map(|device| device.because("PyTorch's current device when the loader was made")),
        None => Device::named(&device, libraries),
    };
    let device = py.detach(open).or_raise(py)?;
    gate::end_devices_first(py)?;
    Ok(Some((device, ring.unwrap_or(3))))
}

/// Where packages are: NVIDIA's wheels, and torchvision, bring libraries along.
pub(crate) fn libraries(py: Python<'_>) -> Libraries {
    let path = py.import("sys").and_then(|sys| sys.getattr("path"));
    let folders: Vec<String> = path.and_then(|path| path.extract()).unwrap_or_default();
    Libraries::beside(folders.into_iter().map(PathBuf::from))
}

/// PyTorch's current device, if it is imported and has begun to use one.
fn torch_device(py: Python<'_>) -> Option<usize> {
    let modules = py.import("sys").and_then(|sys| sys.getattr("modules")).ok()?;
    let cuda = modules.get_item("torch").and_then(|torch| torch.getattr("cuda")).ok()?;
    let begun: bool = cuda.call_method0("is_initialized").and_then(|it| it.extract()).ok()?;
    let current = || cuda.call_method0("current_device").and_then(|it| it.extract()).ok();
    if begun { current() } else { None }
}

type Columns = (Vec<(String, Arc<dyn Decode>)>, Vec<String>);

fn columns(py: Python<'_>, given: &Given<'_>) -> PyResult<Columns> {
    let mut named = Vec::new();
    if let Some(image) = given.object("image")? {
        named.push(("image".to_string(), parts::image(py, &image)?));
    }
    if let Some(label) = given.object("label")? {
        named.push(("label".to_string(), parts::label(py, &label)?));
    }
    if let Some(more) = given.object("columns")? {
        if let Ok(dict) = more.cast::<PyDict>() {
            for (name, column) in dict.iter() {
                named.push((name.extract()?, parts::part(py, &column)?));
            }
        } else {
            for name in more.extract::<Vec<String>>().map_err(|_| {
                usage(py, "columns= takes {\"name\": column} or a list of parts' names")
            })? {
                let column = pyo3::types::PyString::new(py, &name);
                named.push((name, parts::part(py, column.as_any())?));
            }
        }
    }
    if let Some((name, _)) = named.iter().find(|(name, _)| name == KEY) {
        return Err(usage(py, format!("a column can't be called {name:?}: the keys are")));
    }
    let texts = named.iter().filter(|(_, (_, text))| *text).map(|(name, _)| name.clone()).collect();
    Ok((named.into_iter().map(|(name, (decode, _))| (name, decode)).collect(), texts))
}

fn shuffle(py: Python<'_>, given: &Given<'_>) -> PyResult<Shuffle> {
    let seed = given.whole("seed")?.unwrap_or(0);
    let size = given.whole("buffer_size")?;
    let (block, window) = (given.whole("block_size")?, given.whole("window")?);
    let word = given.word("shuffle", "none")?;
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
            Shuffle::Blocks { block: block.unwrap_or(256), window: window.unwrap_or(64), seed }
        }
        "full" => Shuffle::Full { seed },
        other => {
            let text = format!(
                "shuffle={other:?} is not known; there are \"none\", \"shards\", \"buffer\", \"blocks\", \
                 \"full\""
            );
            return Err(usage(py, text));
        }
    })
}

fn split(py: Python<'_>, given: &Given<'_>) -> PyResult<Split> {
    let (rank, world) = (given.whole("rank")?, given.whole("world")?);
    let split = Split::new(rank.unwrap_or(0), world.unwrap_or(1)).or_raise(py)?;
    Ok(if words::by_shard(py, &given.word("split", "sample")?)? { split.by_shard() } else { split })
}

fn remainder(py: Python<'_>, drop_last: Option<Bound<'_, PyAny>>) -> PyResult<Remainder> {
    let Some(word) = drop_last else { return Ok(Remainder::Drop) };
    if let Ok(drop) = word.extract::<bool>() {
        return Ok(if drop { Remainder::Drop } else { Remainder::Uneven });
    }
    if word.extract::<String>().is_ok_and(|word| word == "pad") {
        return Ok(Remainder::Pad);
    }
    Err(usage(py, format!("drop_last= takes True, False or \"pad\", not {}", word.repr()?)))
}

fn exclude(py: Python<'_>, lists: Option<Bound<'_, PyAny>>) -> PyResult<Vec<PathBuf>> {
    let Some(lists) = lists else { return Ok(Vec::new()) };
    if let Ok(path) = lists.extract::<PathBuf>() {
        return Ok(vec![path]);
    }
    let what = "exclude= takes the path of a list of keys, or several";
    lists.extract().map_err(|_| usage(py, what))
}
