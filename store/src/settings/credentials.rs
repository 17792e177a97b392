//! Credentials for S3 beyond those that `object_store` finds: profiles of `~/.aws`, and
//! `credential_process`.
//!
//! Reads files and runs the user's own command; sends nothing.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::{AmazonS3Builder, AwsCredential};
use serde::Deserialize;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::errors::part::ErrorPart;
use crate::settings::options::{Options, variable};

/// Credentials are renewed so long before they expire.
const EARLY: Duration = Duration::from_secs(300);
/// Of a command that does not say when its credentials expire, they are used for so long.
const UNDATED: Duration = Duration::from_secs(900);

/// The values of one profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    name: String,
    values: BTreeMap<String, String>,
}

impl Profile {
    /// Returns the profile that the options or the environment name, else the default profile;
    /// `None` if there is no default.
    pub(crate) fn chosen(options: &Options) -> Result<Option<Profile>> {
        let named = options.get("profile", &["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]);
        let home = variable("HOME").map(PathBuf::from).unwrap_or_default();
        let folder = home.join(".aws");
        let config = variable("AWS_CONFIG_FILE").map(PathBuf::from);
        let config = read(&config.unwrap_or_else(|| folder.join("config")))?;
        let secrets = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let secrets = read(&secrets.unwrap_or_else(|| folder.join("credentials")))?;
        let name = named.clone().unwrap_or_else(|| "default".into());
        let found = Profile::find(&name, &config, &secrets);
        if found.is_none()
            && let Some(name) = named
        {
            let text =
                format!("there is no profile '{name}' in ~/.aws/config and ~/.aws/credentials");
            return Err(Error::new(ErrorKind::Usage, "storage", text));
        }
        Ok(found)
    }

    /// Joins the sections of a profile in the two files; secrets win.
    fn find(name: &str, config: &str, secrets: &str) -> Option<Profile> {
        let titles = [format!("profile {name}"), name.to_string()];
        let mut values = BTreeMap::new();
        let mut found = false;
        for text in [config, secrets] {
            let mut inside = false;
            for line in text.lines() {
                let line = line.trim_end();
                if let Some(title) = line.trim().strip_prefix('[').and_then(|l| l.strip_suffix(']'))
                {
                    inside = titles.iter().any(|wanted| wanted == title.trim());
                    found |= inside;
                } else if let Some((key, value)) = line.split_once('=').filter(|_| inside)
                    && !line.starts_with(['#', ';', ' ', '\t'])
                {
                    values.insert(key.trim().to_lowercase(), value.trim().to_string());
                }
            }
        }
        found.then(|| Profile { name: name.into(), values })
    }

    pub(crate) fn value(&self, key: &str) -> Option<String> {
        self.values.get(key).cloned()
    }
}

fn read(path: &PathBuf) -> Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(e) => {
            let text = format!("cannot read the credentials: {e}");
            Err(Error::new(ErrorKind::Usage, &path.to_string_lossy(), text))
        }
    }
}

/// Gives the builder credentials: those of the options, of the environment, of the profile; else
/// those that the machine has by itself.
pub(crate) fn add(
    builder: AmazonS3Builder,
    url: &str,
    options: &Options,
    profile: Option<Profile>,
) -> Result<AmazonS3Builder> {
    let id = options.get("access_key_id", &[]);
    let secret = options.get("secret_access_key", &[]);
    if let (Some(id), Some(secret)) = (id, secret) {
        let builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        return Ok(match options.get("session_token", &[]) {
            Some(token) => builder.with_token(token),
            None => builder,
        });
    }
    let chosen = options.get("profile", &[]).is_some();
    if !chosen && variable("AWS_ACCESS_KEY_ID").is_some() {
        return Ok(builder);
    }
    if let Some(profile) = &profile {
        if let Some(command) = profile.value("credential_process") {
            let provider = ProcessCredentials { command, kept: Mutex::new(None) };
            return Ok(builder.with_credentials(Arc::new(provider)));
        }
        if let (Some(id), Some(secret)) =
            (profile.value("aws_access_key_id"), profile.value("aws_secret_access_key"))
        {
            let builder = builder.with_access_key_id(id).with_secret_access_key(secret);
            return Ok(match profile.value("aws_session_token") {
                Some(token) => builder.with_token(token),
                None => builder,
            });
        }
        if profile.value("sso_session").or_else(|| profile.value("sso_start_url")).is_some() {
            let text = format!(
                "profile '{0}' signs on by a browser; run `aws sso login --profile {0}`, then \
                 `eval \"$(aws configure export-credentials --profile {0} --format env)\"`",
                profile.name
            );
            return Err(Error::new(ErrorKind::Usage, url, text));
        }
    }
    expect_machine_credentials(url)?;
    Ok(builder)
}

