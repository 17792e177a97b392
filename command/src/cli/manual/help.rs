//! The help of all commands: subcommands in groups, the everyday options of long commands, and examples laid out for the
//! terminal.

mod layout;

use std::fmt::Write as _;

use clap::Command;

use self::layout::{examples, laid_out, list};

/// The subcommands of the help of `pack`, by what they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Everyday", &["build", "append", "verify", "info", "ls", "cat", "view", "bench"]),
    ("Inspect", &["stats", "diff", "dedupe", "policy", "explain", "plan-epoch", "doctor", "cache"]),
    ("Convert", &["reshard", "unpack", "index", "tokens", "export", "sync", "sign", "repair"]),
    ("Clusters", &["scan", "plan", "run", "status", "finalize", "slurm"]),
    ("This program", &["completions", "help"]),
];

/// Options that `-h` shows of commands that pack.
const PACKING: &[&str] = &[
    "out",
    "label",
    "join",
    "split",
    "shard_size",
    "shuffle",
    "require",
    "exclude",
    "on_problem",
    "resize",
    "dry_run",
    "jobs",
    "quiet",
];

/// Those of `pack plan`, which writes nothing else.
const PLANNING: &[&str] = &[
    "out",
    "label",
    "join",
    "split",
    "shard_size",
    "shuffle",
    "require",
    "exclude",
    "on_problem",
    "resize",
    "jobs",
    "quiet",
];

/// The options that `-h` shows of commands with many: their ids. `--help` shows all.
const EVERYDAY: [(&str, &[&str]); 9] = [
    ("build", PACKING),
    ("plan", PLANNING),
    ("scan", &["out", "subtree", "label", "join", "require", "exclude", "jobs", "quiet"]),
    (
        "slurm",
        &[
            "out",
            "nodes",
            "cpus",
            "time",
            "partition",
            "submit",
            "label",
            "join",
            "split",
            "shard_size",
            "shuffle",
            "require",
            "on_problem",
            "resize",
        ],
    ),
    (
        "verify",
        &[
            "level",
            "format",
            "report",
            "require",
            "profile",
            "policy",
            "baseline",
            "write_baseline",
            "expect",
            "write_expect",
            "slice",
            "time_budget",
            "cache",
            "changed_since",
            "jobs",
            "quiet",
        ],
    ),
    ("append", &["out", "join", "exclude", "on_problem", "plan", "dry_run", "jobs", "quiet"]),
    (
        "reshard",
        &[
            "out",
            "shard_size",
            "shards",
            "shuffle",
            "filters",
            "keys",
            "exclude",
            "parts",
            "drop",
            "split",
            "resize",
            "dry_run",
            "jobs",
            "quiet",
        ],
    ),
    (
        "tokens",
        &[
            "out",
            "tokenizer",
            "length",
            "eos",
            "pack",
            "condition",
            "text_field",
            "text_part",
            "cache",
            "shard_size",
            "jobs",
            "quiet",
        ],
    ),
    (
        "plan-epoch",
        &[
            "world_size",
            "batch_size",
            "step_ms",
            "shuffle",
            "parts",
            "bandwidth",
            "split",
            "price",
            "format",
        ],
    ),
];

/// Examples that `-h` shows of these commands.
const FEW: usize = 5;

/// Returns the command line of the program with its help.
pub(in crate::cli) fn with_help(command: Command) -> Command {
    let width = layout::width();
    let command = one(command, width).mut_subcommands(|sub| one(sub, width));
    let groups = groups(&command, width);
    command
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{}\n{{options}}{{after-help}}",
            heading("Options")
        ))
}

/// Returns a command with its help, and those below it.
fn one(command: Command, width: usize) -> Command {
    let command = match command.get_name() {
        "pack" => command, // its subcommands are visited by the caller
        _ => command.mut_subcommands(|sub| one(sub, width)),
    };
    let Some(text) = command.get_after_help().map(ToString::to_string) else {
        return command;
    };
    let all = laid_out(&text, width);
    let everyday = EVERYDAY.iter().find(|(name, _)| *name == command.get_name());
    let Some((name, everyday)) = everyday else { return command.after_help(all) };
    let few = laid_out(&examples(&text, FEW), width);
    command
        .mut_args(|arg| {
            let hides = !arg.is_positional() && !everyday.contains(&arg.get_id().as_str());
            arg.hide_short_help(hides)
        })
        .after_help(format!("{few}\n\nMore options: pack {name} --help"))
        .after_long_help(all)
}

