//! `ChatOptions`: how conversations become text, and which of their ids have loss.

use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;

/// Which ids of a conversation have loss.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All ids.
    #[default]
    Everything,
    /// What the assistant writes in each of its turns.
    Assistant,
    /// What the assistant writes in its last turn.
    Last,
}

impl ChatOptions {
    /// Refuses settings that differ from the default, for documents that are no conversations.
    ///
    /// # Errors
    /// Returns an error that names the settings of conversations.
    pub fn refuse_without_conversations(&self) -> Result<(), Failure> {
        let texts = [&self.name, &self.variables, &self.date];
        let are_given = self.template.is_some()
            || self.loss != Loss::default()
            || texts.iter().any(|text| text.is_some());
        if !are_given {
            return Ok(());
        }
        Err(Failure::usage(message!(
            "a chat template and a mask of prompts are for conversations; give {messages}, {prompt} with {response}, or {alpaca}";
            messages = Name::Messages.stand("FIELD"),
            prompt = Name::PromptField.stand("FIELD"),
            response = Name::Response.stand("FIELD"),
            alpaca = Name::Alpaca.on()
        )))
    }
}

impl Loss {
    /// Returns what a word of [`Loss::word`] means.
    pub fn of_word(word: &str) -> Option<Loss> {
        [Loss::Assistant, Loss::Last].into_iter().find(|own| own.word() == word)
    }

    /// Returns the word of the command line; none for all ids.
    pub fn word(self) -> &'static str {
        match self {
            Loss::Everything => "",
            Loss::Assistant => "all",
            Loss::Last => "last",
        }
    }
}

/// The chat template and what it is given.
#[derive(Debug, Default, Clone)]
pub struct ChatOptions {
    /// A file with a template, a `tokenizer_config.json`, or a folder with either; by default the folder of the
    /// tokenizer.
    pub template: Option<PathBuf>,
    /// The name of a template, of a `tokenizer_config.json` that has several; by default `tool_use` for conversations
    /// with tools, else `default`.
    pub name: Option<String>,
    /// More variables of the template: a JSON object.
    pub variables: Option<String>,
    /// The time that the template sees, as `2026-11-29` or `2026-11-29 18:30`; by default the date of today in UTC.
    pub date: Option<String>,
    /// Which ids have loss.
    pub loss: Loss,
}
