//! Whole commands, run as people run them, each test a sentence.
//!
//! - `harness`: the language that the sentences are said in: a place with folders, `pack` run in it,
//!   what it said, what stands there afterwards; a naive reader of ustar that knows nothing of ours;
//! - `build`: what `pack build` makes of a folder, option by option;
//! - `names`: names that some reader would misread; `numbers`: numbers in headers that some reader reads
//!   as others; `terminal`: what is printed, frozen;
//! - `kills`: builds killed at random instants; `restart`: builds interrupted, begun again, or asked
//!   for something else; `machines`: `plan`, `run`, `status`, `finalize` on several machines;
//! - `hostile`: names that would steer a terminal; `problems`: each thing that can be wrong in a folder has its kind, under each policy; `at_once`: all
//!   is told in one run, and what is odd is warned of;
//! - `foreign`: GNU tar, bsdtar, Python's tarfile and webdataset read what we wrote;
//! - `faults`: one fault at each system call on a file, and power cuts;
//! - `hard_times`: full disks, disks that can't be written, sources that move under our feet;
//! - `inspect`: `index`, `info`, `ls`, `cat`, `unpack`; `verify`: data sets damaged in every way;
//!   `lies`: tars that were never what they say;
//! - `entry_points`: where decoding of JPEGs can start, in sidecars;
//! - `absent`: sources that are not there; `streams`: output that is lost;
//! - `bench`: what is measured of a data set; `exclude`: samples that a list of keys leaves out;
//! - `machine_trouble`: too few open files, no threads, pipes in the place of shards: the machine's trouble is no sample's fault;
//! - `manuals`: completions and man pages; `doctor`: its report on a machine and its GPUs, which are simulated.
//!
//! Nothing here looks into the crates: what is asserted is what a user or another program sees. (One
//! test of `exclude` is such a user of the reader.)
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::disallowed_methods)]

mod absent;
mod at_once;
mod bench;
mod build;
mod doctor;
mod entry_points;
mod exclude;
mod faults;
mod foreign;
mod hard_times;
mod harness;
mod hostile;
mod inspect;
mod kills;
mod lies;
mod machine_trouble;
mod machines;
mod manuals;
mod names;
mod numbers;
mod problems;
mod restart;
mod streams;
mod terminal;
mod verify;
