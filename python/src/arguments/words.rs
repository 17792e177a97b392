//! Options that users write as text. The error of an unknown word lists all words.

use pyo3::prelude::*;
use tarflume::{
    Channels, DType, DeviceShare, Filter, Image, JsonRules, Layout, Normalize, OnBad, SourceKind,
    Verify,
};

use crate::faults::errors::usage;

/// The value of a word; the error contains all words.
pub(crate) fn one_of<T: Copy>(
    py: Python<'_>,
    what: &str,
    word: &str,
    known: &[(&str, T)],
) -> PyResult<T> {
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == word) {
        return Ok(*value);
    }
    let names: Vec<_> = known.iter().map(|(name, _)| format!("{name:?}")).collect();
    Err(usage(py, format!("{what}={word:?} is not known; there are {}", names.join(", "))))
}

/// All types of elements with their NumPy names.
const DTYPES: [(&str, DType); 13] = [
    ("uint8", DType::U8),
    ("int8", DType::I8),
    ("uint16", DType::U16),
    ("int16", DType::I16),
    ("uint32", DType::U32),
    ("int32", DType::I32),
    ("uint64", DType::U64),
    ("int64", DType::I64),
    ("float16", DType::F16),
    ("bfloat16", DType::Bf16),
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("bool", DType::Bool),
];

/// The NumPy name of a type.
pub(crate) fn dtype_name(dtype: DType) -> &'static str {
    DTYPES.iter().find(|(_, other)| *other == dtype).map_or("uint8", |(name, _)| name)
}

pub(crate) fn dtype(py: Python<'_>, word: &str) -> PyResult<DType> {
    one_of(py, "dtype", word, &DTYPES)
}

/// Takes the name of a type as an argument.
///
/// # Errors
/// Raises an error that names the argument to give for a type of NumPy or torch.
pub(crate) fn dtype_word(object: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let py = object.py();
    if let Ok(word) = object.extract::<String>() {
        return dtype(py, &word).map(dtype_name);
    }
    // numpy.dtype has a name, numpy.float32 is a class with one, and torch.float32 has it in its text.
    let shown = object.str()?.to_string();
    let known = [
        name_in(object.getattr("name")),
        name_in(object.getattr("__name__")),
        shown.strip_prefix("torch.").map(String::from),
    ];
    let known =
        known.into_iter().flatten().find(|name| DTYPES.iter().any(|(word, _)| word == name));
    let known = known.unwrap_or_else(|| "float32".into());
    Err(usage(
        py,
        format!("a dtype is the name of a type, such as dtype={known:?}, not {}", object.repr()?),
    ))
}

fn name_in(of: PyResult<Bound<'_, PyAny>>) -> Option<String> {
    of.ok().and_then(|name| name.extract::<String>().ok())
}

/// [`dtype_word`] of an argument that may be `None`.
pub(crate) fn some_dtype_word(object: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    if object.is_none() { Ok(None) } else { dtype_word(object).map(Some) }
}

/// Which texts are JSON; `what` is the option.
pub(crate) fn json_rules(py: Python<'_>, what: &str, word: &str) -> PyResult<JsonRules> {
    one_of(py, what, word, &[("strict", JsonRules::Strict), ("python", JsonRules::Python)])
}

pub(crate) fn channels(py: Python<'_>, word: &str) -> PyResult<Channels> {
    let known = [
        ("rgb", Channels::Rgb),
        ("gray", Channels::Gray),
        ("rgba", Channels::Rgba),
        ("luma", Channels::Luma),
        ("index", Channels::Index),
    ];
    one_of(py, "channels", word, &known)
}

/// A normalization with a name.
pub(crate) fn normalize(py: Python<'_>, word: &str) -> PyResult<Normalize> {
    let known = [
        ("imagenet", Normalize::imagenet()),
        ("centered", Normalize::centered()),
        ("unit", Normalize::unit()),
    ];
    one_of(py, "normalize", word, &known)
}

