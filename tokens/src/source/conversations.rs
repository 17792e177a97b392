//! `Members`: the fields of a row, and the document that they make.

use std::ops::Range;

use tarflume_formats::json::{JsonFault, JsonRules, Scan, Token, unescaped};

/// A field of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) token: Token,
    /// The bytes of its value.
    pub(super) at: Range<usize>,
}

/// The fields of a row, in the order of [`Rows::fields`](super::rows::Rows::fields).
pub(super) struct Members<'a> {
    pub(super) json: &'a [u8],
    pub(super) found: Vec<Option<Member>>,
}

/// What is wrong with a message of no known form.
const NEITHER: &str = "the message has neither role and content, nor from and value";

/// The roles of ShareGPT, and those of templates.
const ROLES: [(&str, &str); 15] = [
    ("human", "user"),
    ("user", "user"),
    ("gpt", "assistant"),
    ("assistant", "assistant"),
    ("model", "assistant"),
    ("bot", "assistant"),
    ("chatgpt", "assistant"),
    ("bing", "assistant"),
    ("bard", "assistant"),
    ("function_call", "assistant"),
    ("system", "system"),
    ("tool", "tool"),
    ("observation", "tool"),
    ("function_response", "tool"),
    ("ipython", "ipython"),
];

/// How the words of the system begin.
const SYSTEM: &str = "{\"role\":\"system\"";

impl<'a> Members<'a> {
    /// Returns the JSON of a field; `None` if the row has none or `null`.
    fn piece(&self, number: usize) -> Option<&'a str> {
        let member = self.found[number].as_ref().filter(|own| own.token != Token::Null)?;
        std::str::from_utf8(&self.json[member.at.clone()]).ok()
    }

    fn fault(&self, number: usize, what: impl Into<String>) -> JsonFault {
        let byte = self.found[number].as_ref().map_or(0, |own| own.at.start);
        JsonFault { byte, what: what.into(), is_python: false, is_repeated_name: false }
    }

    /// Returns the text of a field; `None` for `null` and for a field that is not there.
    fn string(&self, number: usize) -> Result<Option<String>, JsonFault> {
        match (&self.found[number], self.piece(number)) {
            (Some(own), Some(piece)) if own.token == Token::String => {
                Ok(Some(unescaped(piece).into_owned()))
            }
            (_, None) => Ok(None),
            _ => Err(self.fault(number, "expected a text")),
        }
    }

    /// Appends the text of a field; `null` is an empty text.
    pub(super) fn text(&self, text: &mut String) -> Result<(), JsonFault> {
        match (&self.found[0], self.piece(0)) {
            (Some(own), Some(piece)) if own.token == Token::String => {
                text.push_str(&unescaped(piece));
                Ok(())
            }
            (_, None) => Ok(()),
            _ => Err(self.fault(0, "expected the text as a string")),
        }
    }

    /// Appends the conversation of a list of messages, its tools and its `system`.
    pub(super) fn messages(&self, text: &mut String) -> Result<(), JsonFault> {
        let system = self.found[2].clone().filter(|own| own.token == Token::String);
        let mut messages = Vec::new();
        let is_foreign = self.each(0, &mut messages)?;
        text.push_str("{\"messages\":[");
        // ShareGPT has the words of the system beside the messages. Messages of other programs have them inside.
        let has_system = messages.first().is_some_and(|own| own.starts_with(SYSTEM));
        if let Some(system) = system.filter(|_| is_foreign && !has_system) {
            let piece = std::str::from_utf8(&self.json[system.at]).unwrap_or_default();
            if piece != "\"\"" {
                messages.insert(0, format!("{SYSTEM},\"content\":{piece}}}"));
            }
        }
        text.push_str(&messages.join(","));
        text.push(']');
        self.close(1, text);
        Ok(())
    }

    /// Appends the conversation of a prompt and a response.
    pub(super) fn pair(&self, text: &mut String) -> Result<(), JsonFault> {
        let mut messages = Vec::new();
        self.turn(0, "user", &mut messages)?;
        let prompt = messages.len();
        self.turn(1, "assistant", &mut messages)?;
        text.push_str(&format!("{{\"messages\":[{}],\"prompt\":{prompt}", messages.join(",")));
        self.close(2, text);
        Ok(())
    }

    /// Appends the conversation of an instruction, its input and its output.
    pub(super) fn alpaca(&self, text: &mut String) -> Result<(), JsonFault> {
        let mut messages = Vec::new();
        if let Some(system) = self.string(3)?.filter(|own| !own.is_empty()) {
            messages.push(turn("system", &system));
        }
        let mut asked = self.string(0)?.unwrap_or_default();
        if let Some(input) = self.string(2)?.filter(|own| !own.is_empty()) {
            asked.push_str(if asked.is_empty() { "" } else { "\n" });
            asked.push_str(&input);
        }
        messages.push(turn("user", &asked));
        messages.push(turn("assistant", &self.string(1)?.unwrap_or_default()));
        let prompt = messages.len() - 1;
        text.push_str(&format!("{{\"messages\":[{}],\"prompt\":{prompt}}}", messages.join(",")));
        Ok(())
    }

    /// Ends the conversation with its tools.
    fn close(&self, tools: usize, text: &mut String) {
        if let Some(tools) = self.piece(tools) {
            text.push_str(",\"tools\":");
            text.push_str(tools);
        }
        text.push('}');
    }

    /// Adds a text as the message of a role, or the messages of a list.
    fn turn(&self, number: usize, role: &str, to: &mut Vec<String>) -> Result<(), JsonFault> {
        match (&self.found[number], self.piece(number)) {
            (Some(own), Some(piece)) if own.token == Token::String => {
                to.push(format!("{{\"role\":\"{role}\",\"content\":{piece}}}"));
                Ok(())
            }
            (Some(own), Some(_)) if own.token == Token::Array => self.each(number, to).map(drop),
            _ => Err(self.fault(number, "expected a text or a list of messages")),
        }
    }

    /// Adds the messages of a list. Returns whether they are those of ShareGPT.
    fn each(&self, number: usize, to: &mut Vec<String>) -> Result<bool, JsonFault> {
        let piece = self.piece(number).unwrap_or("[]");
        let begin = self.found[number].as_ref().map_or(0, |own| own.at.start);
        let mut is_foreign = false;
        let mut scan =
            Scan::new(piece.as_bytes(), JsonRules::Strict).map_err(|own| within(own, begin))?;
        scan = scan.with_repeats();
        if scan.token().map_err(|own| within(own, begin))? != Token::Array {
            return Err(self.fault(number, "expected a list of messages"));
        }
        scan.array(|scan, _| {
            let (message, foreign) = message(scan)?;
            is_foreign |= foreign;
            to.push(message);
            Ok::<(), JsonFault>(())
        })
        .map_err(|own| within(own, begin))?;
        Ok(is_foreign)
    }
}

