//! The dataset card of the Hugging Face Hub: `README.md` with `configs`, which name the shards of each split.

use std::path::Path;

use tarflume_base::{Failure, units};
use tarflume_formats::manifest::Manifest;

use super::python_json::string;

/// The split of shards without one.
const SPLIT: &str = "train";

/// Makes the card of a data set.
///
/// # Errors
/// Returns an error for the name of a split that the Hub refuses.
pub(super) fn card(folder: &Path, manifest: &Manifest) -> Result<Vec<u8>, Failure> {
    let splits = splits(manifest)?;
    let mut text = String::from("---\ntags:\n- webdataset\n");
    text.push_str(&format!("size_categories:\n- {}\n", size_category(manifest.samples)));
    text.push_str("configs:\n- config_name: default\n  data_files:\n");
    for (split, shards, _) in &splits {
        text.push_str(&format!("  - split: {split}\n    path:\n"));
        // One pattern instead of thousands of names.
        match splits.len() {
            1 => text.push_str("    - \"*.tar\"\n"),
            _ => shards
                .iter()
                .for_each(|name| text.push_str(&format!("    - {}\n", string(name.as_bytes())))),
        }
    }
    let name = std::path::absolute(folder).ok();
    let name = name.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    text.push_str(&format!("---\n\n# {name}\n\n"));
    text.push_str(&format!(
        "{} in {}, {}.\n\n",
        units::counted(manifest.samples, "sample", "samples"),
        units::counted(manifest.shards.len() as u64, "WebDataset shard", "WebDataset shards"),
        units::bytes(manifest.bytes)
    ));
    text.push_str("| split | shards | samples |\n|---|---|---|\n");
    for (split, shards, samples) in &splits {
        text.push_str(&format!(
            "| {split} | {} | {} |\n",
            units::count(shards.len() as u64),
            units::count(*samples)
        ));
    }
    text.push_str("\n| part | samples with it |\n|---|---|\n");
    for (ext, count) in &manifest.extensions {
        text.push_str(&format!("| `{ext}` | {} |\n", units::count(*count)));
    }
    Ok(text.into_bytes())
}

/// Returns true for the characters that the Hub accepts in the name of a split.
fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '.'
}

type Split<'a> = (&'a str, Vec<&'a str>, u64);

fn splits(manifest: &Manifest) -> Result<Vec<Split<'_>>, Failure> {
    let mut splits: Vec<Split<'_>> = Vec::new();
    for entry in &manifest.shards {
        let name = entry.split.as_deref().unwrap_or(SPLIT);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(Failure::usage(format!(
                "the Hub refuses the split {name:?}: names of splits have letters, digits, `_` and `.`"
            )));
        }
        let place = splits.iter().position(|(split, ..)| *split == name).unwrap_or_else(|| {
            splits.push((name, Vec::new(), 0));
            splits.len() - 1
        });
        splits[place].1.push(&entry.name);
        splits[place].2 += entry.samples;
    }
    Ok(splits)
}

/// The Hub's name for a number of samples.
fn size_category(samples: u64) -> &'static str {
    match samples {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        10_000_000..100_000_000 => "10M<n<100M",
        100_000_000..1_000_000_000 => "100M<n<1B",
        1_000_000_000..10_000_000_000 => "1B<n<10B",
        10_000_000_000..100_000_000_000 => "10B<n<100B",
        100_000_000_000..1_000_000_000_000 => "100B<n<1T",
        _ => "n>1T",
    }
}
