//! `Condition`: which documents are packed, such as `len(ids) >= 10 and not len(ids) > 100000`.
//!
//! Parses the text of `--where`; reads nothing else.

use std::fmt;

/// Limit on parentheses and `not`s inside each other.
const DEEPEST: usize = 64;

/// A condition on the number of a document's ids.
///
/// Comparisons (`<`, `<=`, `>`, `>=`, `==`, `!=`) of `len(ids)` and whole numbers, joined by `and`,
/// `or`, `not` and parentheses, with Python's precedence.
///
/// ```
/// use tarflume_tokens::Condition;
///
/// let condition = Condition::parse("len(ids) >= 10 and not (len(ids) == 12 or len(ids) > 99)")?;
/// assert!(condition.holds(10) && !condition.holds(12) && !condition.holds(100));
/// assert!(Condition::parse("len(ids) >= ten").unwrap_err().contains("column 13"));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Compare(Value, Operator, Value),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Length,
    Number(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    Unequal,
}

/// The operators; those of two characters come first.
const OPERATORS: [(&str, Operator); 6] = [
    ("<=", Operator::LessEqual),
    (">=", Operator::GreaterEqual),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// Returns a text with the column, counted in characters from 1, and what was expected there.
    pub fn parse(text: &str) -> Result<Condition, String> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let root = parser.any()?;
        match parser.rest() {
            "" => Ok(Condition { text: text.trim().into(), root }),
            _ => Err(parser.expected("'and', 'or' or the end")),
        }
    }

    /// Returns true if a document of this many ids is packed.
    pub fn holds(&self, length: u64) -> bool {
        self.root.holds(length)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Value {
    /// Returns the value for a document of `length` ids.
    fn at(&self, length: u64) -> u64 {
        match self {
            Value::Length => length,
            Value::Number(number) => *number,
        }
    }
}

impl Node {
    fn holds(&self, length: u64) -> bool {
        match self {
            Node::Compare(one, operator, other) => {
                let one = one.at(length);
                let other = other.at(length);
                match operator {
                    Operator::Less => one < other,
                    Operator::LessEqual => one <= other,
                    Operator::Greater => one > other,
                    Operator::GreaterEqual => one >= other,
                    Operator::Equal => one == other,
                    Operator::Unequal => one != other,
                }
            }
            Node::Not(node) => !node.holds(length),
            Node::And(one, other) => one.holds(length) && other.holds(length),
            Node::Or(one, other) => one.holds(length) || other.holds(length),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Skips blanks; returns the text from there.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let rest = rest.trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn expected(&mut self, what: &str) -> String {
        let rest = self.rest();
        let column = self.text[..self.at].chars().count() + 1;
        let found = match rest.split_whitespace().next() {
            Some(word) => format!("not '{}'", word.chars().take(20).collect::<String>()),
            None => "but the text ends".into(),
        };
        format!("column {column}: expected {what}, {found}; for example: len(ids) >= 10")
    }

    /// Takes `word` if it is next: a sign, or a whole word.
    fn takes(&mut self, word: &str) -> bool {
        let Some(behind) = self.rest().strip_prefix(word) else { return false };
        let is_word = word.ends_with(|c: char| c.is_ascii_alphabetic());
        if is_word && behind.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return false;
        }
        self.at += word.len();
        true
    }

    fn any(&mut self) -> Result<Node, String> {
        let mut node = self.all()?;
        while self.takes("or") {
            node = Node::Or(Box::new(node), Box::new(self.all()?));
        }
        Ok(node)
    }

    fn all(&mut self) -> Result<Node, String> {
        let mut node = self.one()?;
        while self.takes("and") {
            node = Node::And(Box::new(node), Box::new(self.one()?));
        }
        Ok(node)
    }

    fn one(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.expected(&format!("at most {DEEPEST} parentheses and 'not's")));
        }
        let node = if self.takes("not") {
            Node::Not(Box::new(self.one()?))
        } else if self.takes("(") {
            let node = self.any()?;
            if !self.takes(")") {
                return Err(self.expected("')', 'and' or 'or'"));
            }
            node
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn comparison(&mut self) -> Result<Node, String> {
        let one = self.value()?;
        let Some(&(_, operator)) = OPERATORS.iter().find(|(sign, _)| self.takes(sign)) else {
            return Err(self.expected("one of < <= > >= == !="));
        };
        Ok(Node::Compare(one, operator, self.value()?))
    }

    fn value(&mut self) -> Result<Value, String> {
        let start = self.at;
        if self.takes("len") {
            if self.takes("(") && self.takes("ids") && self.takes(")") {
                return Ok(Value::Length);
            }
            self.at = start;
            return Err(self.expected("len(ids) or a whole number"));
        }
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let joined = rest[digits..].starts_with(|c: char| c.is_alphanumeric() || "_.".contains(c));
        match rest[..digits].parse() {
            Ok(number) if !joined => {
                self.at += digits;
                Ok(Value::Number(number))
            }
            _ => Err(self.expected("len(ids) or a whole number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_as_python_computes_them() {
        for (text, holding) in [
            ("len(ids) >= 10", vec![10, 11, 99]),
            ("10<=len( ids )", vec![10, 11, 99]),
            ("len(ids) == 0 or len(ids) == 99", vec![0, 99]),
            ("not len(ids) < 10 and len(ids) != 11", vec![10, 99]),
            ("not (len(ids) < 10 and len(ids) != 11)", vec![10, 11, 99]),
            ("len(ids) < 1 or len(ids) > 9 and len(ids) < 11", vec![0, 10]),
            ("(len(ids) < 1 or len(ids) > 9) and len(ids) < 11", vec![0, 10]),
            ("not not 1 == 1", vec![0, 9, 10, 11, 99]),
        ] {
            let condition = Condition::parse(text).unwrap();
            let found: Vec<u64> =
                [0, 9, 10, 11, 99].into_iter().filter(|&n| condition.holds(n)).collect();
            assert_eq!(found, holding, "{text}");
        }
    }

    #[test]
    fn wrong_conditions_are_refused_with_their_column() {
        for (text, column, expected) in [
            ("", 1, "len(ids) or a whole number"),
            ("len(id) > 1", 1, "len(ids)"),
            ("len(ids)", 9, "one of <"),
            ("len(ids) = 1", 10, "one of <"),
            ("len(ids) > 1.5", 12, "a whole number"),
            ("len(ids) > -1", 12, "a whole number"),
            ("len(ids) > 99999999999999999999", 12, "a whole number"),
            ("len(ids) > 1 andlen(ids) > 1", 14, "'and', 'or' or the end"),
            ("(len(ids) > 1", 14, "')'"),
            ("ü > 1", 1, "len(ids)"),
            ("1 < 2 )", 7, "the end"),
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert!(error.starts_with(&format!("column {column}: ")), "{text}: {error}");
            assert!(error.contains(expected), "{text}: {error}");
        }
        let deep = "not ".repeat(100_000) + "1 < 2";
        assert!(Condition::parse(&deep).unwrap_err().contains("at most 64"));
    }
}
