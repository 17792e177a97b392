//! `pack stats` and `pack view -o`: counts, and the page of one file.

use std::fs;

use serde_json::Value;

use crate::harness::Place;

/// 60 samples of three classes in two shards; one lacks its text, one picture is a copy.
pub(crate) fn packed() -> Place {
    let place = Place::new();
    place.folder("photos", 60);
    for n in 0..60 {
        let stem = stem(&place, n);
        if n != 7 {
            fs::write(place.at(format!("{stem}.txt")), "a text").unwrap();
        }
    }
    fs::copy(
        place.at(format!("{}.jpg", stem(&place, 3))),
        place.at(format!("{}.jpg", stem(&place, 21))),
    )
    .unwrap();
    place.pack("build photos -o shards --shards 2").succeeds();
    place
}

/// The path of sample `n` in the order of keys, without extension.
pub(crate) fn stem(place: &Place, n: usize) -> String {
    let mut stems: Vec<String> = walk(&place.at("photos"));
    stems.sort();
    let root = place.at("");
    stems[n].strip_prefix(root.to_str().unwrap()).unwrap().trim_start_matches('/').to_string()
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else if path.extension().is_some_and(|ext| ext == "jpg") {
            found.push(path.with_extension("").to_str().unwrap().to_string());
        }
    }
    found
}

pub(crate) fn stats(place: &Place, options: &str) -> Value {
    let run = place.pack(&format!("stats --format json shards {options}"));
    serde_json::from_str(&run.succeeds().stdout).unwrap()
}

fn finding<'a>(stats: &'a Value, kind: &str) -> &'a Value {
    let findings = stats["findings"].as_array().unwrap();
    findings.iter().find(|one| one["kind"] == kind).unwrap_or(&Value::Null)
}