/// Returns the subcommands in their groups.
fn groups(command: &Command, width: usize) -> String {
    let mut text = String::new();
    let longest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max();
    let column = longest.unwrap_or(0) + 4;
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{}", heading(title)); // writing to memory does not fail
        for name in names {
            let about = match *name {
                "help" => "Print the help of a command".to_string(),
                name => match command.find_subcommand(name).and_then(Command::get_about) {
                    Some(about) => about.to_string(),
                    None => continue, // of a feature that this program was built without
                },
            };
            text += &list(name, &about, column, width);
        }
        text.push('\n');
    }
    text
}

/// Returns the heading of a section as clap shows one.
fn heading(title: &str) -> String {
    let style = *clap::builder::Styles::styled().get_header();
    format!("{style}{title}:{style:#}")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;
    use crate::cli::features::tests::{ALL, without};

    fn of(name: &str) -> Command {
        let mut command = with_help(Cli::command());
        command.build();
        command.find_subcommand(name).expect("a subcommand").clone()
    }

    /// Counts the options of a help; lines of their texts are further to the right.
    fn options(help: &str) -> usize {
        let before_examples = help.lines().take_while(|line| !line.starts_with("Examples"));
        before_examples
            .filter(|line| line.starts_with("  -") || line.starts_with("      --"))
            .count()
    }

    #[test]
    fn each_subcommand_is_in_one_group() {
        let command = with_help(Cli::command());
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&sub.get_name()));
            assert_eq!(groups.count(), 1, "{}", sub.get_name());
        }
        let abouts = groups(&command, 100);
        assert!(!abouts.contains(['{', '}']), "clap would take it for a tag: {abouts}");
    }

    #[test]
    fn the_everyday_options_exist_and_are_all_that_the_short_help_shows() {
        for (name, everyday) in EVERYDAY {
            let command = of(name);
            for id in everyday {
                let known = command.get_arguments().any(|arg| arg.get_id() == id);
                assert!(known, "{name} has no {id}");
            }
            let short = command.clone().render_help().to_string();
            let options = options(&short);
            let wanted = everyday.len() + 1; // and --help
            assert_eq!(options, wanted, "{name}: {short}");
            assert!(short.contains(&format!("More options: pack {name} --help")), "{short}");
        }
    }

    #[test]
    fn no_other_command_has_a_long_short_help() {
        for command in with_help(Cli::command()).get_subcommands() {
            let short = of(command.get_name()).render_help().to_string();
            let options = options(&short);
            assert!(options <= 17, "{}: {options} options", command.get_name());
        }
    }

    #[test]
    fn what_needs_a_missing_feature_is_in_no_help() {
        for sub in Cli::command().get_subcommands().filter(|sub| sub.get_name() != "cache") {
            let mut command = without(&ALL, || with_help(Cli::command()));
            command.build();
            let mut found = command.find_subcommand(sub.get_name()).expect("a subcommand").clone();
            for help in [found.render_help().to_string(), found.render_long_help().to_string()] {
                for word in
                    ["URL", "s3://", "hdf5", ".parquet", "parquet:", "--tokenizer", "--schema"]
                {
                    // Values of options are hidden at their types, which are built with the feature.
                    let lines = help.lines().filter(|line| !line.trim_start().starts_with("- "));
                    let line = lines.into_iter().find(|line| line.contains(word));
                    assert!(line.is_none(), "{}: {}", sub.get_name(), line.unwrap_or_default());
                }
            }
        }
        let top = without(&ALL, || with_help(Cli::command())).render_help().to_string();
        assert!(!top.contains("s3://") && !top.contains("pack cache"), "{top}");
    }

    #[test]
    fn only_the_options_of_images_are_under_images() {
        for name in ["build", "plan", "scan", "slurm", "reshard", "append"] {
            let command = of(name);
            let under = command.get_arguments().filter(|a| a.get_help_heading() == Some("Images"));
            for arg in under {
                let id = arg.get_id().as_str();
                let images = [
                    "resize",
                    "quality",
                    "orient",
                    "to_jpeg",
                    "optimize",
                    "baseline",
                    "strip_metadata",
                    "keep_original_size",
                ];
                assert!(images.contains(&id), "{name}: {id}");
            }
        }
    }
}