/// Checks that the machine has a role. Without one, each request would wait minutes for the metadata
/// service.
fn expect_machine_credentials(url: &str) -> Result<()> {
    let roles = [
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_METADATA_ENDPOINT",
    ];
    if roles.iter().any(|name| variable(name).is_some()) {
        return Ok(());
    }
    let instance = SocketAddr::from(([169, 254, 169, 254], 80));
    if TcpStream::connect_timeout(&instance, Duration::from_secs(1)).is_ok() {
        return Ok(());
    }
    let parts = [
        ErrorPart::text(
            "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or ",
        ),
        ErrorPart::ANONYMOUS,
        ErrorPart::text(" for a public bucket"),
    ];
    Err(Error::advising(ErrorKind::Usage, url, parts))
}

/// Credentials that a command prints, kept until they expire.
#[derive(Debug)]
struct ProcessCredentials {
    command: String,
    kept: Mutex<Option<(Arc<AwsCredential>, SystemTime)>>,
}

/// The output of a `credential_process`, as the AWS command line defines it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<String>,
}

impl ProcessCredentials {
    fn renew(&self) -> std::result::Result<(Arc<AwsCredential>, SystemTime), String> {
        let output = Command::new("sh").arg("-c").arg(&self.command).output();
        let output = output.map_err(|e| format!("credential_process does not start: {e}"))?;
        if !output.status.success() {
            return Err(format!("credential_process ended with {}", output.status));
        }
        let printed: Printed = serde_json::from_slice(&output.stdout)
            .map_err(|e| format!("credential_process printed no credentials: {e}"))?;
        let until = match &printed.expiration {
            None => SystemTime::now() + UNDATED,
            Some(text) => instant(text).ok_or("credential_process printed no valid Expiration")?,
        };
        let credential = AwsCredential {
            key_id: printed.access_key_id,
            secret_key: printed.secret_access_key,
            token: printed.session_token,
        };
        Ok((Arc::new(credential), until))
    }

    fn current(&self) -> std::result::Result<Arc<AwsCredential>, String> {
        // A panic elsewhere leaves a whole value behind.
        let mut kept = self.kept.lock().unwrap_or_else(|e| e.into_inner());
        match &*kept {
            Some((credential, until)) if SystemTime::now() + EARLY < *until => {
                Ok(credential.clone())
            }
            _ => {
                let renewed = self.renew()?;
                let credential = renewed.0.clone();
                *kept = Some(renewed);
                Ok(credential)
            }
        }
    }
}

/// Reads a time of RFC 3339.
fn instant(text: &str) -> Option<SystemTime> {
    let time = chrono::DateTime::parse_from_rfc3339(text).ok()?;
    Some(time.into())
}

#[async_trait]
impl CredentialProvider for ProcessCredentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        self.current().map_err(|e| object_store::Error::Generic { store: "S3", source: e.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[default]\nregion = eu-central-1\n\n[profile lab]\nregion=us-west-2\n# note = x\n\
                          endpoint_url = https://s3.lab\ns3 =\n  max_concurrent_requests = 20\n";
    const SECRETS: &str = "[lab]\naws_access_key_id = AK\naws_secret_access_key = SK==\n";

    #[test]
    fn a_profile_has_the_values_of_both_files() {
        let lab = Profile::find("lab", CONFIG, SECRETS).unwrap();
        assert_eq!(lab.value("region").as_deref(), Some("us-west-2"));
        assert_eq!(lab.value("endpoint_url").as_deref(), Some("https://s3.lab"));
        assert_eq!(lab.value("aws_secret_access_key").as_deref(), Some("SK=="));
        assert_eq!(lab.value("note"), None);
        assert_eq!(lab.value("max_concurrent_requests"), None);
        let default = Profile::find("default", CONFIG, SECRETS).unwrap();
        assert_eq!(default.value("region").as_deref(), Some("eu-central-1"));
        assert!(Profile::find("other", CONFIG, SECRETS).is_none());
    }

    #[test]
    fn a_command_is_run_again_once_its_credentials_expire() {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let script = |expiration: &str| ProcessCredentials {
            command: format!(
                "echo x >> '{}'; echo '{{\"Version\":1,\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\"{expiration}}}'",
                count.display()
            ),
            kept: Mutex::new(None),
        };
        let later = script(",\"Expiration\":\"2999-01-01T00:00:00Z\"");
        assert_eq!(later.current().unwrap().key_id, "AK");
        later.current().unwrap();
        assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 1);
        let past = script(",\"Expiration\":\"2001-01-01T00:00:00Z\"");
        past.current().unwrap();
        past.current().unwrap();
        assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 3);
        let broken = ProcessCredentials { command: "exit 3".into(), kept: Mutex::new(None) };
        assert!(broken.current().unwrap_err().contains("ended with exit status: 3"));
    }
}
