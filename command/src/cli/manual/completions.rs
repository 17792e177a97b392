//! `pack completions`: prints a completion script for a shell.

use clap_complete::{Shell, generate};
use tarflume_base::{Exit, Outcome};

use crate::cli::output::out;

const AFTER: &str = "\
Examples:
  pack completions bash > ~/.local/share/bash-completion/completions/pack
  pack completions zsh > ~/.zfunc/_pack
  pack completions fish > ~/.config/fish/completions/pack.fish";

/// Print a script that completes the command line in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Shell that reads the script
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes the script for the command line `cli` of the program `name`.
pub(in crate::cli) fn run(args: &Args, mut cli: clap::Command, name: &str) -> Outcome {
    let mut script = Vec::new();
    generate(args.shell, &mut cli, name, &mut script);
    out::printed(out::whole(&script))?;
    Ok(Exit::Done)
}