pub(crate) fn layout(py: Python<'_>, word: &str) -> PyResult<Layout> {
    one_of(py, "layout", word, &[("hwc", Layout::Hwc), ("chw", Layout::Chw)])
}

pub(crate) fn filter(py: Python<'_>, word: &str) -> PyResult<Filter> {
    let known = [
        ("bilinear", Filter::Bilinear),
        ("bicubic", Filter::Bicubic),
        ("lanczos", Filter::Lanczos),
        ("nearest", Filter::Nearest),
        ("bilinear-fast", Filter::BilinearFast),
    ];
    one_of(py, "filter", word, &known)
}

/// Returns true if damaged pictures are kept.
pub(crate) fn damaged(py: Python<'_>, word: &str) -> PyResult<bool> {
    one_of(py, "damaged", word, &[("error", false), ("keep", true)])
}

pub(crate) fn on_bad(py: Python<'_>, word: &str) -> PyResult<OnBad> {
    let known = [("error", OnBad::Error), ("skip", OnBad::Skip), ("substitute", OnBad::Substitute)];
    one_of(py, "on_bad", word, &known)
}

pub(crate) fn verify(py: Python<'_>, word: &str) -> PyResult<Verify> {
    let known = [("off", Verify::Off), ("sampled", Verify::Sampled), ("all", Verify::All)];
    one_of(py, "verify", word, &known)
}

pub(crate) fn source(py: Python<'_>, word: &str) -> PyResult<SourceKind> {
    let known = [
        ("file", SourceKind::File),
        ("mapped", SourceKind::Mapped),
        ("threads", SourceKind::Threads),
    ];
    one_of(py, "source", word, &known)
}

/// The form of a batch, before `collate=`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A `Batch`.
    Batch,
    /// The columns in the order in which they were given, without the keys.
    Tuple,
    /// The columns by name, with the keys.
    Dict,
}

/// The form of batches.
pub(crate) fn form(py: Python<'_>, word: &str) -> PyResult<Form> {
    let known = [("batch", Form::Batch), ("tuple", Form::Tuple), ("dict", Form::Dict)];
    one_of(py, "deliver", word, &known)
}

/// Whether ranks divide the data set by shard.
pub(crate) fn by_shard(py: Python<'_>, word: &str) -> PyResult<bool> {
    one_of(py, "divide", word, &[("sample", false), ("shard", true)])
}

/// A number, or "auto".
#[derive(Clone, FromPyObject, IntoPyObject)]
pub(crate) enum Gap {
    Number(f64),
    Word(String),
}

impl Gap {
    /// The default.
    pub(crate) fn auto() -> Gap {
        Gap::Word("auto".to_string())
    }

    /// The number, none for "auto".
    pub(crate) fn number(self, py: Python<'_>) -> PyResult<Option<f64>> {
        match self {
            Gap::Number(gap) => Ok(Some(gap)),
            Gap::Word(word) if word == "auto" => Ok(None),
            Gap::Word(word) => {
                let text = format!("reducing_gap= takes a number, None, or \"auto\", not {word:?}");
                Err(usage(py, text))
            }
        }
    }
}

/// Has a device decode JPEGs: a share, 0 to 1 or "auto", by NVIDIA's library, or with "kernels" by those of tarflume.
pub(crate) fn device_decoder(
    py: Python<'_>,
    image: Image,
    decoder: &Bound<'_, PyAny>,
) -> PyResult<Image> {
    match decoder.extract::<String>().as_deref() {
        Ok("auto") => return Ok(image.device_decoder(DeviceShare::auto(500))),
        Ok("kernels") => return Ok(image.device_kernels(DeviceShare::fixed(1000))),
        _ => {}
    }
    match decoder.extract::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => {
            Ok(image.device_decoder(DeviceShare::fixed((share * 1000.0).round() as u16)))
        }
        _ => {
            let text = format!(
                "device_decoder= takes a share, 0 to 1, \"auto\", or \"kernels\", not {}",
                decoder.repr()?
            );
            Err(usage(py, text))
        }
    }
}
