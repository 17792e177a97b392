//! The command `pack`: parse, run, print the failure, end with its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    tarflume_packer::cli::main()
}
