//! `pack explain`: says what a rule is about.

use tarflume_base::{Exit, Failure, Outcome, ProblemKind};
use tarflume_verify::policy;

use crate::reports::rules::{self, GROUPS, RuleGroup};

const AFTER: &str = "\
Examples:
  pack explain                               all rules, one a line
  pack explain missing-part                  why it matters, how it happens, how to mend it
  pack explain bad-jpeg checksum
  pack explain --format markdown             the page docs/RULES.md

A rule is the kind of a problem. pack.toml turns it off or makes it a warning; `pack verify --select` and
--ignore choose rules for one run.

Exit codes: 0 done   2 there is no such rule";

/// Explain the rules that a data set is checked against
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Rules by name [default: a list of all]
    #[arg(value_name = "RULE", value_parser = known)]
    rules: Vec<ProblemKind>,
    /// Print text, or Markdown
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

/// The form of the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Plain text
    Text,
    /// Markdown
    Markdown,
}

/// Returns the rule with a name, also of those that only packing has.
fn known(name: &str) -> Result<ProblemKind, String> {
    ProblemKind::from_name(name).map_or_else(|| policy::rule(name), Ok)
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    match args.format {
        Form::Text if args.rules.is_empty() => list(),
        Form::Markdown if args.rules.is_empty() => print_result!("{}", rules::page().trim_end()),
        form => {
            for (number, rule) in args.rules.iter().enumerate() {
                if number > 0 {
                    print_result!("");
                }
                explain(*rule, form)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn list() {
    for (number, RuleGroup { title, rules }) in GROUPS.iter().enumerate() {
        if number > 0 {
            print_result!("");
        }
        print_result!("{title}:");
        for texts in *rules {
            print_result!("  {:<18} {}", texts.kind, texts.kind.meaning());
        }
    }
}

fn explain(rule: ProblemKind, form: Form) -> Result<(), Failure> {
    let texts = rules::texts(rule);
    match form {
        Form::Text => print_result!("{rule}: {}", texts.text()),
        Form::Markdown => print_result!("### {rule}\n\n{}", texts.markdown()),
    }
    Ok(())
}
