//! The scripts that pack a plan on the nodes of a Slurm cluster: an array with a task for each node,
//! and a job that publishes. Text alone; submits nothing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A task that ended with "try again" or at its time limit is requeued this many times at most.
const RESTARTS: u32 = 20;
/// Seconds before the time limit at which a task is told to stop.
const NOTICE: u32 = 120;

/// What the scripts contain.
#[derive(Debug)]
pub(crate) struct Slurm {
    /// The program, on a path that all nodes have.
    pub(crate) pack: PathBuf,
    /// The folder or URL of the plan.
    pub(crate) out: PathBuf,
    /// The folder of the scripts and their output.
    pub(crate) scripts: PathBuf,
    /// Tasks of the array.
    pub(crate) nodes: u32,
    /// Processors of a task.
    pub(crate) cpus: Option<u32>,
    /// The time limit of a task, as `sbatch --time` takes it.
    pub(crate) time: Option<String>,
    /// More options of sbatch for both jobs, such as `--partition=cpu`.
    pub(crate) sbatch: Vec<String>,
    /// Options of the store, as `NAME=VALUE`.
    pub(crate) storage: Vec<String>,
}

impl Slurm {
    /// The script of the array.
    pub(crate) fn run(&self) -> String {
        let Slurm { nodes, .. } = self;
        let mut text =
            self.head("packs its share of the shards, then what other tasks have not finished");
        let last = nodes - 1;
        self.option(&mut text, &format!("--array=0-{last}"));
        self.option(&mut text, "--nodes=1");
        self.option(&mut text, "--ntasks=1");
        self.option(&mut text, "--requeue");
        if let Some(cpus) = self.cpus {
            self.option(&mut text, &format!("--cpus-per-task={cpus}"));
        }
        if let Some(time) = &self.time {
            self.option(&mut text, &format!("--time={time}"));
            self.option(&mut text, &format!("--signal=B:USR1@{NOTICE}"));
        }
        self.option(&mut text, &format!("--output={}", self.log("run_%a.out")));
        self.more_options(&mut text);
        let jobs = self.cpus.map_or_else(String::new, |cpus| format!(" --jobs {cpus}"));
        let command = format!(
            "{} run {}{} --rank \"$SLURM_ARRAY_TASK_ID\" --of {nodes} --steal{jobs} --progress none",
            quoted(&self.pack),
            quoted(&self.out),
            self.storage_options()
        );
        let _ = write!(
            text,
            r#"
requeue() {{
    if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {RESTARTS} ]; then
        scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"
    fi
}}

{command} &
pack=$!

# Sent {NOTICE} seconds before the time limit: pack ends at the next sample, and the task goes on later.
limit=
trap 'limit=1; kill -TERM "$pack"' USR1
wait "$pack"; code=$?
while kill -0 "$pack" 2>/dev/null; do wait "$pack"; code=$?; done

# 75: the machine or the network failed; a second attempt may succeed.
if [ -n "$limit" ] || [ "$code" = 75 ]; then requeue; fi
exit "$code"
"#
        );
        text
    }

    /// The script of the job that publishes.
    pub(crate) fn finalize(&self) -> String {
        let mut text = self.head("publishes the data set once all tasks have ended");
        self.option(&mut text, "--ntasks=1");
        self.option(&mut text, "--requeue");
        self.option(&mut text, &format!("--output={}", self.log("finalize.out")));
        self.more_options(&mut text);
        let pack = quoted(&self.pack);
        let out = quoted(&self.out);
        let storage = self.storage_options();
        let _ = write!(text, "\n{pack} status {out}{storage}\n{pack} finalize {out}{storage}\n");
        text
    }

    /// The script that submits both.
    pub(crate) fn submit(&self) -> String {
        let [run, finalize] =
            ["run.sh", "finalize.sh"].map(|name| quoted(&self.scripts.join(name)));
        format!(
            r#"#!/bin/bash
# Submits both jobs and prints their numbers.
set -eu
job=$(sbatch --parsable {run})
job=${{job%%;*}} # without the name of a cluster
echo "run: $job"
# afterany: other tasks pack the shards of a task that has failed for good. finalize checks that all are there.
echo "finalize: $(sbatch --parsable --dependency=afterany:"$job" {finalize})"
"#
        )
    }

    fn head(&self, does: &str) -> String {
        let name =
            self.out.file_name().map_or_else(|| "shards".into(), |name| name.to_string_lossy());
        let word: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
            .collect();
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "#!/bin/bash\n# Written by `pack slurm` {version}: {does}.\n#SBATCH --job-name=pack-{word}\n"
        )
    }

    fn option(&self, text: &mut String, option: &str) {
        let _ = writeln!(text, "#SBATCH {option}");
    }

    fn more_options(&self, text: &mut String) {
        self.option(text, "--open-mode=append");
        for option in &self.sbatch {
            self.option(text, option);
        }
    }

    /// The path of an output file. sbatch splits an option at blanks, unless it is quoted.
    fn log(&self, name: &str) -> String {
        format!("\"{}\"", self.scripts.join(name).display())
    }

    fn storage_options(&self) -> String {
        let quoted =
            self.storage.iter().map(|pair| format!(" --storage {}", quoted(Path::new(pair))));
        quoted.collect()
    }
}

/// Returns a path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slurm() -> Slurm {
        Slurm {
            pack: "/opt/pack".into(),
            out: "/data/it's shards".into(),
            scripts: "/data/scripts".into(),
            nodes: 8,
            cpus: Some(4),
            time: None,
            sbatch: vec!["--partition=cpu".into()],
            storage: Vec::new(),
        }
    }

    #[test]
    fn the_array_has_a_task_for_each_node_and_paths_are_quoted() {
        let run = slurm().run();
        assert!(run.contains("#SBATCH --array=0-7\n"), "{run}");
        assert!(run.contains("'/opt/pack' run '/data/it'\\''s shards' --rank"), "{run}");
        assert!(run.contains("--of 8 --steal --jobs 4"), "{run}");
        assert!(run.contains("#SBATCH --partition=cpu\n"), "{run}");
        assert!(run.contains("--job-name=pack-it-s-shards"), "{run}");
        assert!(!run.contains("--signal"), "{run}");
        let limited = Slurm { time: Some("04:00:00".into()), ..slurm() }.run();
        assert!(limited.contains("#SBATCH --signal=B:USR1@120"), "{limited}");
    }
}
