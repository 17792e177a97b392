//! The arguments of `pack tokens` about conversations.

use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_tokens::source::{RowWords, Rows};
#[cfg(feature = "tokenizers")]
use tarflume_tokens::{ChatOptions, Loss};

use crate::cli::features::Feature;

/// Rows that are conversations, and the template that makes text of them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Conversations")]
#[cfg_attr(
    not(feature = "tokenizers"),
    allow(dead_code, reason = "they are parsed, and refused with their tokenizer")
)]
pub(in crate::cli) struct ChatArgs {
    /// Read conversations from this field of JSON or column: messages with role and content, or from and value
    #[arg(long, value_name = "FIELD", hide = Feature::Tokenizers.is_missing())]
    messages: Option<String>,
    /// Read the prompt from this field: a text, or a list of messages
    #[arg(long, value_name = "FIELD", hide = Feature::Tokenizers.is_missing())]
    prompt: Option<String>,
    /// Read the response from this field: a text, or a list of messages
    #[arg(long, value_name = "FIELD", hide = Feature::Tokenizers.is_missing())]
    response: Option<String>,
    /// Read the fields instruction, input and output
    #[arg(long, hide = Feature::Tokenizers.is_missing())]
    alpaca: bool,
    /// Read the tools from this field [default: tools]
    #[arg(long, value_name = "FIELD", hide = Feature::Tokenizers.is_missing())]
    tools: Option<String>,
    /// Render with this template: a file of Jinja, a tokenizer_config.json, or a folder with one [default: beside the tokenizer]
    #[arg(long, value_name = "FILE", hide = Feature::Tokenizers.is_missing())]
    chat_template: Option<PathBuf>,
    /// Use the template of this name [default: tool_use for conversations with tools, else default]
    #[arg(long, value_name = "NAME", hide = Feature::Tokenizers.is_missing())]
    template_name: Option<String>,
    /// Give the template more variables, such as '{"enable_thinking": false}'
    #[arg(long, value_name = "JSON", hide = Feature::Tokenizers.is_missing())]
    template_variables: Option<String>,
    /// Let the template see this date, such as 2026-11-29 [default: today, in UTC]
    #[arg(long, value_name = "DATE", hide = Feature::Tokenizers.is_missing())]
    template_date: Option<String>,
    /// Give loss to what the assistant writes alone: in all its turns, or in the last one
    #[arg(long, value_enum, value_name = "TURNS", num_args = 0..=1, default_missing_value = "all", hide = Feature::Tokenizers.is_missing())]
    mask_prompt: Option<Turns>,
}

/// Turns of the assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Turns {
    /// All turns
    All,
    /// The last turn
    Last,
}

impl ChatArgs {
    /// Returns what a document is of a row.
    pub(super) fn rows(&self) -> Result<Rows, Failure> {
        Rows::of(RowWords {
            messages: self.messages.clone(),
            prompt: self.prompt.clone(),
            response: self.response.clone(),
            alpaca: self.alpaca,
            tools: self.tools.clone(),
        })
    }

    /// Returns the settings of the template.
    #[cfg(feature = "tokenizers")]
    pub(super) fn options(&self) -> ChatOptions {
        ChatOptions {
            template: self.chat_template.clone(),
            name: self.template_name.clone(),
            variables: self.template_variables.clone(),
            date: self.template_date.clone(),
            loss: match self.mask_prompt {
                None => Loss::Everything,
                Some(Turns::All) => Loss::Assistant,
                Some(Turns::Last) => Loss::Last,
            },
        }
    }

    /// Refuses settings of a template where there are no conversations.
    #[cfg(feature = "tokenizers")]
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        self.options().refuse_without_conversations()
    }

    /// Without the feature, a tokenizer is refused, and with it every template.
    #[cfg(not(feature = "tokenizers"))]
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        Ok(())
    }
}
