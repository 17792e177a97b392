//! `Tokens`: the columns of token blocks as a Python class; and the tokenizer of `tarflume.pack.tokens` that is a Python
//! function.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tarflume::Decode;
use tarflume_base::Failure;
use tarflume_tokens::{Encode, Ids, fingerprint_of};

use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::numbers::Number;
use crate::arguments::words;
use crate::decoders::gate::with_python;
use crate::faults::errors::{OrRaise, usage};
use crate::faults::unknown_keywords;

/// A column of blocks of token ids, as `tarflume.pack.tokens` writes them: an array of `length` elements.
///
/// `kind`: "ids"; "labels" (the ids, with -100 in the padding, at the first id of each document and at ids without
/// loss, such as prompts, for a model that shifts them itself, as those of Hugging Face do); "position_ids" (the number of an id in its document);
/// "segment_ids" (the number of the document from 1, 0 for padding); "mask" (1 for ids, 0 for padding).
/// With `pad="longest"` each batch is as long as its longest row, rounded up to `multiple_of`, and `length` is the limit
/// of a row. `ids`, `cu_seqlens` and `loss` are the parts; samples may lack the last two. `padding` is the id behind the last one of an array that is shorter
/// than `length`. `dtype` is "int64" or "int32"; for ids also "uint32" or "uint16", for masks "uint8" or "bool".
#[pyclass(frozen, module = "tarflume")]
pub struct Tokens(pub(crate) (Arc<dyn Decode>, bool), ConstructorArgs);

#[pymethods]
impl Tokens {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (length, kind = "ids", *, dtype = "int64", padding = 0, pad = "length",
           multiple_of = Number(1), ids = "ids.npy", cu_seqlens = "cu_seqlens.npy", loss = "loss.npy", **unknown),
           text_signature = "(length, kind='ids', *, dtype='int64', padding=0, pad='length', multiple_of=1, \
           ids='ids.npy', cu_seqlens='cu_seqlens.npy', loss='loss.npy')")]
    fn new(
        py: Python<'_>,
        length: Number<usize>,
        kind: &str,
        #[pyo3(from_py_with = words::dtype_word)] dtype: &str,
        padding: i64,
        pad: &str,
        multiple_of: Number<usize>,
        ids: &str,
        cu_seqlens: &str,
        loss: &str,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<Tokens>(py, unknown)?;
        let length = length.0;
        let multiple_of = multiple_of.0;
        let again =
            again!(py, length, kind, dtype, padding, pad, multiple_of, ids, cu_seqlens, loss);
        let tokens = tarflume::Tokens::new(length)
            .dtype(words::dtype(py, dtype)?)
            .padding(padding)
            .parts(ids, cu_seqlens)
            .loss(loss);
        let tokens = match pad {
            "longest" => tokens.pad_to_longest(multiple_of),
            "length" if multiple_of == 1 => tokens,
            "length" => {
                let text = "multiple_of= is for pad=\"longest\": without it, all rows have `length` elements";
                return Err(usage(py, text));
            }
            other => {
                let text = format!("pad= is \"length\" or \"longest\", not {other:?}");
                return Err(usage(py, text));
            }
        };
        let column = match kind {
            "ids" => tokens.ids(),
            "labels" => tokens.labels(),
            "position_ids" => tokens.position_ids(),
            "segment_ids" => tokens.segment_ids(),
            "mask" => tokens.mask(),
            other => {
                let known = "ids, labels, position_ids, segment_ids or mask";
                return Err(usage(py, format!("kind= is one of {known}, not {other:?}")));
            }
        };
        column.validate().or_raise(py)?;
        Ok(Tokens((Arc::new(column), false), again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// A function from a list of texts to a list of lists of ids.
pub(crate) struct Function {
    function: Py<PyAny>,
    fingerprint: [u8; 32],
    vocabulary: Option<u64>,
}

impl Function {
    /// Returns the encoder of a function; `fingerprint` names everything that the ids depend on beside the
    /// text.
    pub(crate) fn encoder(
        function: Py<PyAny>,
        fingerprint: &str,
        vocabulary: Option<u64>,
    ) -> Arc<dyn Encode> {
        let fingerprint = fingerprint_of(&format!("a function of Python\0{fingerprint}"));
        Arc::new(Function { function, fingerprint, vocabulary })
    }
}

impl Encode for Function {
    fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    fn vocabulary(&self) -> Option<u64> {
        self.vocabulary
    }

    fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure> {
        let encoded = with_python(|py| -> PyResult<()> {
            let found = self.function.bind(py).call1((PyList::new(py, texts)?,))?;
            for document in found.try_iter()? {
                into.push(ids(&document?)?);
            }
            Ok(())
        });
        let encoded = encoded.ok_or_else(Failure::interrupted)?;
        encoded.map_err(|e| Failure::bad_data(format!("encode= failed: {e}")))
    }
}

/// Returns the ids of a document: those of a list, of an array, or of an `Encoding` of `tokenizers`.
fn ids(document: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let inner = document.getattr_opt("ids")?;
    let document = inner.as_ref().unwrap_or(document);
    match document.extract::<Vec<u32>>() {
        Ok(ids) => Ok(ids),
        Err(_) => document.try_iter()?.map(|id| id?.extract::<u32>()).collect(),
    }
}
