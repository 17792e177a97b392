//! The features of this crate in the help. What needs a feature says so where the help is defined, and a program that
//! was built without the feature leaves it out.

/// A feature that the help names, because options, examples or words need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    /// HDF5 files as sources.
    Hdf5,
    /// Data sets in stores.
    Remote,
    /// JSON Schema.
    Schema,
    /// Energon's index.
    Sqlite,
    /// Parquet.
    Tables,
    /// Text as a source of tokens.
    Tokenizers,
}

impl Feature {
    /// Returns true if this program was built with the feature.
    pub(super) fn is_here(self) -> bool {
        #[cfg(test)]
        if tests::LEFT_OUT.with_borrow(|left_out| left_out.contains(&self)) {
            return false;
        }
        match self {
            Feature::Hdf5 => cfg!(feature = "hdf5"),
            Feature::Remote => cfg!(feature = "remote"),
            Feature::Schema => cfg!(feature = "schema"),
            Feature::Sqlite => cfg!(feature = "sqlite"),
            Feature::Tables => cfg!(feature = "tables"),
            Feature::Tokenizers => cfg!(feature = "tokenizers"),
        }
    }

    /// Returns true if the program lacks the feature: options that need it are hidden.
    pub(super) fn is_missing(self) -> bool {
        !self.is_here()
    }
}

/// A piece of a help text, and the programs whose help has it.
#[derive(Debug, Clone, Copy)]
pub(super) enum HelpPart {
    /// Words of every program.
    Always(&'static str),
    /// Words, or whole lines of examples, of a program that has the feature.
    With(Feature, &'static str),
    /// Words of a program that lacks the feature.
    Without(Feature, &'static str),
}

/// Returns the text of the parts that this program has.
pub(super) fn text(parts: &[HelpPart]) -> String {
    let here = parts.iter().filter_map(|part| match *part {
        HelpPart::Always(words) => Some(words),
        HelpPart::With(feature, words) => feature.is_here().then_some(words),
        HelpPart::Without(feature, words) => feature.is_missing().then_some(words),
    });
    here.collect()
}

/// Returns the text of a short help, and what the long help has behind it.
pub(super) fn long(short: &[HelpPart], more: &[HelpPart]) -> String {
    text(short) + &text(more)
}

/// Returns the name of a value that may be a URL in a program that has stores.
pub(super) fn or_url(with: &'static str, without: &'static str) -> &'static str {
    if Feature::Remote.is_here() { with } else { without }
}

/// Returns which program has a subcommand that this one lacks.
pub(super) fn of_subcommand(name: &str) -> Option<&'static str> {
    (name == "cache" && Feature::Remote.is_missing()).then_some(
        "'pack cache' needs the feature `remote`, which this program was built without; a program of the default \
         features has it, such as that of the Python package",
    )
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        /// Features that the help of this thread leaves out.
        pub(super) static LEFT_OUT: RefCell<Vec<Feature>> = const { RefCell::new(Vec::new()) };
    }

    /// All features that the help names.
    pub(in super::super) const ALL: [Feature; 6] = [
        Feature::Remote,
        Feature::Tables,
        Feature::Hdf5,
        Feature::Tokenizers,
        Feature::Schema,
        Feature::Sqlite,
    ];

    /// Calls `made` as in a program that was built without the features.
    pub(in super::super) fn without<T>(features: &[Feature], made: impl FnOnce() -> T) -> T {
        LEFT_OUT.set(features.to_vec());
        let made = made();
        LEFT_OUT.set(Vec::new());
        made
    }

    #[test]
    fn a_text_has_the_parts_of_the_features_that_are_here() {
        let parts = [
            HelpPart::Always("a folder"),
            HelpPart::With(Feature::Remote, ", or a URL"),
            HelpPart::Without(Feature::Remote, " of this machine"),
        ];
        assert_eq!(without(&[Feature::Remote], || text(&parts)), "a folder of this machine");
        assert_eq!(without(&[Feature::Remote], || or_url("DIR|URL", "DIR")), "DIR");
        if cfg!(feature = "remote") {
            assert_eq!(text(&parts), "a folder, or a URL");
            assert_eq!(or_url("DIR|URL", "DIR"), "DIR|URL");
        }
    }
}
