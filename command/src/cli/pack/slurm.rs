//! `pack slurm`: plans, and writes the scripts that pack the plan on a Slurm cluster.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tarflume_base::{Exit, Failure, Outcome};
use tarflume_formats::Durability;
use tarflume_formats::files;
use tarflume_formats::output::{OutputFile, OutputKind, contains};
use tarflume_formats::publish::create_folders;
use tarflume_formats::shown::ShowPath;

use super::plan;
use crate::cli::arguments::source_args::SourceArgs;
use crate::cli::arguments::storage;
use crate::cli::features::HelpPart::{Always, With};
use crate::cli::features::{self, Feature, HelpPart};
use crate::signals;
use crate::slurm::Slurm;

/// Plan, and write the scripts that pack on the nodes of a Slurm cluster.
///
/// Plans as `pack plan` does, and writes run.sh (an array with a task for each node), finalize.sh
/// and submit.sh. Tasks that a dead node had, and tasks that ended with exit code 75, are requeued;
/// tasks that are done take over the shards of others. All nodes need access to SRC, DIR and the
/// scripts under the same paths.
#[derive(Debug, clap::Args)]
#[command(after_help = features::text(EXAMPLES))]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    pub(in crate::cli) source: SourceArgs,
    /// Pack on N nodes: the array has N tasks
    #[arg(long, value_name = "N", help_heading = "Slurm", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// Use C processors of each node [default: those that Slurm gives a task]
    #[arg(long, value_name = "C", help_heading = "Slurm", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,
    /// Limit the time of a task, as `sbatch --time`; a task that reaches it goes on in another
    #[arg(long, value_name = "TIME", help_heading = "Slurm")]
    time: Option<String>,
    /// Run the jobs in this partition
    #[arg(long, value_name = "NAME", help_heading = "Slurm")]
    partition: Option<String>,
    /// Charge the jobs to this account
    #[arg(long, value_name = "NAME", help_heading = "Slurm")]
    account: Option<String>,
    /// Give both jobs another option of sbatch, such as --sbatch=--qos=long; repeatable
    #[arg(long, value_name = "OPTION", help_heading = "Slurm", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Write the scripts and their output to this folder [default: DIR-slurm]
    #[arg(long, value_name = "FOLDER", help_heading = "Slurm")]
    scripts: Option<PathBuf>,
    /// Run this `pack` on the nodes [default: this program]
    #[arg(long, value_name = "PATH", help_heading = "Slurm")]
    program: Option<PathBuf>,
    /// Submit the jobs
    #[arg(long, help_heading = "Slurm")]
    submit: bool,
    /// Write to a store that ignores conditional writes: no other command may write there
    #[arg(long, help_heading = "Stores", hide = Feature::Remote.is_missing())]
    single_writer: bool,
}

const EXAMPLES: &[HelpPart] = &[
    Always(
        "\
Examples:
  pack slurm photos/ -o shards/ --nodes 16 --time 04:00:00
  bash shards-slurm/submit.sh                               what --submit does
  pack status shards/                                       show progress",
    ),
    With(
        Feature::Remote,
        "
  pack slurm photos/ -o s3://bucket/photos --nodes 4 --partition cpu --submit",
    ),
];

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let request = args.source.request(false)?;
    let show = args.source.show;
    let bucket = storage::bucket(&args.source.out)?;
    let out = match &bucket {
        Some(_) => args.source.out.clone(),
        None => absolute(&args.source.out)?,
    };
    let scripts = args.scripts(&out)?;
    let slurm = args.slurm(out, scripts)?;
    let planned = plan::plan(bucket, request, args.single_writer, show)?;
    if planned != Exit::Done {
        return Ok(planned);
    }
    write(&slurm)?;
    let submit = slurm.scripts.join("submit.sh");
    if args.submit {
        return submitted(&submit);
    }
    print_result!("submit with `bash {}`", submit.shown());
    Ok(Exit::Done)
}

