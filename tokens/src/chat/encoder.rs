//! `ChatEncoder`: conversations to ids, with those that have no loss marked.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use minijinja::value::{Value, ValueKind, merge_maps};
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use super::conversation::Conversation;
use super::files::{self, DEFAULT, Found, TOKENS};
use super::json;
use super::options::{ChatOptions, Loss};
use super::template::{Moment, Template};
use super::turns::{Renderer, Text};
use crate::encoding::encoder::Encode;
use crate::encoding::ids::Ids;
use crate::encoding::prompt;
use crate::encoding::tokenizer::{PlacedId, Tokenizer, TokenizerOptions};

/// Part of every fingerprint: another engine may give other texts.
const ENGINE: &str = "tarflume chats 1, minijinja 3.1";
/// The template for conversations with tools, if there is one.
const TOOLS: &str = "tool_use";

/// A tokenizer of conversations: each text is the JSON of one.
///
/// The text of a conversation is the one that `apply_chat_template` of transformers gives, and the ids are those that
/// the tokenizer gives for it without adding special tokens.
pub struct ChatEncoder {
    tokenizer: Tokenizer,
    templates: Vec<NamedTemplate>,
    /// The name of the template for all conversations, if the user has given one.
    name: Option<String>,
    common: Value,
    loss: Loss,
    fingerprint: [u8; 32],
    notices: Vec<Message>,
}

struct NamedTemplate {
    name: String,
    template: Template,
}

impl NamedTemplate {
    /// Returns true if it does not say where the words of the assistant begin.
    fn is_vague(&self) -> bool {
        !self.template.has_generation() && !self.template.uses("add_generation_prompt")
    }
}

impl std::fmt::Debug for ChatEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChatEncoder({:?}, {:?})", self.tokenizer, self.loss)
    }
}

impl ChatEncoder {
    /// Reads the tokenizer at `path` and the template. The template writes the special tokens, so the tokenizer
    /// neither adds them nor takes them as text.
    ///
    /// # Errors
    /// Returns an error for other settings of the tokenizer, and those of [`Tokenizer::open`] and
    /// [`ChatEncoder::open`].
    pub fn read(
        path: &Path,
        settings: TokenizerOptions,
        options: &ChatOptions,
    ) -> Result<ChatEncoder, Failure> {
        if settings != TokenizerOptions::default() {
            return Err(Failure::usage(message!(
                "the chat template writes the special tokens: leave out {special_tokens} and {split_special_tokens}";
                special_tokens = Name::SpecialTokens.on(),
                split_special_tokens = Name::SplitSpecialTokens.on()
            )));
        }
        ChatEncoder::open(Tokenizer::open(path, settings)?, path, options)
    }

    /// Reads the template, for a tokenizer that was read from `path` and adds no special tokens.
    ///
    /// # Errors
    /// Returns an error if there is no template, if it or a setting is wrong, or if the operating system refuses.
    pub fn open(
        tokenizer: Tokenizer,
        path: &Path,
        options: &ChatOptions,
    ) -> Result<ChatEncoder, Failure> {
        let found = files::find(options.template.as_deref(), path)?;
        let moment = moment(options.date.as_deref())?;
        let mut templates = Vec::new();
        for (name, source) in &found.templates {
            let template = Template::parse(source, moment).map_err(|fault| {
                Failure::bad_data(format!("this is no chat template: {fault}")).in_file(&found.path)
            })?;
            templates.push(NamedTemplate { name: name.clone(), template });
        }
        let tokens = found.tokens.iter().map(|(name, own)| (*name, Value::from(own.as_str())));
        let variables = variables(options.variables.as_deref())?;
        let mut encoder = ChatEncoder {
            tokenizer,
            templates,
            name: options.name.clone(),
            common: merge_maps([variables, Value::from_pairs(tokens)]),
            loss: options.loss,
            fingerprint: [0; 32],
            notices: Vec::new(),
        };
        encoder.check(&found)?;
        encoder.tell(&found, options, moment);
        encoder.fingerprint = encoder.fingerprint(&found, options, moment);
        Ok(encoder)
    }

    /// Checks the name of the template, and that its special tokens are known.
    fn check(&self, found: &Found) -> Result<(), Failure> {
        if let Some(name) = &self.name
            && self.named(name).is_none()
        {
            let names: Vec<&str> = self.templates.iter().map(|own| own.name.as_str()).collect();
            return Err(Failure::usage(message!("{path} has no template '{name}'; there are {}", names.join(", "); path = &found.path)).with_file(&found.path));
        }
        if found.has_config {
            return Ok(());
        }
        let Some(token) = TOKENS.iter().find(|token| self.lack(token)) else { return Ok(()) };
        Err(Failure::usage(message!(
            "{path} uses {token}, and no tokenizer_config.json beside it or beside the tokenizer says what it is; \
             copy that file there, or give {variables}";
            path = &found.path,
            variables = Name::TemplateVariables.is(format!("{{\"{token}\": \"...\"}}"))
        ))
        .with_file(&found.path))
    }

    /// Returns true if a template uses a variable.
    fn use_variable(&self, name: &str) -> bool {
        self.templates.iter().any(|own| own.template.uses(name))
    }

    /// Returns true if a template uses a variable that has no value.
    fn lack(&self, name: &str) -> bool {
        let is_given = self.common.get_attr(name).is_ok_and(|own| !own.is_undefined());
        !is_given && self.use_variable(name)
    }

