//! The options that a policy states, for a verification that does not have them itself.

use std::path::Path;

use tarflume_base::{Choice, Failure};
use tarflume_formats::json::JsonRules;

use crate::policy::source::{Stated, choices};
use crate::policy::{Fault, Policy};
use crate::schema::PartSchema;
use crate::signature::Signers;
use crate::verify::contents::profile::Profile;
use crate::verify::options::{Level, Options};

impl Policy {
    /// Returns the options with what the policy states and they do not have; `level` is the one that was given.
    ///
    /// # Errors
    /// Returns a fault with its line if the policy has a word that is none, or a schema that cannot be read.
    pub fn complete(&self, options: Options, level: Option<Level>) -> Result<Options, Failure> {
        let stated = &self.options;
        let mut options = options;
        let of_policy = self.choice::<Level>("verify.level", stated.level.as_ref())?;
        options.level = level.or(of_policy).unwrap_or(options.level);
        options.require = options.require.or_else(|| stated.require.clone());
        let json = self.choice("verify.json-rules", stated.json_rules.as_ref())?;
        options.json = options.json.or(json);
        let profiles = self.profiles()?;
        if options.profiles.is_empty() {
            options.profiles = profiles;
        }
        // A hook is quick, and reads no data: a note says what it leaves out.
        let reads = options.level > Level::Quick;
        if options.schemas.is_empty() && reads {
            let schemas = stated.schemas.iter().map(|schema| self.schema(schema));
            options.schemas = schemas.collect::<Result<_, _>>()?;
        }
        options.objects |= stated.objects && reads;
        options.require_checksums |= stated.require_checksums;
        if options.signers.is_none() && !self.signers().is_empty() {
            let keys: Vec<&str> =
                self.signers().iter().map(|signer| signer.text.as_str()).collect();
            options.signers = Some(Signers::read(&keys)?);
        }
        Ok(options)
    }

    /// Checks the words of the options that the policy states.
    ///
    /// # Errors
    /// Returns a fault with its line.
    pub fn check_words(&self) -> Result<(), Failure> {
        self.choice::<Level>("verify.level", self.options.level.as_ref())?;
        self.choice::<JsonRules>("verify.json-rules", self.options.json_rules.as_ref())?;
        self.profiles()?;
        Ok(())
    }

    fn profiles(&self) -> Result<Vec<Profile>, Failure> {
        let profiles = self.options.profiles.iter();
        let profiles = profiles.map(|word| self.choice("verify.profile", Some(word)));
        profiles.filter_map(Result::transpose).collect()
    }

    /// Returns the choice for a word that the policy states.
    fn choice<T: Choice>(
        &self,
        name: &str,
        stated: Option<&Stated<String>>,
    ) -> Result<Option<T>, Failure> {
        let Some(Stated { value, line }) = stated else { return Ok(None) };
        if let Some(choice) = T::from_word(value) {
            return Ok(Some(choice));
        }
        let words: Vec<&str> = T::ALL.iter().map(|choice| choice.word()).collect();
        let fault: Fault =
            self.fault(*line, format!("{name}: '{value}' is not known{}", choices(value, &words)));
        Err(fault.into())
    }

    /// Reads a schema, whose path is relative to the folder of the policy.
    fn schema(&self, stated: &Stated<String>) -> Result<PartSchema, Failure> {
        let text = &stated.value;
        let split = text.split_once('=').filter(|(ext, _)| !ext.is_empty() && !ext.contains('/'));
        let (ext, file) = split.unwrap_or(("json", text));
        PartSchema::of_file(ext, &self.folder.folder().join(Path::new(file)))
    }
}
