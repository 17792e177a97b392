//! Parses conditions by recursive descent: `or` binds weaker than `and`, `and` weaker than `not`.

use globset::GlobBuilder;
use tarflume_formats::json::{Number, Value};

use super::compare::Comparison;
use super::{Condition, Operand};

/// Limit on the depth of `not` and parentheses, so that no text exhausts the stack.
const DEPTH: usize = 64;

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Result<Condition, String> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let condition = parser.any()?;
    if parser.rest().is_empty() {
        return Ok(condition);
    }
    Err(parser.expected("'and', 'or' or the end"))
}

struct Parser<'t> {
    text: &'t str,
    /// A byte of the text.
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    /// Skips blanks and returns the rest of the text.
    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn place(&self, at: usize) -> String {
        if at >= self.text.trim_end().len() {
            "at the end".into()
        } else {
            format!("at character {}", self.text[..at].chars().count() + 1)
        }
    }

    fn expected(&mut self, what: &str) -> String {
        self.rest();
        format!("{what} is expected {}", self.place(self.at))
    }

    /// Takes a symbol if it comes next.
    fn symbol(&mut self, symbol: &str) -> bool {
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.at += symbol.len();
        }
        is_next
    }

    /// Takes a keyword if it comes next.
    fn keyword(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let is_next = rest.strip_prefix(word).is_some_and(ends_keyword);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn any(&mut self) -> Result<Condition, String> {
        let mut any = vec![self.all()?];
        while self.keyword("or") {
            any.push(self.all()?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Condition::Any(any) })
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut all = vec![self.term()?];
        while self.keyword("and") {
            all.push(self.term()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::All(all) })
    }

    fn term(&mut self) -> Result<Condition, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("more than {DEPTH} conditions are nested"));
        }
        let term = self.nested();
        self.depth -= 1;
        term
    }

    fn nested(&mut self) -> Result<Condition, String> {
        if self.keyword("not") {
            return Ok(Condition::Not(Box::new(self.term()?)));
        }
        if self.symbol("(") {
            let inner = self.any()?;
            return if self.symbol(")") { Ok(inner) } else { Err(self.expected("')'")) };
        }
        if self.keyword("has") {
            let ext = self.word();
            return if ext.is_empty() {
                Err(self.expected("an extension"))
            } else {
                Ok(Condition::Exists(Operand::Part(ext.to_ascii_lowercase())))
            };
        }
        let operand = self.operand()?;
        self.comparison(operand)
    }

    /// Takes characters up to a blank, a parenthesis or an operator.
    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.char_indices().map(|(at, _)| at).find(|&at| ends_word(&rest[at..]));
        let end = end.unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn operand(&mut self) -> Result<Operand, String> {
        let start = {
            self.rest();
            self.at
        };
        let word = self.word();
        if word.is_empty() {
            return Err(self.expected("a condition"));
        }
        match word.split_once(':') {
            None if word == "key" => Ok(Operand::Key),
            None => {
                let why = format!(
                    "'{word}' is none of key, EXT:/FIELD, size:EXT and has EXT; a field of the JSON is json:/{word}"
                );
                self.refused(why, start)
            }
            Some(("size", "")) => {
                self.refused("size: names no extension; give size:EXT".into(), start)
            }
            Some(("size", ext)) => Ok(Operand::Size(ext.to_ascii_lowercase())),
            Some((ext, pointer)) if pointer.is_empty() || pointer.starts_with('/') => {
                Ok(Operand::Field(ext.to_ascii_lowercase(), pointer.into()))
            }
            Some((ext, field)) => {
                self.refused(format!("a field begins with a slash: {ext}:/{field}"), start)
            }
        }
    }

    fn refused(&self, why: String, start: usize) -> Result<Operand, String> {
        Err(format!("{why} ({})", self.place(start)))
    }

    fn comparison(&mut self, operand: Operand) -> Result<Condition, String> {
        if self.keyword("in") {
            return Ok(Condition::In(operand, self.list()?));
        }
        for (symbol, comparison) in Comparison::ALL {
            if self.symbol(symbol) {
                return Ok(Condition::Compare(operand, comparison, self.literal()?));
            }
        }
        if !self.symbol("~") {
            return Ok(Condition::Exists(operand));
        }
        let pattern = match self.literal()? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let glob = GlobBuilder::new(&pattern).literal_separator(false).build();
        let glob = glob.map_err(|e| format!("'{pattern}' is no pattern: {e}"))?;
        Ok(Condition::Like(operand, glob.compile_matcher()))
    }

    fn list(&mut self) -> Result<Vec<Value>, String> {
        if !self.symbol("(") {
            return Err(self.expected("'('"));
        }
        let mut list = vec![self.literal()?];
        while self.symbol(",") {
            list.push(self.literal()?);
        }
        if self.symbol(")") { Ok(list) } else { Err(self.expected("',' or ')'")) }
    }

    /// Takes a number, a text with or without quotes, `true`, `false` or `null`.
    fn literal(&mut self) -> Result<Value, String> {
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|&c| c == '\'' || c == '"') {
            let Some(end) = rest[1..].find(quote) else {
                return Err(format!("the quote {} is not closed", self.place(self.at)));
            };
            self.at += end + 2;
            return Ok(Value::String(rest[1..=end].into()));
        }
        let word = self.word();
        Ok(match word {
            "" => return Err(self.expected("a value")),
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            word => match Number::parse(word) {
                Some(number) => Value::Number(number.text().into()),
                None => Value::String(word.into()),
            },
        })
    }
}

/// Returns true if a keyword ends before this text.
fn ends_keyword(rest: &str) -> bool {
    rest.chars().next().is_none_or(|next| next.is_whitespace() || "()'\"".contains(next))
}

/// Returns true if a word ends before this text. A tilde of a JSON pointer is followed by 0 or 1.
fn ends_word(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next().is_none_or(|c| match c {
        '~' => !chars.as_str().starts_with(['0', '1']),
        c => c.is_whitespace() || "()<>=!,'\"".contains(c),
    })
}
