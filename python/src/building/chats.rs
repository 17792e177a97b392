//! The settings of `tarflume.pack.tokens` about conversations and lengths, as objects of the compiled module.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use tarflume_base::Failure;
use tarflume_tokens::build::{Lengths, Longer};
use tarflume_tokens::source::{RowWords, Rows};
use tarflume_tokens::{ChatEncoder, ChatOptions, Encode, Loss, Tokenizer, TokenizerOptions};

use crate::arguments::numbers::Number;
use crate::arguments::words;
use crate::faults::failures::JobFailure;

/// Rows that are conversations, and their template.
#[pyclass(frozen, module = "tarflume._core")]
pub(crate) struct Chats {
    pub(crate) rows: Rows,
    options: ChatOptions,
}

#[pymethods]
impl Chats {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    #[pyo3(signature = (*, messages=None, prompt=None, response=None, alpaca=false, tools=None, chat_template=None,
           template_name=None, template_variables=None, template_date=None, mask_prompt=None))]
    fn new(
        py: Python<'_>,
        messages: Option<String>,
        prompt: Option<String>,
        response: Option<String>,
        alpaca: bool,
        tools: Option<String>,
        chat_template: Option<PathBuf>,
        template_name: Option<String>,
        template_variables: Option<String>,
        template_date: Option<String>,
        mask_prompt: Option<&str>,
    ) -> PyResult<Chats> {
        let rows = Rows::of(RowWords { messages, prompt, response, alpaca, tools });
        let loss = match mask_prompt {
            None => Loss::Everything,
            Some(word) => words::one_of(
                py,
                "mask_prompt",
                word,
                &[("all", Loss::Assistant), ("last", Loss::Last)],
            )?,
        };
        let options = ChatOptions {
            template: chat_template,
            name: template_name,
            variables: template_variables,
            date: template_date,
            loss,
        };
        let rows = rows.and_then(|rows| {
            if !rows.are_conversations() {
                options.refuse_without_conversations()?;
            }
            Ok(rows)
        });
        let rows = rows.map_err(|failure| JobFailure::failure(failure).raised(py))?;
        Ok(Chats { rows, options })
    }
}

impl Chats {
    /// Opens the tokenizer of texts or of conversations.
    pub(crate) fn encoder(
        &self,
        path: &Path,
        settings: TokenizerOptions,
    ) -> Result<Arc<dyn Encode>, Failure> {
        if self.rows.are_conversations() {
            return Ok(Arc::new(ChatEncoder::read(path, settings, &self.options)?));
        }
        Ok(Arc::new(Tokenizer::open(path, settings)?))
    }
}

/// The most and the fewest ids of a document.
#[pyclass(frozen, module = "tarflume._core")]
pub(crate) struct FittedLengths(pub(crate) Lengths);

#[pymethods]
impl FittedLengths {
    #[new]
    #[pyo3(signature = (*, max_length=None, truncate="right", drop_longer=false, min_length=None))]
    fn new(
        py: Python<'_>,
        max_length: Option<Number<usize>>,
        truncate: &str,
        drop_longer: bool,
        min_length: Option<Number<usize>>,
    ) -> PyResult<FittedLengths> {
        let known =
            [("right", Longer::KeepFirst), ("left", Longer::KeepLast), ("error", Longer::Refuse)];
        let longer = words::one_of(py, "truncate", truncate, &known)?;
        Ok(FittedLengths(Lengths {
            most: max_length.map(|n| n.0),
            longer: if drop_longer { Longer::Drop } else { longer },
            fewest: min_length.map_or(0, |n| n.0),
        }))
    }
}
