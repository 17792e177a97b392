//! What the assistant writes in the text of a conversation.
//!
//! A template with blocks `{% generation %}` says it. For others the text of a turn begins where the conversation
//! before it ends with the prompt of generation, and ends where the conversation up to it ends. Both texts must be
//! beginnings of the whole one: templates may write a turn in another way when others follow.

use minijinja::value::{Value, merge_maps};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use super::conversation::Conversation;
use super::options::Loss;
use super::template::{Rendered, Template};

/// Renders a conversation and parts of it.
pub(super) struct Renderer<'a> {
    pub(super) template: &'a Template,
    /// The variables that are the same for all conversations.
    pub(super) common: &'a Value,
    pub(super) conversation: &'a Conversation,
}

/// The text of a conversation, and the bytes of it that have loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    /// In order; `None` if all of the text has loss.
    pub(super) spans: Option<Vec<(usize, usize)>>,
}

impl Renderer<'_> {
    /// Renders the whole conversation.
    ///
    /// # Errors
    /// Returns why the template refuses it, or why its turns are not found.
    pub(super) fn text(&self, loss: Loss) -> Result<Text, Message> {
        let whole = self.first(self.conversation.messages.len(), false)?;
        let mut turns = self.conversation.turns();
        match loss {
            Loss::Everything => return Ok(Text { text: whole.text, spans: None }),
            Loss::Assistant => {}
            Loss::Last => drop(turns.drain(..turns.len().saturating_sub(1))),
        }
        let spans = if self.template.has_generation() {
            self.blocks(&whole, &turns)?
        } else {
            turns.iter().map(|&turn| self.turn(turn, &whole.text)).collect::<Result<_, _>>()?
        };
        Ok(Text { text: whole.text, spans: Some(spans) })
    }

    /// Renders the first messages.
    fn first(&self, number: usize, add_generation_prompt: bool) -> Result<Rendered, Message> {
        let messages: Vec<Value> = self.conversation.messages[..number].to_vec();
        let own = Value::from_pairs([
            ("messages", Value::from(messages)),
            ("tools", self.conversation.tools.clone().unwrap_or(Value::from(()))),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(add_generation_prompt)),
        ]);
        let rendered = self.template.render(&merge_maps([own, self.common.clone()]));
        rendered.map_err(|fault| message!("the chat template refuses the conversation: {fault}"))
    }

    /// Returns the blocks of some turns. If that is not all turns, there must be one block for each.
    fn blocks(&self, whole: &Rendered, turns: &[usize]) -> Result<Vec<(usize, usize)>, Message> {
        let blocks = &whole.generated;
        let all: Vec<usize> = self.conversation.assistants().collect();
        if turns.len() == all.len() {
            return Ok(blocks.clone());
        }
        if blocks.len() != all.len() {
            return Err(message!(
                "the template has {} blocks generation for {} turns of the assistant, so those of some turns are not \
                 known; {mask_prompt} takes all of them",
                blocks.len(),
                all.len();
                mask_prompt = Name::MaskPrompt.is("all")
            ));
        }
        Ok(all
            .iter()
            .zip(blocks)
            .filter(|(turn, _)| turns.contains(turn))
            .map(|(_, &block)| block)
            .collect())
    }

    /// Returns the bytes of a turn of the assistant.
    fn turn(&self, turn: usize, whole: &str) -> Result<(usize, usize), Message> {
        let prompt = self.first(turn, true)?.text;
        let until = self.first(turn + 1, false)?.text;
        if until.starts_with(&prompt) && whole.starts_with(&until) {
            return Ok((prompt.len(), until.len()));
        }
        let what = if whole.starts_with(&prompt) { "the end" } else { "the beginning" };
        Err(message!(
            "{what} of the assistant's message {turn} is not known: the template writes it in another way when other \
             messages follow, and has no block generation; {mask_prompt} needs the last turn only, and a template \
             with blocks generation tells all turns";
            mask_prompt = Name::MaskPrompt.is("last")
        ))
    }
}
