//! `Call`: a task that a message advises, as a command of a shell or a call of Python.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::face::Face;
use super::path_text;
use super::paths;
use super::quote::{in_quotes, python_text, shell_text};
use super::setting::{Setting, Value};

macro_rules! tasks {
    ($($task:ident $command:literal $($function:literal)?;)*) => {
        /// A task of the program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "`pack help` has them, word for word")]
        pub enum Task {
            $($task,)*
        }

        impl Task {
            /// Returns the subcommand of `pack`.
            pub fn command(self) -> &'static str {
                match self {
                    $(Task::$task => $command,)*
                }
            }

            /// Returns the function of Python; `None` if the program alone has the task.
            pub fn function(self) -> Option<&'static str> {
                match self {
                    $(Task::$task => [$(Some($function),)? None][0],)*
                }
            }
        }
    };
}

tasks! {
    Append "append" "tarflume.pack.append";
    Build "build" "tarflume.pack.build";
    Diff "diff";
    Export "export" "tarflume.pack.export";
    Index "index" "tarflume.pack.index";
    Info "info";
    Ls "ls";
    Plan "plan";
    Reshard "reshard" "tarflume.pack.reshard";
    Repair "repair" "tarflume.pack.repair";
    Run "run";
    Scan "scan";
    Sign "sign" "tarflume.pack.sign";
    Status "status";
    Sync "sync";
    Tokens "tokens" "tarflume.pack.tokens";
    Unpack "unpack";
    Verify "verify" "tarflume.pack.verify";
}

/// An argument that has no name, or the one that has `-o`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Place {
    /// A URL or a source.
    Given(String),
    /// A path.
    #[serde(with = "path_text")]
    Path(PathBuf),
    /// A URL or a source, in quotes even if a shell does not need them.
    Quoted(String),
    /// A word that stands for what the user knows, such as `DIR`.
    Stand(Cow<'static, str>),
}

impl Place {
    fn in_shell(&self) -> String {
        match self {
            Place::Given(text) => shell_text(text),
            Place::Path(path) => paths::in_shell(path),
            Place::Quoted(text) => in_quotes(text),
            Place::Stand(word) => word.clone().into_owned(),
        }
    }

    fn in_python(&self) -> String {
        match self {
            Place::Given(text) | Place::Quoted(text) => python_text(text),
            Place::Path(path) => paths::in_python(path),
            Place::Stand(word) => word.clone().into_owned(),
        }
    }
}

/// A task with its arguments.
///
/// ```
/// use tarflume_formats::message::{Call, Face, Name, Task};
///
/// let call = Call::of(Task::Index).with(Name::Force.on()).on("my set");
/// assert_eq!(call.in_face(Face::Command), "pack index --force 'my set'");
/// assert_eq!(call.in_face(Face::Python), r#"tarflume.pack.index("my set", force=True)"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    task: Task,
    /// In the order in which a command has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    settings: Vec<Setting>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    on: Vec<Place>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    out: Option<Place>,
}

impl Call {
    /// Creates a call without arguments: the name of the task.
    pub fn of(task: Task) -> Call {
        Call { task, settings: Vec::new(), on: Vec::new(), out: None }
    }

    pub(super) fn map_paths(&mut self, mapped: &impl Fn(&Path) -> Option<PathBuf>) {
        for setting in &mut self.settings {
            setting.map_paths(mapped);
        }
        for place in self.on.iter_mut().chain(&mut self.out) {
            if let Place::Path(path) = place {
                paths::map(path, mapped);
            }
        }
    }

    /// Adds a setting.
    #[must_use]
    pub fn with(mut self, setting: impl Into<Setting>) -> Call {
        self.settings.push(setting.into());
        self
    }

    /// Adds what the task works on.
    #[must_use]
    pub fn on(mut self, place: impl Into<String>) -> Call {
        self.on.push(Place::Given(place.into()));
        self
    }

    /// Adds the path that the task works on.
    #[must_use]
    pub fn on_path(mut self, path: impl AsRef<Path>) -> Call {
        self.on.push(Place::Path(path.as_ref().to_path_buf()));
        self
    }

    /// As [`Call::on`], in quotes.
    #[must_use]
    pub fn on_quoted(mut self, place: impl Into<String>) -> Call {
        self.on.push(Place::Quoted(place.into()));
        self
    }

    /// Adds a word that stands for what the task works on: `DIR`.
    #[must_use]
    pub fn on_stand(mut self, word: &'static str) -> Call {
        self.on.push(Place::Stand(word.into()));
        self
    }

    /// Sets the folder that the task makes.
    #[must_use]
    pub fn out(mut self, place: impl Into<String>) -> Call {
        self.out = Some(Place::Given(place.into()));
        self
    }

    /// Sets the path of the folder that the task makes.
    #[must_use]
    pub fn out_path(mut self, path: impl AsRef<Path>) -> Call {
        self.out = Some(Place::Path(path.as_ref().to_path_buf()));
        self
    }

    /// Sets a word that stands for the folder that the task makes.
    #[must_use]
    pub fn out_stand(mut self, word: &'static str) -> Call {
        self.out = Some(Place::Stand(word.into()));
        self
    }

    /// Returns the call as one face writes it. A task or a setting that Python lacks makes it a command there, too.
    pub fn in_face(&self, face: Face) -> String {
        let has_keywords = self.settings.iter().all(|setting| setting.name.has_keyword());
        match (face, self.task.function()) {
            (Face::Python, Some(function)) if has_keywords => self.in_python(function),
            _ => self.in_shell(),
        }
    }

    /// The settings follow the task if there is no new folder, and are the last otherwise.
    fn in_shell(&self) -> String {
        let mut words = vec!["pack".to_string(), self.task.command().to_string()];
        let settings = self.settings.iter().map(|setting| setting.in_face(Face::Command));
        let on = self.on.iter().map(Place::in_shell);
        match &self.out {
            Some(out) => {
                words.extend(on);
                words.extend(["-o".to_string(), out.in_shell()]);
                words.extend(settings);
            }
            None => {
                words.extend(settings);
                words.extend(on);
            }
        }
        words.join(" ")
    }

    fn in_python(&self, function: &str) -> String {
        let is_bare = self.on.is_empty() && self.out.is_none();
        let is_named = self.settings.iter().all(|setting| setting.value == Value::Unsaid);
        if is_bare && self.settings.is_empty() {
            return function.into();
        }
        if is_bare && is_named {
            let names: Vec<String> =
                self.settings.iter().map(|setting| setting.in_face(Face::Python)).collect();
            return format!("{function}, {}", names.join(", "));
        }
        let places = self.on.iter().chain(&self.out).map(Place::in_python);
        let settings = self.settings.iter().map(|setting| setting.in_face(Face::Python));
        format!("{function}({})", places.chain(settings).collect::<Vec<_>>().join(", "))
    }
}
