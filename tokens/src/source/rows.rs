//! `Rows`: what a document is of a row of JSON: the text of a field, or a conversation.
//!
//! The document of a conversation is JSON in one line: `messages`, each with `role` and `content`; `tools` if the row has
//! them; and `prompt`, the number of messages that are a prompt, if the row says it. Values are those of the row, byte
//! for byte, so they keep the order of their names.

use std::ops::Range;

use tarflume_formats::json::{JsonFault, JsonRules, Scan, Token, unescaped};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use tarflume_base::Failure;

use super::conversations::{Member, Members};

/// What a document is of a row.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Rows {
    /// The text of the field of [`Reading`](super::Reading).
    #[default]
    Text,
    /// A conversation: the messages of a field, with `role` and `content`, or with `from` and `value` as ShareGPT has
    /// them.
    Messages {
        /// The field of the messages.
        messages: String,
        /// The field of the tools.
        tools: String,
    },
    /// A prompt and a response: each a text, or a list of messages.
    Pair {
        /// The field of the prompt.
        prompt: String,
        /// The field of the response.
        response: String,
        /// The field of the tools.
        tools: String,
    },
    /// `instruction`, `input` and `output`, as Alpaca has them, and `system` if it is there.
    Alpaca,
}

/// The words of a user about conversations.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RowWords {
    /// The field of the messages.
    pub messages: Option<String>,
    /// The field of the prompt.
    pub prompt: Option<String>,
    /// The field of the response.
    pub response: Option<String>,
    /// Whether rows have the fields of Alpaca.
    pub alpaca: bool,
    /// The field of the tools; by default `tools`.
    pub tools: Option<String>,
}

/// Why a text has no field with a document.
pub(super) struct FieldFault {
    pub(super) reason: Message,
    /// True if the text ends too early: what is there may be the beginning of JSON.
    pub(super) is_cut: bool,
}

impl FieldFault {
    /// Returns the fault of a JSON text, which errors call `whole`.
    fn of(fault: JsonFault, json: &[u8], whole: &str) -> FieldFault {
        let is_cut = fault.byte >= json.trim_ascii_end().len();
        FieldFault { reason: message!("{fault} of the {whole}"), is_cut }
    }
}

/// Limit on the names of other fields in an error.
const NAMED: usize = 8;

impl Rows {
    /// Returns what the words of a user mean.
    ///
    /// # Errors
    /// Returns an error for words that exclude or need each other.
    pub fn of(words: RowWords) -> Result<Rows, Failure> {
        let tools = words.tools.clone().unwrap_or_else(|| "tools".into());
        match (words.messages, words.prompt, words.response, words.alpaca) {
            (None, None, None, false) if words.tools.is_none() => Ok(Rows::Text),
            (Some(messages), None, None, false) => Ok(Rows::Messages { messages, tools }),
            (None, Some(prompt), Some(response), false) => {
                Ok(Rows::Pair { prompt, response, tools })
            }
            (None, None, None, true) if words.tools.is_none() => Ok(Rows::Alpaca),
            _ => Err(Failure::usage(message!(
                "conversations are {messages}, or {prompt} with {response}, or {alpaca}; {tools} is for the first two";
                messages = Name::Messages.stand("FIELD"),
                prompt = Name::PromptField.stand("FIELD"),
                response = Name::Response.stand("FIELD"),
                alpaca = Name::Alpaca.on(),
                tools = Name::Tools
            ))),
        }
    }

    /// Returns whether documents are conversations.
    pub fn are_conversations(&self) -> bool {
        *self != Rows::Text
    }

    /// Returns the fields of a row that a document is made of, and whether the row must have them.
    pub(super) fn fields<'a>(&'a self, text: &'a str) -> Vec<(&'a str, bool)> {
        match self {
            Rows::Text => vec![(text, true)],
            Rows::Messages { messages, tools } => {
                vec![(messages, true), (tools, false), ("system", false)]
            }
            Rows::Pair { prompt, response, tools } => {
                vec![(prompt, true), (response, true), (tools, false)]
            }
            Rows::Alpaca => {
                vec![("instruction", true), ("output", true), ("input", false), ("system", false)]
            }
        }
    }

    /// Returns the setting that names the first field.
    fn setting(&self) -> Name {
        match self {
            Rows::Text => Name::TextField,
            Rows::Messages { .. } => Name::Messages,
            Rows::Pair { .. } => Name::PromptField,
            Rows::Alpaca => Name::Alpaca,
        }
    }

    /// Appends the document of a JSON object. Builds no tree. Errors count the bytes of `whole`.
    pub(super) fn document(
        &self,
        json: &[u8],
        whole: &str,
        field: &str,
        text: &mut String,
    ) -> Result<(), FieldFault> {
        let fields = self.fields(field);
        let mut row = Row { found: vec![None; fields.len()], others: Vec::new() };
        let scan = Scan::new(json, JsonRules::Strict);
        let mut scan = scan.map_err(|own| FieldFault::of(own, json, whole))?.with_repeats();
        let token = scan.token().map_err(|own| FieldFault::of(own, json, whole))?;
        if token != Token::Object {
            let fault = scan.fault("expected a JSON object");
            return Err(FieldFault::of(fault, json, whole));
        }
        let walked = scan.object(|scan, member| row.take(scan, member, &fields));
        let walked = walked.and_then(|()| scan.end());
        walked.map_err(|own| FieldFault::of(own, json, whole))?;
        for (number, (name, is_needed)) in fields.iter().enumerate() {
            if *is_needed && row.found[number].is_none() {
                return Err(self.missing(name, &row.others));
            }
        }
        let members = Members { json, found: row.found };
        match self {
            Rows::Text => members.text(text),
            Rows::Messages { .. } => members.messages(text),
            Rows::Pair { .. } => members.pair(text),
            Rows::Alpaca => members.alpaca(text),
        }
        .map_err(|own| FieldFault::of(own, json, whole))
    }

    /// Returns the fault of a row without a field.
    fn missing(&self, name: &str, others: &[String]) -> FieldFault {
        let others = others.join(", ");
        let reason = match self {
            Rows::Text => {
                message!("there is no field '{name}'; the fields are {others}; give the text's name with {text_field}"; text_field = Name::TextField)
            }
            Rows::Alpaca => {
                message!("there is no field '{name}', as {alpaca} needs it; the fields are {others}"; alpaca = self.setting())
            }
            _ => {
                message!("there is no field '{name}'; the fields are {others}; give the name with {setting}"; setting = self.setting())
            }
        };
        FieldFault { reason, is_cut: false }
    }
}

/// The fields of a row, as far as they were read.
struct Row {
    found: Vec<Option<Member>>,
    /// The first names of other fields, in quotes.
    others: Vec<String>,
}

impl Row {
    /// Takes the field at which a scan is.
    fn take(
        &mut self,
        scan: &mut Scan<'_>,
        name: Range<usize>,
        fields: &[(&str, bool)],
    ) -> Result<(), JsonFault> {
        let name = unescaped(scan.piece(name));
        let Some(number) = fields.iter().position(|(own, _)| *own == name) else {
            if self.others.len() < NAMED {
                self.others.push(format!("'{}'", name.chars().take(40).collect::<String>()));
            }
            return scan.skip();
        };
        if self.found[number].is_some() {
            return Err(scan.fault(format!("the field '{name}' appears twice")));
        }
        let token = scan.token()?;
        let begin = scan.at();
        scan.skip()?;
        self.found[number] = Some(Member { token, at: begin..scan.at() });
        Ok(())
    }
}
