//! Operations of tarflume beside those of other crates, in one process and on one thread. Prints Markdown; `crates.py`
//! writes the pictures and what Pillow or torchvision makes of them, and puts the machine above the table.
//!
//! - `work`: what a competitor is; `pictures`: the inputs and the expected results;
//! - `ours`, `resizing`, `image_crates`, `kornia`: the competitors;
//! - `rounds`: measuring; `report`: the table; `operations`: all operations of tarflume, for `operations.py`.

mod image_crates;
mod kornia;
mod operations;
mod ours;
mod pictures;
mod report;
mod resizing;
mod rounds;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use pictures::Pictures;
use work::Competitor;

const USAGE: &str = "tarflume-bench-transforms FOLDER [ROUNDS | operations]
  FOLDER has what crates.py writes. ROUNDS (21) are measured after one that is not.
  operations: the operations of tarflume alone, once: FOLDER has what operations.py writes.";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().map(PathBuf::from).ok_or(USAGE)?;
    let rounds = match words.next().as_deref() {
        None => 21,
        Some("operations") => {
            println!("{}", operations::measure(&folder, &Pictures::inputs(&folder)?)?);
            return Ok(());
        }
        Some(word) => word.parse::<usize>().map_err(|_| USAGE)?.max(1),
    };
    // kornia-rs divides its work among the threads of rayon.
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build_global()
        .map_err(|why| why.to_string())?;
    let pictures = Pictures::read(&folder)?;
    let mut all: Vec<Competitor> = ours::competitors(&pictures);
    all.extend(resizing::competitors(&pictures));
    all.extend(image_crates::competitors(&pictures));
    all.extend(kornia::competitors(&pictures));
    let times = rounds::measure(&mut all, rounds);
    print!("{}", report::table(&mut all, &times, &pictures)?);
    Ok(())
}
