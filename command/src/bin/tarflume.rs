//! The command `tarflume`: `pack` under a name that no other tool has.

use std::process::ExitCode;

fn main() -> ExitCode {
    tarflume_cli::main()
}
