//! The command `pack`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tarflume_cli::main()
}
