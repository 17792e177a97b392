//! The rules: what each kind of problem means, why it matters, how it happens and how to mend it. One table for
//! `pack explain`, SARIF and the page of rules.

mod contents;
mod names;
mod objects;
mod packing;
mod policies;
mod shards;

use tarflume_base::ProblemKind;

/// The page of rules. Each rule is a heading there.
const PAGE: &str = "https://github.com/tarflume/tarflume/blob/main/docs/RULES.md";

/// The texts of a rule beside its meaning, in the words of the command.
#[derive(Debug)]
pub(crate) struct RuleTexts {
    pub(crate) kind: ProblemKind,
    /// Why it matters.
    pub(crate) matters: &'static str,
    /// How it happens.
    pub(crate) happens: &'static str,
    /// How to mend it.
    pub(crate) mend: &'static str,
}

/// Rules with one subject.
#[derive(Debug)]
pub(crate) struct RuleGroup {
    pub(crate) title: &'static str,
    pub(crate) rules: &'static [RuleTexts],
}

/// All rules.
pub(crate) const GROUPS: &[RuleGroup] = &[
    RuleGroup { title: "Names and parts", rules: names::RULES },
    RuleGroup { title: "Contents", rules: contents::RULES },
    RuleGroup { title: "Objects", rules: objects::RULES },
    RuleGroup { title: "Shards, sidecars, manifests", rules: shards::RULES },
    RuleGroup { title: "Policies", rules: policies::RULES },
    RuleGroup { title: "Packing", rules: packing::RULES },
];

/// Returns the texts of a rule.
pub(crate) fn texts(kind: ProblemKind) -> &'static RuleTexts {
    let mut all = GROUPS.iter().flat_map(|group| group.rules);
    all.find(|texts| texts.kind == kind).expect("each kind has a rule")
}

/// Returns the address of a rule on the page of rules.
pub(crate) fn address(kind: ProblemKind) -> String {
    format!("{PAGE}#{kind}")
}

impl RuleTexts {
    /// Returns the rule as plain text.
    pub(crate) fn text(&self) -> String {
        let RuleTexts { kind, matters, happens, mend } = self;
        let meaning = kind.meaning();
        format!(
            "{meaning}\n\nWhy it matters: {matters}\n\nHow it happens: {happens}\n\nHow to mend it: {mend}"
        )
    }

    /// Returns the rule as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let RuleTexts { kind, matters, happens, mend } = self;
        let meaning = kind.meaning();
        format!(
            "{meaning}\n\n- **Why it matters:** {matters}\n- **How it happens:** {happens}\n- **How to mend it:** {mend}"
        )
    }
}

/// Returns the page of all rules.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Rules\n\nEach problem that `pack verify` reports is of one rule. `pack explain RULE` prints its text, SARIF carries it, and \
         [pack.toml](POLICY.md) turns a rule off or makes it a warning by its name. `pack explain --format markdown` writes this page.\n",
    );
    for RuleGroup { title, rules } in GROUPS {
        page.push_str(&format!("\n## {title}\n"));
        if rules.iter().all(|texts| ProblemKind::OF_PACKING.contains(&texts.kind)) {
            page.push_str(
                "\nThese are found by packing alone; `pack verify` does not report them.\n",
            );
        }
        for texts in *rules {
            page.push_str(&format!("\n### {}\n\n{}\n", texts.kind, texts.markdown()));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_one_rule_and_each_text_is_a_sentence() {
        for &kind in ProblemKind::ALL {
            let found = GROUPS.iter().flat_map(|group| group.rules).filter(|one| one.kind == kind);
            assert_eq!(found.count(), 1, "{kind}");
            let RuleTexts { matters, happens, mend, .. } = texts(kind);
            for text in [matters, happens, mend] {
                assert!(text.len() > 20 && text.ends_with('.'), "{kind}: {text}");
            }
        }
    }
}
