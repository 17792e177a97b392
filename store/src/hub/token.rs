//! The token of the Hub: found where the Hub's own tools keep it. Reads a file; sends nothing.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::errors::error::{Error, ErrorKind, Result};

/// A secret. It is not shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// The given token, or that of `HF_TOKEN`, or that of the file that `hf auth login` writes.
    /// `variable` looks up the environment.
    pub(crate) fn find(
        given: Option<String>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Token>> {
        if let Some(token) = given.as_deref().and_then(Token::of) {
            return Ok(Some(token));
        }
        let disabled = variable("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_some_and(|value| {
            ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str())
        });
        if disabled {
            return Ok(None);
        }
        match variable("HF_TOKEN").as_deref().and_then(Token::of) {
            Some(token) => Ok(Some(token)),
            None => file(variable).map_or(Ok(None), |path| read(&path)),
        }
    }

    fn of(text: &str) -> Option<Token> {
        let text = text.trim();
        (!text.is_empty()).then(|| Token(text.to_string()))
    }

    /// The secret itself, for the header of a request.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

/// The path of the file of the token.
fn file(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    if let Some(path) = variable("HF_TOKEN_PATH") {
        return Some(path.into());
    }
    if let Some(folder) = variable("HF_HOME") {
        return Some(Path::new(&folder).join("token"));
    }
    let caches = match variable("XDG_CACHE_HOME") {
        Some(caches) => PathBuf::from(caches),
        None => Path::new(&variable("HOME")?).join(".cache"),
    };
    Some(caches.join("huggingface").join("token"))
}

fn read(path: &Path) -> Result<Option<Token>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Token::of(&text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => {
            let text = format!("cannot read the token of the Hub: {e}; set HF_TOKEN");
            Err(Error::new(ErrorKind::Usage, &path.to_string_lossy(), text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(given: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        };
        let token = Token::find(given.map(str::to_string), &variable).unwrap();
        token.map(|token| token.secret().to_string())
    }

    #[test]
    fn a_token_is_found_where_the_tools_of_the_hub_keep_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let usual = home.join(".cache/huggingface");
        std::fs::create_dir_all(&usual).unwrap();
        std::fs::write(usual.join("token"), "of-login\n").unwrap();
        std::fs::write(folder.path().join("token"), "of-folder").unwrap();
        std::fs::write(folder.path().join("other"), "of-path").unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
        let home = at("home");
        let hub = at("");
        let other = at("other");
        let mut variables = vec![("HOME", home.as_str())];
        assert_eq!(found(None, &variables).as_deref(), Some("of-login"));
        variables.push(("HF_HOME", &hub));
        assert_eq!(found(None, &variables).as_deref(), Some("of-folder"));
        variables.push(("HF_TOKEN_PATH", &other));
        assert_eq!(found(None, &variables).as_deref(), Some("of-path"));
        variables.push(("HF_TOKEN", " of-variable\n"));
        assert_eq!(found(None, &variables).as_deref(), Some("of-variable"));
        assert_eq!(found(Some("of-option"), &variables).as_deref(), Some("of-option"));
        variables.push(("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"));
        assert_eq!(found(None, &variables), None);
        assert_eq!(found(Some("of-option"), &variables).as_deref(), Some("of-option"));
        assert_eq!(found(None, &[("HOME", "/nonexistent")]), None);
    }

    #[test]
    fn a_token_is_not_shown() {
        let token = Token::find(Some("hf_secret".into()), &|_| None).unwrap();
        assert_eq!(format!("{token:?}"), "Some(Token)");
    }
}
