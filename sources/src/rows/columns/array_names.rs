//! `ArrayNames`: what the options of a source of arrays name them: `NAME=ARRAY`, `png=ARRAY`, `NAME.raw=ARRAY`,
//! `layout=chw`. Splits text only.

use tarflume_base::Failure;
use tarflume_formats::message::Message;

use crate::rows::columns::assign::check_ext;
use crate::rows::columns::pictures::Layout;
use crate::rows::url::SourceUrl;

/// The option for the order of dimensions.
const LAYOUT: &str = "layout";

/// The options that name arrays.
#[derive(Debug)]
pub(crate) struct ArrayNames {
    /// The kind of source, for messages.
    word: &'static str,
    named: Vec<NamedArray>,
    layouts: Vec<ArrayLayout>,
}

/// An option `NAME=ARRAY`.
#[derive(Debug)]
struct NamedArray {
    name: String,
    array: String,
}

/// An option `layout=chw`, or `ARRAY.layout=chw`.
#[derive(Debug)]
struct ArrayLayout {
    array: Option<String>,
    layout: Layout,
}

/// What the rows of an array become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Becomes {
    /// A field of this name if a row is one number, otherwise a part `NAME.raw`.
    Named(String),
    /// A part with this extension, as the bytes are.
    Part(String),
    /// A PNG with this extension.
    Picture(String),
}

/// Returns true for the extension of a PNG.
pub(crate) fn is_png(name: &str) -> bool {
    name == "png" || name.ends_with(".png")
}

/// Returns true for the option of a layout: `layout`, `ARRAY.layout`.
pub(crate) fn is_layout(option: &str) -> bool {
    option == LAYOUT || option.strip_suffix(LAYOUT).is_some_and(|array| array.ends_with('.'))
}

impl ArrayNames {
    /// Reads the options of layouts alone: data sets are named by others.
    ///
    /// # Errors
    /// Returns an error for an unknown layout.
    pub(crate) fn layouts(source: &SourceUrl) -> Result<ArrayNames, Failure> {
        ArrayNames::of(source, |option| !is_layout(option))
    }

    /// Reads the options but those for which `is_other` returns true.
    ///
    /// # Errors
    /// Returns an error for an unknown layout, and for a name that cannot be an extension.
    pub(crate) fn of(
        source: &SourceUrl,
        is_other: impl Fn(&str) -> bool,
    ) -> Result<ArrayNames, Failure> {
        let word = source.kind.word();
        let mut names = ArrayNames { word, named: Vec::new(), layouts: Vec::new() };
        for (option, value) in source.options.iter().filter(|(option, _)| !is_other(option)) {
            if is_layout(option) {
                let array = option.rsplit_once('.').map(|(array, _)| array.to_string());
                names.layouts.push(ArrayLayout { array, layout: layout(value)? });
                continue;
            }
            if option == "key" || option == "json" {
                return Err(Failure::usage(format!(
                    "{word}: has no option '{option}': keys are row numbers, and numbers are fields of the JSON; \
                     {word}:FILE?NAME=ARRAY names an array"
                )));
            }
            if option.contains('.') || is_png(option) {
                check_ext(option, source)?;
            }
            names.named.push(NamedArray { name: option.clone(), array: value.clone() });
        }
        Ok(names)
    }

    /// Returns true if the options name this array, or none at all.
    pub(crate) fn chooses(&self, array: &str) -> bool {
        self.named.is_empty() || self.is_named(array)
    }

    /// Returns true if an option names this array.
    pub(crate) fn is_named(&self, array: &str) -> bool {
        self.named.iter().any(|named| named.array == array)
    }

    /// Returns what an array becomes that has these names in its source; the first one is its own.
    pub(crate) fn becomes(&self, names: &[&str]) -> Becomes {
        let found = self.named.iter().rev().find(|named| names.contains(&named.array.as_str()));
        let Some(NamedArray { name, .. }) = found else {
            return Becomes::Named(names.first().copied().unwrap_or("array").into());
        };
        if is_png(name) {
            return Becomes::Picture(name.clone());
        }
        if name.ends_with(".raw") {
            return Becomes::Part(name.clone());
        }
        Becomes::Named(name.clone())
    }

    /// Returns the layout of an array with these names.
    pub(crate) fn layout(&self, names: &[&str]) -> Option<Layout> {
        let layouts = self.layouts.iter().rev();
        let own = layouts.clone().find(|layout| {
            layout.array.as_ref().is_some_and(|array| names.contains(&array.as_str()))
        });
        let found = own.or_else(|| layouts.clone().find(|layout| layout.array.is_none()));
        found.map(|found| found.layout)
    }