    /// Notes what a user should know of the templates.
    fn tell(&mut self, found: &Found, options: &ChatOptions, moment: Moment) {
        if options.date.is_none() && self.use_variable("strftime_now") {
            let today = moment.0.format("%Y-%m-%d").to_string();
            self.notices.push(message!(
                "{path} writes the date of today, so another day gives other ids; {date} is that of this run";
                path = &found.path,
                date = Name::TemplateDate.is(today)
            ));
        }
        if self.loss != Loss::Everything && self.templates.iter().any(NamedTemplate::is_vague) {
            self.notices.push(message!(
                "{path} neither has blocks generation nor uses add_generation_prompt: what it writes before the words of \
                 the assistant has loss, too";
                path = &found.path
            ));
        }
    }

    fn fingerprint(&self, found: &Found, options: &ChatOptions, moment: Moment) -> [u8; 32] {
        let dated = self.use_variable("strftime_now");
        let settings = format!(
            "{ENGINE}\n{:?}\n{:?}\n{:?}\n{:?}\n{}\n{:?}\n",
            found.templates,
            found.tokens,
            self.name,
            options.variables,
            self.loss.word(),
            dated.then_some(moment),
        );
        let mut hasher = blake3::Hasher::new();
        hasher.update(settings.as_bytes()).update(&self.tokenizer.fingerprint());
        *hasher.finalize().as_bytes()
    }

    fn named(&self, name: &str) -> Option<&Template> {
        self.templates.iter().find(|own| own.name == name).map(|own| &own.template)
    }

    /// Returns the template for a conversation, as transformers chooses it.
    fn template(&self, conversation: &Conversation) -> Result<&Template, Message> {
        let own = match &self.name {
            Some(name) => self.named(name),
            None if conversation.tools.is_some() => self.named(TOOLS).or(self.named(DEFAULT)),
            None => self.named(DEFAULT),
        };
        own.ok_or_else(|| {
            message!("no template is named '{DEFAULT}'; give {name}"; name = Name::TemplateName.stand("NAME"))
        })
    }

    /// Renders the JSON of a conversation.
    fn rendered(&self, json: &str) -> Result<Text, Message> {
        let conversation = Conversation::parse(json).map_err(Message::words)?;
        let template = self.template(&conversation)?;
        Renderer { template, common: &self.common, conversation: &conversation }.text(self.loss)
    }

    /// Returns the ids of the JSON of a conversation.
    fn ids(&self, json: &str) -> Result<Vec<u32>, Message> {
        let Text { text, spans } = self.rendered(json)?;
        let ids = self.tokenizer.placed(&text).map_err(Message::words)?;
        let Some(spans) = spans else { return Ok(ids.iter().map(|own| own.id).collect()) };
        marked(&ids, &spans).ok_or_else(|| Message::words("the tokenizer has ids of 32 bits"))
    }
}

/// Marks the ids that lie outside of all spans. An id with a byte in a span has loss, as in transformers.
fn marked(ids: &[PlacedId], spans: &[(usize, usize)]) -> Option<Vec<u32>> {
    let mut spans = spans.iter().peekable();
    let mut made = Vec::with_capacity(ids.len());
    for own in ids {
        while spans.next_if(|(_, end)| own.begin >= *end).is_some() {}
        let inside = spans.peek().is_some_and(|(begin, _)| own.end > *begin);
        let marked = prompt::without_loss(own.id)?;
        made.push(if inside { own.id } else { marked });
    }
    Some(made)
}

/// Reads the variables of the user.
fn variables(given: Option<&str>) -> Result<Value, Failure> {
    let Some(given) = given else { return Ok(Value::from_pairs([] as [(&str, Value); 0])) };
    match json::parse(given) {
        Ok(found) if found.kind() == ValueKind::Map => Ok(found),
        Ok(_) => Err("expected an object, such as {\"enable_thinking\": false}".to_string()),
        Err(fault) => Err(fault.to_string()),
    }
    .map_err(|why| {
        Failure::usage(
            message!("{variables}: {why}"; variables = Name::TemplateVariables.is(given)),
        )
    })
}

/// Returns the time that a template sees.
fn moment(given: Option<&str>) -> Result<Moment, Failure> {
    let Some(given) = given else {
        let passed = SystemTime::now().duration_since(UNIX_EPOCH);
        let today = passed
            .ok()
            .and_then(|passed| DateTime::from_timestamp(passed.as_secs().cast_signed(), 0));
        return match today {
            Some(today) => Ok(Moment(today.date_naive().into())),
            None => Err(Failure::usage(message!(
                "the clock of this machine has no date that can be written; give {date}";
                date = Name::TemplateDate.is("2026-11-29")
            ))),
        };
    };
    let day = NaiveDate::parse_from_str(given, "%Y-%m-%d").map(NaiveDateTime::from);
    let time = day.or_else(|_| NaiveDateTime::parse_from_str(given, "%Y-%m-%d %H:%M"));
    time.map(Moment).map_err(|_| {
        Failure::usage(message!("{date}: expected a date such as 2026-11-29 or 2026-11-29 18:30"; date = Name::TemplateDate.is(given)))
    })
}

impl Encode for ChatEncoder {
    fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    fn vocabulary(&self) -> Option<u64> {
        self.tokenizer.vocabulary()
    }

    fn token(&self, text: &str) -> Option<u32> {
        self.tokenizer.token(text)
    }

    fn notices(&self) -> Vec<Message> {
        self.tokenizer.notices().into_iter().chain(self.notices.iter().cloned()).collect()
    }

    fn marks_prompts(&self) -> bool {
        self.loss != Loss::Everything
    }

    /// Gives a conversation that has a fault no ids; [`Encode::fault`] tells it.
    fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure> {
        for text in texts {
            match self.ids(text) {
                Ok(ids) => into.push(ids),
                Err(_) => into.push([]),
            }
        }
        Ok(())
    }

    fn fault(&self, text: &str) -> Option<Message> {
        self.ids(text).err()
    }
}

#[cfg(test)]
mod tests;