impl Args {
    /// The folder of the scripts. It is beside the output folder: a data set that is published has no other files.
    fn scripts(&self, out: &Path) -> Result<PathBuf, Failure> {
        if let Some(folder) = &self.scripts {
            return absolute(folder);
        }
        let name = out.file_name().map_or_else(|| "shards".into(), |name| name.to_string_lossy());
        let name = format!("{name}-slurm");
        match out.parent() {
            Some(parent) if parent.is_absolute() => Ok(parent.join(name)),
            _ => absolute(Path::new(&name)),
        }
    }

    fn slurm(&self, out: PathBuf, scripts: PathBuf) -> Result<Slurm, Failure> {
        let named = [("partition", &self.partition), ("account", &self.account)];
        let mut sbatch: Vec<String> = named
            .iter()
            .filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)))
            .collect();
        sbatch.extend(self.sbatch.iter().cloned());
        Ok(Slurm {
            pack: self.program()?,
            out,
            scripts,
            nodes: self.nodes,
            cpus: self.cpus,
            time: self.time.clone(),
            sbatch,
            storage: storage_options()?,
        })
    }

    /// The program that the nodes run.
    fn program(&self) -> Result<PathBuf, Failure> {
        if let Some(program) = &self.program {
            return absolute(program);
        }
        // The command of the Python package is a script that its interpreter runs.
        let words = std::env::args_os().take(2).map(PathBuf::from);
        let candidates =
            std::env::current_exe().into_iter().chain(words.filter(|word| word.is_absolute()));
        candidates.into_iter().find(|path| is_ours(path)).ok_or_else(|| {
            Failure::usage("this program's path is not known; give --program with the path of `pack` on the nodes")
        })
    }
}

fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "pack" || name == "tarflume")
}

/// The options of the store as the scripts contain them.
///
/// # Errors
/// Returns an error for an option that may be a secret: everybody may read the scripts.
fn storage_options() -> Result<Vec<String>, Failure> {
    storage::given().iter().map(|(name, value)| storage_option(name, value)).collect()
}

fn storage_option(name: &str, value: &str) -> Result<String, Failure> {
    if ["secret", "token", "key", "password"].iter().any(|word| name.contains(word)) {
        return Err(Failure::usage(format!(
            "--storage {name}: the scripts would contain a secret; put it into a profile or the environment of \
             the nodes"
        )));
    }
    Ok(format!("{name}={value}"))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|e| Failure::io(e, "find", path))
}

/// A script that this command wrote.
const SCRIPT: OutputKind = OutputKind {
    name: "a script of `pack slurm`",
    is: |bytes| {
        contains(bytes, "# Written by `pack slurm`") || contains(bytes, "# Submits both jobs")
    },
};

fn write(slurm: &Slurm) -> Result<(), Failure> {
    let texts =
        [("run.sh", slurm.run()), ("finalize.sh", slurm.finalize()), ("submit.sh", slurm.submit())];
    let checked = texts.map(|(name, text)| {
        OutputFile::new(&slurm.scripts.join(name), SCRIPT).map(|file| (file, text))
    });
    let scripts = checked.into_iter().collect::<Result<Vec<_>, _>>()?;
    create_folders(&slurm.scripts)?;
    for (file, text) in scripts {
        let path = file.path();
        file.write(text.as_bytes(), Durability::Synced)?;
        let mode = fs::Permissions::from_mode(0o755);
        files::patiently(|| fs::set_permissions(path, mode.clone()))
            .map_err(|e| Failure::io(e, "make executable", path))?;
    }
    Ok(())
}

fn submitted(script: &Path) -> Outcome {
    let ran = Command::new("bash")
        .arg(script)
        .output()
        .map_err(|e| Failure::io(e, "run bash for", script))?;
    let said = String::from_utf8_lossy(&ran.stdout);
    said.lines().for_each(|line| print_result!("{line}"));
    if ran.status.success() {
        return Ok(Exit::Done);
    }
    let why = String::from_utf8_lossy(&ran.stderr);
    Err(Failure::try_again(format!(
        "the jobs were not submitted: {}; mend it and run `bash {}`",
        why.trim(),
        script.shown()
    )))
}
