//! `Absent`: what a condition reads and no sample has, for the summary. A misspelt field makes a condition that selects
//! nothing, or everything behind a `not`.

use tarflume_formats::json::Value;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::shown;

use super::{Condition, Filter, Filterable, Operand};

/// Names that a line lists.
const NAMES: usize = 12;

/// An operand that a sample lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// Its number in the conditions.
    operand: usize,
    /// What the sample has instead.
    instead: String,
}

/// The operands that no sample had so far.
#[derive(Debug, Default)]
pub struct Absent {
    /// `None` before the first sample.
    lacks: Option<Vec<Lack>>,
    /// The key of the first sample.
    first: String,
}

/// An operand of a condition.
struct Read<'f> {
    operand: &'f Operand,
    /// True if the condition is about its existence alone: `has EXT`, `json:/FIELD`.
    is_question: bool,
}

/// Returns the operands of all conditions, in their order.
fn operands(filters: &[Filter]) -> Vec<Read<'_>> {
    let mut all = Vec::new();
    for filter in filters {
        filter.condition.visit(&mut |condition, operand| {
            all.push(Read { operand, is_question: matches!(condition, Condition::Exists(_)) });
        });
    }
    all
}

/// Returns the operands of the conditions that a sample lacks.
pub fn lacks(filters: &[Filter], facts: &dyn Filterable) -> Vec<Lack> {
    let mut lacks = Vec::new();
    for (number, Read { operand, .. }) in operands(filters).into_iter().enumerate() {
        if !operand.with(facts, |_| true) {
            lacks.push(Lack { operand: number, instead: operand.instead(facts) });
        }
    }
    lacks
}

impl Absent {
    /// Takes what a sample lacks.
    pub fn meet(&mut self, key: &[u8], lacks: Vec<Lack>) {
        match &mut self.lacks {
            Some(all) => {
                all.retain(|one| lacks.iter().any(|other| other.operand == one.operand));
            }
            none => {
                *none = Some(lacks);
                self.first = shown::bytes(key);
            }
        }
    }

    /// Returns a line for each operand that no sample had. A question whether there is one is a mistake only if it
    /// selects nothing: `selects_none` states that.
    pub(crate) fn notes(&self, filters: &[Filter], selects_none: bool) -> Vec<Message> {
        let operands = operands(filters);
        let mut notes: Vec<Message> = Vec::new();
        for Lack { operand, instead } in self.lacks.iter().flatten() {
            let Read { operand, is_question } = &operands[*operand];
            let note = message!("no sample has {}, which {where_option} reads; the first, {}, has {instead}", operand.text(), self.first; where_option = Name::Where);
            if (selects_none || !is_question) && !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }
}

impl Operand {
    /// Returns the operand as conditions write it.
    fn text(&self) -> String {
        match self {
            Operand::Key => "key".into(),
            Operand::Size(ext) | Operand::Part(ext) => format!("the part {}", shown::text(ext)),
            Operand::Field(ext, pointer) => format!("{ext}:{}", shown::text(pointer)),
        }
    }

    /// Returns what a sample that lacks this has: the fields beside it, or its parts.
    fn instead(&self, facts: &dyn Filterable) -> String {
        match self {
            Operand::Field(ext, pointer) if let Some(json) = facts.json(ext) => {
                fields(ext, json, pointer)
            }
            _ => {
                let parts = facts.exts().into_iter().map(shown::bytes).collect();
                format!("the parts {}", listed(parts))
            }
        }
    }
}

/// Returns the fields beside `pointer` as conditions write them.
fn fields(ext: &str, json: &Value, pointer: &str) -> String {
    match names_beside(json, pointer) {
        Some(names) => listed(names.iter().map(|name| format!("{ext}:{name}")).collect()),
        None => format!("no JSON object with fields in the part {ext}"),
    }
}

/// Returns the pointers of the fields of the object in which `pointer` should end, or of the one around it; `None` if
/// there are none.
pub fn beside(json: &Value, pointer: &str) -> Option<String> {
    names_beside(json, pointer).map(listed)
}

fn names_beside(json: &Value, pointer: &str) -> Option<Vec<String>> {
    let mut parent = pointer;
    while let Some((above, _)) = parent.rsplit_once('/') {
        parent = above;
        if let Some(Value::Object(members)) = json.pointer(parent) {
            return (!members.is_empty())
                .then(|| members.keys().map(|name| pointer_of(parent, name)).collect());
        }
    }
    None
}

/// Returns the pointer of a field of the object at `parent`.
fn pointer_of(parent: &str, name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    shown::text(&format!("{parent}/{name}")).into_owned()
}

fn listed(mut names: Vec<String>) -> String {
    if names.len() > NAMES {
        names.truncate(NAMES);
        names.push("...".into());
    }
    names.join(", ")
}
