//! Whole commands, run as users run them; each test's name is a sentence.
//!
//! - `harness`: the language of the tests: a place with folders, `pack` run in it, its output, the
//!   resulting files; a naive reader of ustar that shares no code with ours;
//! - `build`: the result of `pack build`, option by option;
//! - `names`: names that some reader would misread; `numbers`: numbers in headers that readers
//!   interpret differently; `terminal`: the exact output;
//! - `kills`: builds killed at random system calls; `restart`: builds interrupted, repeated, or
//!   repeated with other options; `machines`: `plan`, `run`, `status`, `finalize` on several
//!   machines; `stealing`: machines that take over the shards of others; `scan_parts`: a scan by
//!   several machines; `file_lists`: lists of files in place of folders;
//! - `hostile`: names that could control a terminal; `problems`: each fault of a folder has its
//!   kind, under each policy; `all_problems`: one run reports everything, and warns of oddities;
//! - `sources`: NumPy arrays, tars, zips, MDS, LitData and TFRecord as sources;
//! - `foreign`: GNU tar, bsdtar, Python's tarfile and webdataset read the output;
//! - `faults`: one fault at each system call on a file, and power failures;
//! - `disk_failures`: full disks, disks that cannot be written, sources that change during a run;
//! - `irregular`: JPEGs that break rules of their format without losing a pixel;
//! - `dedupe`: images that occur twice or look alike;
//! - `prepare`: images that are resized, turned, converted or made smaller while they are packed;
//! - `diff`: samples that two data sets do not have in common;
//! - `compressed`: shards compressed by zstd;
//! - `exact_numbers`: numbers stay the same on every way in and out; `json_rules`: one grammar of JSON for all;
//! - `expect`: schemas, expectations and reports of `pack verify`;
//! - `reshard`: the samples of existing shards in other shards;
//! - `inspect`: `index`, `info`, `ls`, `cat`, `unpack`; `verify`: data sets damaged in every way;
//!   `false_claims`: tars with false claims; `export`: data sets in the formats of other loaders;
//! - `strips`: checksums of parts of JPEGs, in sidecars;
//! - `entry_points`: where decoding of JPEGs can start, in sidecars;
//! - `layouts`: folders and tables of well-known data sets that would lose classes, splits or rows;
//! - `links`: symbolic links below a source; `bounds`: few bytes that claim or unpack to far more;
//! - `labels`: classes from folders; `splits`: train and val; `append`: a data set that grows;
//!   `arrays`: sources that are not folders;
//! - `join`: tables and annotations beside folders, tables as sources;
//! - `joined_tars`: tars behind the end marker of another tar; `tar_names`: names in tars;
//! - `lost_values`: values of tables that were changed or left out without a word;
//! - `missing_sources`; `streams`: output that cannot be written; `outputs`: files that the user names;
//!   `leftovers`: temporary files of killed commands;
//! - `plan_epoch`: what an epoch asks of a store; `bench`: measurements of a data set; `exclude`: a
//!   list of keys whose samples are left out;
//! - `machine_trouble`: too few open files, no threads, pipes in place of shards: failures of the
//!   machine are not faults of samples;
//! - `tokens`: text packed into blocks of token ids;
//! - `sync`: copies of a data set;
//! - `odd_inputs`: whatever is packed passes every level of `pack verify`; `replaced`: tars that were changed after their
//!   sidecars were made; `remedies`: the command that an error prints is run; `empty_shards`: tars without a file;
//! - `view`: counts and pages of `stats` and `view`; `view_server`: its server (tests/browser has both in a browser);
//! - `misplaced`: places and options that a newcomer names by mistake; `help`: the help of the commands;
//! - `rust_pages`: the Rust blocks of the pages compile;
//! - `manuals`: completions and man pages; `doctor`: the report on a machine and its GPUs, which
//!   are simulated.
//!
//! These tests do not use the crates: they assert what a user or another program sees. (One test of
//! `exclude` uses the reader as a user does, and so does `rust_pages`.)
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::disallowed_methods)]
// Commands are stopped at their system calls, by a tracer that knows these.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod all_problems;
mod append;
mod arrays;
mod bench;
mod bounds;
mod build;
mod columns;
mod compressed;
mod dedupe;
mod diff;
mod disk_failures;
mod doctor;
mod empty_shards;
mod entry_points;
mod exact_numbers;
mod exclude;
mod expect;
mod export;
mod false_claims;
mod faults;
mod file_lists;
mod foreign;
mod harness;
mod help;
mod hostile;
mod inspect;
mod irregular;
mod join;
mod joined_tars;
mod json_rules;
mod kills;
mod labels;
mod layouts;
mod leftovers;
mod links;
mod lost_values;
mod machine_trouble;
mod machines;
mod manifest;
mod manuals;
mod misplaced;
mod missing_sources;
mod names;
mod numbers;
mod odd_inputs;
mod outputs;
mod plan_epoch;
mod prepare;
mod problems;
mod remedies;
mod replaced;
mod reshard;
mod restart;
mod rust_pages;
mod scan_parts;
mod sources;
mod splits;
mod stealing;
mod streams;
mod strips;
mod sync;
mod tar_names;
mod terminal;
mod tokens;
mod verify;
mod view;
mod view_server;
