//! `words!`: the text form of an option that is one of a few words. Hidden: for the crates of this project.

/// Implements `Display`, `FromStr` and serde of an enum without fields: its values are words in commands, configuration
/// files and logs. `Error::usage` of the calling module makes the error, which lists all words.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($type:ident, $what:literal, { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl ::std::fmt::Display for $type {
            /// Writes the word that options take.
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(match self { $($type::$variant => $word),+ })
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = Error;

            /// # Errors
            /// Returns a usage error, which lists all words, for any other text.
            fn from_str(text: &str) -> ::std::result::Result<$type, Error> {
                match text {
                    $($word => Ok($type::$variant),)+
                    _ => Err(Error::usage(format!(
                        concat!($what, " '{}' is not known; there are {}"),
                        text,
                        [$($word),+].join(", ")
                    ))),
                }
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<$type, D::Error> {
                let text = <::std::string::String as ::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(|error: Error| <D::Error as ::serde::de::Error>::custom(error.text()))
            }
        }
    };
}
