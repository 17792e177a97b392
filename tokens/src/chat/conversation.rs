//! `Conversation`: the messages of a document, as transformers gives them to a template.

use minijinja::value::{Value, ValueKind};

use super::json;

/// The names under which a message has its reasoning. The first is that of templates.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];
/// The role of what has loss.
const ASSISTANT: &str = "assistant";

/// A conversation.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Option<Value>,
    /// How many messages at the front are a prompt, whatever their role is.
    prompt: usize,
}

impl Conversation {
    /// Takes the JSON of a document: `messages`, and if they are there `tools` and `prompt`.
    ///
    /// # Errors
    /// Returns what is wrong with it, in one line.
    pub(super) fn parse(text: &str) -> Result<Conversation, String> {
        let row = json::parse(text).map_err(|fault| format!("{fault} of the conversation"))?;
        let messages = member(&row, "messages").ok_or("it has no messages")?;
        let messages = messages.try_iter().map_err(|e| e.to_string())?;
        let messages: Vec<Value> = messages
            .enumerate()
            .map(|(number, own)| message(number, &own))
            .collect::<Result<_, _>>()?;
        if messages.is_empty() {
            return Err("the conversation has no message".into());
        }
        let prompt = member(&row, "prompt").and_then(|own| usize::try_from(own).ok()).unwrap_or(0);
        Ok(Conversation { messages, tools: tools(&row)?, prompt })
    }

    /// Returns the numbers of the messages of the assistant that are no prompt.
    pub(super) fn turns(&self) -> Vec<usize> {
        self.assistants().filter(|&number| number >= self.prompt).collect()
    }

    /// Returns the numbers of all messages of the assistant.
    pub(super) fn assistants(&self) -> impl Iterator<Item = usize> {
        (0..self.messages.len()).filter(|&number| is_of_assistant(&self.messages[number]))
    }
}

/// Returns true if a message is one of the assistant.
fn is_of_assistant(message: &Value) -> bool {
    member(message, "role").is_some_and(|role| role.as_str() == Some(ASSISTANT))
}

/// Returns a member of a dict, if it is there and not `null`.
fn member(of: &Value, name: &str) -> Option<Value> {
    of.get_attr(name).ok().filter(|own| !own.is_undefined() && !own.is_none())
}

/// Returns a message without its members that are `null`, and with its reasoning under the names that templates use.
fn message(number: usize, given: &Value) -> Result<Value, String> {
    if given.kind() != ValueKind::Map {
        return Err(format!("message {number} is no object with a role and a content"));
    }
    if member(given, "role").is_none_or(|role| role.as_str().is_none()) {
        return Err(format!("message {number} has no role"));
    }
    let names = given.try_iter().map_err(|e| e.to_string())?;
    let own: Vec<(Value, Value)> = names
        .filter_map(|name| given.get_item(&name).ok().map(|value| (name, value)))
        .filter(|(_, value)| !value.is_none())
        .collect();
    let Some(reasoning) = REASONING.iter().find_map(|name| member(given, name)) else {
        return Ok(Value::from_pairs(own));
    };
    let before = (Value::from(REASONING[1]), reasoning.clone());
    let after = (Value::from(REASONING[0]), reasoning);
    Ok(Value::from_pairs(std::iter::once(before).chain(own).chain([after])))
}

/// Returns the tools of a conversation: a list of objects, or JSON of one.
fn tools(row: &Value) -> Result<Option<Value>, String> {
    let Some(mut tools) = member(row, "tools") else { return Ok(None) };
    if let Some(text) = tools.as_str() {
        tools = json::parse(text).map_err(|fault| format!("{fault} of the text of its tools"))?;
    }
    let is_list = tools.kind() == ValueKind::Seq;
    let mut each = tools.try_iter().into_iter().flatten();
    if tools.is_none() {
        return Ok(None);
    }
    if is_list && each.all(|tool| tool.kind() == ValueKind::Map) {
        Ok(Some(tools))
    } else {
        Err("its tools are no list of objects".into())
    }
}
