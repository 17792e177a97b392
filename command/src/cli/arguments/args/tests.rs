//! The words of choices, which plans, scripts and reports hold.

use tarflume_base::Choice;
use tarflume_base::check::CheckLevel;
use tarflume_export::{Encoding, Format, JsonAs};
use tarflume_packer::build::KeyBy;
use tarflume_shards::workdir::Policy;
use tarflume_verify::Level;

fn words<T: Choice>() -> Vec<&'static str> {
    T::ALL.iter().map(|choice| choice.word()).collect()
}

/// Command lines and scripts hold these words.
#[test]
fn the_words_of_exports_are_these() {
    let formats = ["folder", "csv", "coco", "mds", "litdata", "tfrecord", "parquet", "hf"];
    assert_eq!(words::<Format>(), formats);
    assert_eq!(words::<JsonAs>(), ["columns", "text"]);
    assert_eq!(words::<Encoding>(), ["bytes", "jpeg", "png", "str", "int", "json"]);
}

/// Plans hold these words.
#[test]
fn the_words_in_plans_are_frozen() {
    assert_eq!(words::<CheckLevel>(), ["none", "structure", "decode"]);
    assert_eq!(words::<Policy>(), ["fail", "skip", "quarantine"]);
    assert_eq!(words::<Level>(), ["quick", "full", "decode"]);
    assert_eq!(words::<KeyBy>(), ["first-dot", "last-dot"]);
}

/// Reports use the same words.
#[test]
fn levels_are_serialized_as_their_words() {
    for level in Level::ALL {
        assert_eq!(serde_json::to_value(level).unwrap(), level.word());
    }
}