    /// Refuses options about arrays that the source has not, and an array that two options name.
    ///
    /// # Errors
    /// Returns an error that lists the arrays.
    pub(crate) fn check(&self, arrays: &[Vec<&str>]) -> Result<(), Failure> {
        let word = self.word;
        let asked = self.named.iter().map(|named| (named.name.as_str(), &named.array));
        let layouts = self.layouts.iter();
        let layouts = layouts.filter_map(|found| Some((LAYOUT, found.array.as_ref()?)));
        for (option, array) in asked.chain(layouts) {
            if !arrays.iter().any(|names| names.contains(&array.as_str())) {
                let all: Vec<&str> =
                    arrays.iter().filter_map(|names| names.first().copied()).collect();
                return Err(Failure::usage(format!(
                    "{word}: has no option '{option}', and no array '{array}' that it could name; the arrays are {}: \
                     {word}:FILE?NAME=ARRAY",
                    all.join(", ")
                )));
            }
        }
        for names in arrays {
            let mut own = self.named.iter().filter(|n| names.contains(&n.array.as_str()));
            if let (Some(one), Some(other)) = (own.next(), own.next()) {
                return Err(Failure::usage(format!(
                    "{word}: '{}' and '{}' name the same array, '{}'; an array is packed once",
                    one.name, other.name, names[0]
                )));
            }
        }
        self.check_pictures(self.named.iter().any(|named| is_png(&named.name)))
    }

    /// Refuses layouts if there are no pictures.
    ///
    /// # Errors
    /// Returns an error with the option that makes pictures.
    pub(crate) fn check_pictures(&self, has_pictures: bool) -> Result<(), Failure> {
        let word = self.word;
        if self.layouts.is_empty() || has_pictures {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{word}: layout= is of pictures, and no option makes some; name their array: \
             {word}:FILE?png=ARRAY&layout=chw"
        )))
    }

    /// Returns the note about arrays that the options leave out; `None` if they leave out none.
    pub(crate) fn left_out(&self, arrays: &[String]) -> Option<Message> {
        let left: Vec<&str> =
            arrays.iter().map(String::as_str).filter(|array| !self.chooses(array)).collect();
        let text = format!(
            "{}: not packed, because the options name others: {}",
            self.word,
            left.join(", ")
        );
        (!left.is_empty()).then(|| text.into())
    }
}

/// Returns the layout that the option `layout` has as its value.
///
/// # Errors
/// Returns an error that lists the layouts.
pub(crate) fn layout(word: &str) -> Result<Layout, Failure> {
    Layout::of_word(word).ok_or_else(|| {
        Failure::usage(format!(
            "layout={word} is no order of dimensions; give the letters h, w and c from the slowest to the fastest: \
             layout=hwc, layout=chw, layout=cwh, layout=hw"
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn names(options: &str) -> Result<ArrayNames, Failure> {
        let source = SourceUrl::parse(Path::new(&format!("npy:/x.npy{options}"))).unwrap().unwrap();
        ArrayNames::of(&source, |option| option == "arrays")
    }

    #[test]
    fn options_name_arrays_pictures_and_layouts() {
        let found = names("?png=x&label=y&arrays=x,y&mask.png=m&layout=chw&m.layout=hw").unwrap();
        assert_eq!(found.becomes(&["x"]), Becomes::Picture("png".into()));
        assert_eq!(found.becomes(&["m"]), Becomes::Picture("mask.png".into()));
        assert_eq!(found.becomes(&["y"]), Becomes::Named("label".into()));
        assert_eq!(found.becomes(&["z"]), Becomes::Named("z".into()));
        assert_eq!(found.becomes(&["own", "y"]), Becomes::Named("label".into()));
        assert_eq!(found.layout(&["x"]), Layout::of_word("chw"));
        assert_eq!(found.layout(&["m"]), Layout::of_word("hw"));
        assert!(found.chooses("y") && !found.chooses("z"));
        let found = names("?y.raw=y").unwrap();
        assert_eq!(found.becomes(&["y"]), Becomes::Part("y.raw".into()));
        assert!(names("").unwrap().chooses("z"));
        assert_eq!(names("").unwrap().left_out(&["z".into()]), None);
    }

    fn says(error: Failure, text: &str) {
        assert!(error.text().contains(text), "{error}");
    }

    #[test]
    fn what_options_can_not_say_is_refused() {
        says(names("?layout=rgb").unwrap_err(), "layout=rgb is no order of dimensions");
        says(names("?A.png=x").unwrap_err(), "'A.png' is no extension");
        says(names("?key=x").unwrap_err(), "keys are row numbers");
        let all = [vec!["x"], vec!["y"]];
        says(names("?png=z").unwrap().check(&all).unwrap_err(), "the arrays are x, y");
        says(names("?png=x&x.raw=x").unwrap().check(&all).unwrap_err(), "name the same array, 'x'");
        says(names("?layout=chw").unwrap().check(&all).unwrap_err(), "layout= is of pictures");
        assert!(names("?png=x&label=y").unwrap().check(&all).is_ok());
    }
}
