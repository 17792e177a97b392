//! `Reading`: whether a match of an expression reads a text without steps that are counted.
//!
//! The position of a match moves back by a step, which the library counts, or at the end of a lookaround, which it does
//! not count. A repetition notes a step for each character, which a failing match takes back one by one: a search that
//! reads far has a match there, or counts as many steps. Three kinds of repetitions note none: one within an atomic group
//! or a lookaround, one that the next literal decides, and one whose characters are none that may follow.
//!
//! A repeated lookaround of any length is entered at each character that it reads: nothing bounds that, and it is refused.

use fancy_regex::{Expr, LookAround};
use regex_syntax::hir::{Class, ClassUnicode, HirKind};

use crate::encoding::tokenizer::allowance::Unbounded;

/// Repetitions that are no more than a few.
const FEW: u64 = 64;
/// The most repetitions of repetitions, which may read nothing and end nowhere.
const NESTED: u64 = 10_000;
/// The most characters that one match reads: about a minute.
const READ: u64 = 1 << 36;
/// Steps that a match always has: a run of so many spaces is not rare.
const STEPS: u64 = 1 << 16;
/// What begins a part that moves the position back without a counted step.
const BACK: [&str; 5] = ["(?=", "(?!", "(?<=", "(?<!", "(?~"];

/// How a match reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A few characters, or as many as steps are counted if it fails.
    Counted,
    /// Any number of characters for each step.
    Free,
}

impl Reading {
    /// Looks at an expression.
    ///
    /// # Errors
    /// Returns an error if nothing bounds one match of it.
    pub(super) fn of(text: &str) -> Result<Reading, Unbounded> {
        let mut backs: usize = BACK.iter().map(|back| text.matches(back).count()).sum();
        let mut parts = Parts::default();
        match Expr::parse_tree(text) {
            Ok(tree) => parts.look(&tree.expr, Around { entered: 1, nested: 1 }),
            Err(_) => {
                // The two libraries know different extensions. This lookaround reads one character.
                backs -= text.matches(r"(?!\S)").count();
                parts = Parts { any: true, free: true, unbounded: has_bounds(text), backs: 0 };
            }
        }
        parts.unbounded |= text.contains("\\g<") || text.contains("\\g'");
        if parts.unbounded || parts.backs != backs {
            return Err(Unbounded);
        }
        Ok(if parts.free { Reading::Free } else { Reading::Counted })
    }

    /// Returns the most steps of one match in a text of `rest` bytes.
    pub(super) fn most_steps(self, rest: u64) -> u64 {
        match self {
            Reading::Counted => u64::MAX,
            Reading::Free => (READ / rest.max(1)).max(STEPS),
        }
    }
}

/// True if a repetition may have bounds.
fn has_bounds(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| pair[0] == b'{' && !pair[1].is_ascii_alphabetic())
}

/// How often the repetitions around a part enter it.
#[derive(Debug, Clone, Copy)]
struct Around {
    entered: u64,
    /// Without the repetitions that have no limit: they end where one reads nothing.
    nested: u64,
}

/// What an expression has.
#[derive(Debug, Default)]
struct Parts {
    /// A part that reads any number of characters.
    any: bool,
    /// A part that reads any number of characters without steps that are counted when it fails.
    free: bool,
    /// A part that nothing bounds.
    unbounded: bool,
    /// The number of parts that move the position back.
    backs: usize,
}

impl Parts {
    fn look(&mut self, expr: &Expr, around: Around) {
        match expr {
            Expr::Repeat { child, hi, .. } => self.look_at_repeat(child, *hi, around),
            Expr::LookAround(child, kind) => {
                self.backs += 1;
                let behind = matches!(kind, LookAround::LookBehind | LookAround::LookBehindNeg);
                let inside = Parts::inside(child, around);
                // A lookbehind of any length is tried from each place before.
                self.unbounded |= inside.any && (behind || around.entered > FEW);
                self.add(inside);
            }
            Expr::AtomicGroup(child) => self.add(Parts::inside(child, around)),
            Expr::SubroutineCall(_) | Expr::Absent(_) | Expr::AstNode(..) => self.unbounded = true,
            Expr::Concat(parts) => {
                self.free |= parts.windows(2).any(|pair| notes_no_steps(&pair[0], &pair[1]));
                parts.iter().for_each(|part| self.look(part, around));
            }
            other => other.children_iter().for_each(|part| self.look(part, around)),
        }
    }

    fn look_at_repeat(&mut self, child: &Expr, most: usize, around: Around) {
        let times = most as u64;
        self.any |= times > FEW;
        let mut inside = around;
        if !child.is_leaf_node() || matches!(child, Expr::Empty | Expr::Assertion(_)) {
            inside.entered = around.entered.saturating_mul(times);
            if most != usize::MAX {
                inside.nested = around.nested.saturating_mul(times);
            }
        }
        self.unbounded |= inside.nested > NESTED;
        self.look(child, inside);
    }