/// Returns a message as JSON.
fn turn(role: &str, content: &str) -> String {
    let content = serde_json::to_string(content).expect("a text is JSON");
    format!("{{\"role\":\"{role}\",\"content\":{content}}}")
}

/// Takes a message: as it is if it has a role, and with the names of templates if it is one of ShareGPT. Returns
/// whether it is.
fn message(scan: &mut Scan<'_>) -> Result<(String, bool), JsonFault> {
    if scan.token()? != Token::Object {
        return Err(scan.fault("expected a message, an object with a role and a content"));
    }
    let begin = scan.at();
    let mut from = None;
    let mut value = None;
    let mut has_role = false;
    scan.object(|scan, name| {
        let name = unescaped(scan.piece(name));
        let token = scan.token()?;
        let begin = scan.at();
        scan.skip()?;
        let piece = scan.piece(begin..scan.at());
        match (&*name, token) {
            ("role", Token::String) => has_role = true,
            ("from", Token::String) => from = Some(unescaped(piece).into_owned()),
            ("value", _) => value = Some(piece),
            _ => {}
        }
        Ok::<(), JsonFault>(())
    })?;
    if has_role {
        return Ok((scan.piece(begin..scan.at()).into(), false));
    }
    let from = from.ok_or_else(|| scan.fault(NEITHER))?;
    let value = value.ok_or_else(|| scan.fault(NEITHER))?;
    let Some((_, role)) = ROLES.iter().find(|(own, _)| *own == from) else {
        let known: Vec<&str> = ROLES.iter().map(|(own, _)| *own).collect();
        let known = known.join(", ");
        return Err(scan.fault(format!("from is '{from}', and known are {known}")));
    };
    Ok((format!("{{\"role\":\"{role}\",\"content\":{value}}}"), true))
}

/// Returns a fault of a text that begins at a byte of the row.
fn within(fault: JsonFault, begin: usize) -> JsonFault {
    JsonFault { byte: fault.byte + begin, ..fault }
}