#[test]
fn stats_count_parts_dimensions_classes_and_problems() {
    let place = packed();
    let found = stats(&place, "");
    assert_eq!((found["samples"].as_u64(), found["examined"].as_u64()), (Some(60), Some(60)));
    let parts: Vec<(&str, u64)> = found["extensions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (of["ext"].as_str().unwrap(), of["sizes"]["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(parts, [("jpg", 60), ("json", 60), ("txt", 59)]);
    let jpg: u64 = walk(&place.at("photos"))
        .iter()
        .map(|stem| fs::metadata(format!("{stem}.jpg")).unwrap().len())
        .sum();
    assert_eq!(found["extensions"][0]["bytes"], jpg);
    let classes = found["classes"].as_array().unwrap();
    assert_eq!(classes.iter().map(|of| of["count"].as_u64().unwrap()).sum::<u64>(), 60);
    assert_eq!(found["width"]["count"], 60);
    assert_eq!(finding(&found, "missing-part")["detail"], "txt");
    assert_eq!(finding(&found, "missing-part")["count"], 1);
    assert_eq!(finding(&found, "missing-part")["examples"][0]["ordinal"], 7);
    assert_eq!(finding(&found, "duplicate")["examples"][0]["ordinal"], 21);
    let text = place.pack("stats shards").succeeds().stdout;
    for line in ["samples  60 in 2 shards", "missing-part txt", "JPEG baseline YCbCr"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn stats_do_not_depend_on_threads_and_examine_as_many_as_wanted() {
    let place = packed();
    assert_eq!(stats(&place, "--jobs 1"), stats(&place, "--jobs 2"));
    let some = stats(&place, "--examine 15");
    assert_eq!(some["examined"], 15);
    assert_eq!(some["extensions"][0]["sizes"]["count"], 60);
    assert_eq!(some["labeled"], 15);
    let none = stats(&place, "--class json:/nothing");
    assert_eq!((none["labeled"].as_u64(), none["classes"].as_array().unwrap().len()), (Some(0), 0));
    place.pack("stats shards --class a/b").exits(2).says("json:/label");
    place.pack("stats nowhere").exits(2).says("nowhere");
}

#[test]
fn a_damaged_picture_is_a_finding_of_stats_and_has_no_thumbnail() {
    let place = packed();
    let first = place.pack("ls --format json shards").succeeds().events()[0].clone();
    let part = first["parts"].as_array().unwrap().iter().find(|part| part["ext"] == "jpg").unwrap();
    let tar = place.at(format!("shards/{}", first["shard"].as_str().unwrap()));
    let mut bytes = fs::read(&tar).unwrap();
    let at = part["offset"].as_u64().unwrap() as usize + 2;
    bytes[at..at + 40].fill(0);
    fs::write(&tar, bytes).unwrap();
    let found = stats(&place, "");
    let bad = finding(&found, "damaged-part");
    let bad = if bad.is_null() { finding(&found, "bad-picture") } else { bad };
    assert_eq!((bad["count"].as_u64(), bad["examples"][0]["ordinal"].as_u64()), (Some(1), Some(0)));
    place.pack("view shards -o page.html").succeeds();
    let page = data(&place.at("page.html"));
    assert!(
        page["samples"][0]["trouble"].as_str().unwrap().contains("checksum"),
        "{}",
        page["samples"][0]
    );
    assert!(page["samples"][0]["thumb"].is_null() && page["samples"][1]["thumb"].is_string());
}

/// The data inside of a page.
fn data(page: &std::path::Path) -> Value {
    let html = fs::read_to_string(page).unwrap();
    let (_, rest) = html.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_is_one_file_without_links_and_within_its_limit() {
    let place = packed();
    let said = place.pack("view shards -o page.html").succeeds().stdout;
    assert!(said.starts_with("page.html: 60 of 60 samples, "), "{said}");
    let html = fs::read_to_string(place.at("page.html")).unwrap();
    for link in ["http:", "https:", "src=\"", "@import", "url("] {
        let found = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(link), "{link}");
    }
    let page = data(&place.at("page.html"));
    assert_eq!(
        (page["title"].as_str(), page["stats"]["samples"].as_u64()),
        (Some("shards"), Some(60))
    );
    place.pack("view shards -o page.html").exits(2).says("--force");
    let said = place.pack("view shards -o page.html --force --thumbnails 5").succeeds().stdout;
    assert!(said.starts_with("page.html: 5 of 60 samples"), "{said}");
    // Examples of problems are among them.
    let page = data(&place.at("page.html"));
    let ordinals: Vec<u64> = page["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["ordinal"].as_u64().unwrap())
        .collect();
    assert!(ordinals.contains(&7) && ordinals.contains(&21), "{ordinals:?}");
    let big = place.pack("view shards -o big.html --side 1024 --max-size 1").succeeds();
    assert!(fs::metadata(place.at("big.html")).unwrap().len() <= 1_000_000, "{}", big.stdout);
}

#[test]
fn the_same_data_set_gives_the_same_page() {
    let place = packed();
    place.pack("view shards -o a.html --jobs 1").succeeds();
    place.pack("view shards -o b.html --jobs 2").succeeds();
    assert_eq!(fs::read(place.at("a.html")).unwrap(), fs::read(place.at("b.html")).unwrap());
}

#[test]
fn a_recipe_is_shown_as_draws_beside_the_originals() {
    let place = packed();
    let recipe = r#"[{"RandomResizedCrop": {"size": [40, 56]}}, {"RandomRotation": {"degrees": [-30.0, 30.0]}}]"#;
    fs::write(place.at("recipe.json"), recipe).unwrap();
    place.pack("view shards --transform recipe.json -o page.html").succeeds();
    let page = data(&place.at("page.html"));
    let operations = &page["draws"]["operations"];
    assert_eq!(*operations, serde_json::json!(["RandomResizedCrop", "RandomRotation"]));
    let samples = page["draws"]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 8);
    for sample in samples {
        assert!(sample["original"].as_str().unwrap().starts_with("data:image/jpeg;base64,"));
        let draws = sample["draws"].as_array().unwrap();
        assert_eq!(draws.len(), 4);
        for (epoch, draw) in draws.iter().enumerate() {
            assert_eq!(
                (draw["epoch"].as_u64(), &draw["size"]),
                (Some(epoch as u64), &serde_json::json!([56, 40]))
            );
            let actions = draw["actions"].as_array().unwrap();
            assert!(actions[0]["crop"].is_object() && actions[2]["affine"].is_object(), "{draw}");
        }
        assert_ne!(draws[0]["actions"], draws[1]["actions"]);
    }
    place.pack("view shards --transform recipe.json -o again.html").succeeds();
    assert_eq!(fs::read(place.at("page.html")).unwrap(), fs::read(place.at("again.html")).unwrap());
    place.pack("view shards -o plain.html").succeeds();
    assert!(data(&place.at("plain.html"))["draws"].is_null());
}

#[test]
fn a_file_that_is_no_recipe_is_named_with_line_and_column() {
    let place = packed();
    for (text, words) in [
        ("[\n{\"RandomFlip\": {}}]", "unknown variant `RandomFlip`"),
        ("[\n{\"RandomRotation\": {\"degree\": 30}}]", "unknown field `degree`"),
    ] {
        fs::write(place.at("recipe.json"), text).unwrap();
        let run = place.pack("view shards --transform recipe.json -o page.html").exits(2);
        run.says("recipe.json: this is not a recipe").says(words).says("at line 2 column");
    }
    fs::write(place.at("recipe.json"), r#"[{"RandomInvert": {"p": 3.0}}]"#).unwrap();
    let run = place.pack("view shards --transform recipe.json -o page.html").exits(2);
    run.says("recipe.json: RandomInvert: p is 3; a probability is 0 to 1");
    place.pack("view shards --transform none.json --serve").exits(2).says("none.json");
    assert!(!place.at("page.html").exists());
}