    /// Looks at a part that is left without its steps.
    fn inside(child: &Expr, around: Around) -> Parts {
        let mut parts = Parts::default();
        parts.look(child, around);
        parts.free |= parts.any;
        parts
    }

    fn add(&mut self, other: Parts) {
        self.any |= other.any;
        self.free |= other.free;
        self.unbounded |= other.unbounded;
        self.backs += other.backs;
    }
}

/// True if a part is a repetition of any length that may note no steps because of what follows.
fn notes_no_steps(part: &Expr, next: &Expr) -> bool {
    match part {
        Expr::Group(inside) => notes_no_steps(inside, next),
        Expr::Concat(parts) => parts.last().is_some_and(|last| notes_no_steps(last, next)),
        Expr::Alt(parts) => parts.iter().any(|part| notes_no_steps(part, next)),
        Expr::Repeat { child, hi, .. } if *hi as u64 > FEW => match first(next) {
            First::Literal => true,
            First::Class(next) => class(child).is_none_or(|class| is_disjoint(class, &next)),
            First::Unknown => child.is_leaf_node(),
            First::Empty => false,
        },
        _ => false,
    }
}

/// What a part begins with, as far as the library looks.
enum First {
    Literal,
    Class(ClassUnicode),
    /// Nothing that has to be there.
    Empty,
    Unknown,
}

fn first(expr: &Expr) -> First {
    match expr {
        Expr::Literal { .. } | Expr::LiteralBytes { .. } => First::Literal,
        Expr::Delegate { .. } => class(expr).map_or(First::Unknown, First::Class),
        Expr::Repeat { lo: 0, .. } | Expr::Empty | Expr::Assertion(_) | Expr::Alt(_) => {
            First::Empty
        }
        Expr::LookAround(_, LookAround::LookAheadNeg) => First::Empty,
        Expr::Repeat { child, .. } => first(child),
        Expr::Group(child) => first(child),
        Expr::AtomicGroup(child) => first(child),
        Expr::Concat(parts) => parts.first().map_or(First::Empty, first),
        _ => First::Unknown,
    }
}

/// The characters of a part that is one character.
fn class(expr: &Expr) -> Option<ClassUnicode> {
    let Expr::Delegate { inner, casei: false } = expr else { return None };
    match regex_syntax::parse(inner).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        _ => None,
    }
}

fn is_disjoint(mut class: ClassUnicode, other: &ClassUnicode) -> bool {
    class.intersect(other);
    class.ranges().is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::PATTERNS;
    use super::*;

    #[test]
    fn expressions_of_tokenizers_note_their_steps() {
        for pattern in PATTERNS {
            assert_eq!(Reading::of(pattern), Ok(Reading::Counted), "{pattern}");
        }
        // Bloom, DeepSeek V3, Kimi K2, Falcon.
        let others = [
            " ?[^(\\s|[.,!?\u{2026}\u{3002}\u{ff0c}\u{3001}\u{964}\u{6d4}\u{60c}])]+",
            r"[!#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|\s*[\r\n]+|\s+(?!\S)|\s+",
            "[0-9][0-9][0-9]",
        ];
        for pattern in others {
            assert_eq!(Reading::of(pattern), Ok(Reading::Counted), "{pattern}");
        }
        assert_eq!(Reading::of(r"\X|\p{L}+|\s+(?!\S)"), Ok(Reading::Free), "unknown to the parser");
        let counted = [
            "",
            "a",
            " {2,3}",
            r"(?<=\d)(?=(\d{3}){1,9}\b)",
            r"[^\s\d]{1,64}|\R",
            r"(?!\S)",
            r"\s+(?!\S)",
            " {2,}",
            r"(\p{L}+\s?)+",
            r"[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+",
            "[a-c]+[c-e]",
            r"\s+$",
            ".+",
            "(a+)(b|c)",
        ];
        let free = [
            "a++",
            "(?>a+)b",
            r"\d{1,3}(?=(\d{3})+(?!\d))",
            "a*b",
            "(?:a+|c)[b]",
            ".*?x",
            r"\s+\S",
            r"\d+\s",
            r"\s+(?=\n)",
            "(?i:[a-c]+[c-e])",
            "(?:ab)*c",
        ];
        let all = counted.map(|text| (text, Reading::Counted)).into_iter();
        for (text, reading) in all.chain(free.map(|text| (text, Reading::Free))) {
            assert_eq!(Reading::of(text), Ok(reading), "{text}");
        }
    }

    #[test]
    fn expressions_that_nothing_bounds_are_refused() {
        let lookarounds =
            ["(?:(?=.*+)a)*", "(?:a(?!b+))+", "(?:(?=a{70}).){70}", "(?<=a+)b", "(?~ab)"];
        let calls = [r"(?<x>a\g<x>?b)", r"(a)\g'1'", r"(?:(?:(?:\b){999}){999}){999}"];
        let hidden = [r"\X(?=a)", r"\X{999}", r"[]](?=.*)|[]"];
        for text in lookarounds.iter().chain(&calls).chain(&hidden) {
            assert_eq!(Reading::of(text), Err(Unbounded), "{text}");
        }
    }
}
