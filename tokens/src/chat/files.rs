//! The files of a chat template: the template itself, others by their names, and the special tokens that it names.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use crate::files::given;

/// The settings of a tokenizer.
const CONFIG: &str = "tokenizer_config.json";
/// The file with the template alone. It counts before [`CONFIG`].
const OWN: &str = "chat_template.jinja";
/// The folder of other templates.
const OTHERS: &str = "additional_chat_templates";
/// The names of special tokens, which are variables of a template.
pub(super) const TOKENS: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// The name of the template that is used if no other is asked for.
pub(super) const DEFAULT: &str = "default";

/// What the files say.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Where the template is.
    pub(super) path: PathBuf,
    /// Templates by their names.
    pub(super) templates: Vec<(String, String)>,
    /// The special tokens that are set.
    pub(super) tokens: Vec<(&'static str, String)>,
    /// Whether a file with special tokens was found.
    pub(super) has_config: bool,
}

/// Reads the template that is given, or the one beside the tokenizer.
///
/// # Errors
/// Returns an error if there is no template, if a file is damaged, or if the operating system refuses.
pub(super) fn find(given: Option<&Path>, tokenizer: &Path) -> Result<Found, Failure> {
    let beside = tokenizer.parent().unwrap_or(Path::new(""));
    let folder = match given {
        None => beside,
        Some(path) if files::is_folder(path)? => path,
        Some(path) => return of_file(path, beside),
    };
    let mut found = Found { path: folder.join(OWN), ..Found::default() };
    let config = config(&folder.join(CONFIG))?;
    let own = text(&found.path)?;
    found.add_tokens(config.as_ref());
    found.templates = match own {
        Some(own) => vec![(DEFAULT.into(), own)],
        None => {
            found.path = folder.join(CONFIG);
            templates(config.as_ref(), &found.path)?
        }
    };
    found.add_others(&folder.join(OTHERS))?;
    if found.templates.is_empty() {
        return Err(Failure::usage(message!(
            "{folder} has no chat template: neither {OWN} nor one in {CONFIG}; give {chat_template}";
            folder = folder,
            chat_template = Name::ChatTemplate.is("FILE")
        ))
        .with_file(folder));
    }
    Ok(found)
}

/// Reads a file: JSON with a template, or the template.
fn of_file(path: &Path, beside: &Path) -> Result<Found, Failure> {
    let mut found = Found { path: path.into(), ..Found::default() };
    if path.extension().is_some_and(|own| own == "json") {
        let settings = config(path)?.ok_or_else(|| missing(path))?;
        found.templates = templates(Some(&settings), path)?;
        let is_config = path.file_name().is_some_and(|name| name == CONFIG);
        let other = if is_config { None } else { config(&path.with_file_name(CONFIG))? };
        found.add_tokens(other.as_ref().or(Some(&settings)));
        // As in transformers, the file with the template alone counts before the settings.
        let own = path.with_file_name(OWN);
        if let (true, Some(text)) = (is_config, text(&own)?) {
            found.templates = vec![(DEFAULT.into(), text)];
            found.path = own;
        }
        if found.templates.is_empty() {
            return Err(Failure::usage("it has no chat_template").in_file(path));
        }
        return Ok(found);
    }
    let own = text(path)?.ok_or_else(|| missing(path))?;
    found.templates = vec![(DEFAULT.into(), own)];
    let near = config(&path.with_file_name(CONFIG))?;
    let other = if near.is_some() { None } else { config(&beside.join(CONFIG))? };
    found.add_tokens(near.or(other).as_ref());
    Ok(found)
}

fn missing(path: &Path) -> Failure {
    Failure::usage("no such file").in_file(path)
}

/// Returns the text of a file; `None` if there is no such file.
fn text(path: &Path) -> Result<Option<String>, Failure> {
    match files::read_whole(path, "read the chat template") {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Failure::bad_data("this chat template is not UTF-8").in_file(path)),
        },
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(given::failure(error)),
    }
}

/// Returns the settings in a file; `None` if there is no such file.
fn config(path: &Path) -> Result<Option<Value>, Failure> {
    let Some(text) = text(path)? else { return Ok(None) };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|e| Failure::bad_data(format!("it is no JSON: {e}")).in_file(path))
}

/// Returns the name and the text of a template of a list.
fn named_template(own: &Value) -> Option<(String, String)> {
    Some((own["name"].as_str()?.to_string(), own["template"].as_str()?.to_string()))
}

/// Returns the templates in settings: one, or a list with names.
fn templates(settings: Option<&Value>, path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let template = settings.map_or(&Value::Null, |own| &own["chat_template"]);
    let found = match template {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![(DEFAULT.into(), text.clone())]),
        Value::Array(list) => list.iter().map(named_template).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, own)| Some((name.clone(), own.as_str()?.to_string()))).collect()
        }
        _ => None,
    };
    found.ok_or_else(|| {
        Failure::bad_data("its chat_template is neither a text nor a list of names and templates")
            .in_file(path)
    })
}

impl Found {
    fn add_tokens(&mut self, config: Option<&Value>) {
        self.has_config = config.is_some();
        let Some(config) = config else { return };
        for name in TOKENS {
            let own = &config[name];
            let token = own.as_str().or_else(|| own["content"].as_str());
            self.tokens.extend(token.map(|token| (name, token.to_string())));
        }
    }

    /// Adds the templates of a folder, by the names of their files.
    fn add_others(&mut self, folder: &Path) -> Result<(), Failure> {
        let listed = match std::fs::read_dir(folder) {
            Ok(listed) => listed.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => Err(e),
        };
        let mut paths: Vec<PathBuf> =
            listed.map_err(|e| Failure::from(tarflume_formats::Error::io(e, "list", folder)))?;
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|own| own == "jinja")) {
            let stem = path.file_stem().expect("a file with an extension has a stem");
            let name = stem.to_string_lossy().into_owned();
            if let Some(text) = text(path)? {
                self.templates.retain(|(own, _)| *own != name);
                self.templates.push((name, text));
            }
        }
        Ok(())
    }
}
