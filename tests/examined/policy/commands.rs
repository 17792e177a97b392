//! `pack policy` and `pack explain`.

use std::fs;

use serde_json::Value;

use super::labeled;
use crate::harness::Place;

#[test]
fn a_policy_of_today_is_kept_by_the_data_of_today_and_broken_by_others() {
    let place = labeled();
    fs::remove_file(place.at("photos/03.jpg")).unwrap();
    fs::remove_file(place.at("photos/03.json")).unwrap();
    place.pack("build photos -o fewer --shards 3").succeeds();
    place.pack("policy init shards").succeeds().says("samples = 12").says("[parts]");
    place.pack("policy check").succeeds().says("pack.toml: ");
    place.pack("verify shards").succeeds().says("the rules are those of pack.toml");
    let text = fs::read_to_string(place.at("pack.toml")).unwrap();
    place.pack("policy init shards").exits(2).says("is there already");
    assert_eq!(fs::read_to_string(place.at("pack.toml")).unwrap(), text);
    place.pack("verify fewer").exits(1).says("policy-total: fewer");
}

#[test]
fn several_data_sets_get_numbers_of_their_own() {
    let place = Place::new();
    place.photos("a", 4).photos("b", 3);
    place.pack("build a -o data/train").succeeds();
    place.pack("build b -o data/val").succeeds();
    place.pack("policy init data/train data/val -o ci.toml").succeeds();
    let text = fs::read_to_string(place.at("ci.toml")).unwrap();
    assert!(text.contains("[sets.val]\npath = \"data/val\"\n"), "{text}");
    place.pack("verify --policy ci.toml data/train data/val").succeeds();
    place.pack("policy check ci.toml").succeeds().says("2 named sets");
    place.file("bad.toml", "[ruels]\n");
    place
        .pack("policy check bad.toml")
        .exits(2)
        .says("bad.toml:1:2: a policy has no table or key 'ruels'");
}

#[test]
fn a_policy_of_today_has_the_ranges_of_values_and_says_how_they_were_chosen() {
    let place = Place::new();
    for n in 0..1200 {
        let word = if n % 2 == 0 { "web" } else { "camera" };
        let extra = if n < 600 { ", \"note\": [1]" } else { "" };
        let json = format!(
            "{{\"id\": {}, \"label\": {}, \"source\": \"{word}\", \"score\": {}, \"by\": {{\"at\": {}}}{extra}}}",
            n * 3,
            n % 10,
            f64::from(n) / 2000.0,
            n / 2 * 2
        );
        place.file(format!("texts/{n:04}.json"), json);
        place.file(format!("texts/{n:04}.cls"), format!("{}", n % 10));
    }
    place.pack("build texts -o shards --require json").succeeds();
    place.pack("policy init shards").succeeds().says("exactly the range of today");
    let text = fs::read_to_string(place.at("pack.toml")).unwrap();
    for table in [
        "# 10 different whole numbers: exactly the range of today\n[fields.\"/label\"]\ntype = \"integer\"\nmin = 0\nmax = \
         9\nrequired = \"100%\"\n",
        "# 10 different whole numbers: exactly the range of today\n[fields.\"cls\"]\ntype = \"integer\"\nmin = 0\nmax = 9\n",
        "# whole numbers that nearly all differ, as identifiers: no range\n[fields.\"/id\"]\ntype = \
         \"integer\"\nrequired",
        "# the 2 different texts of today\n[fields.\"/source\"]\ntype = \"string\"\nenum = [\"camera\", \"web\"]\n",
        "# numbers: the range of today and 5% of room\n[fields.\"/score\"]\ntype = \"number\"\nmin = 0.0\nmax = 0.63\n",
        "# 600 different whole numbers: exactly the range of today\n[fields.\"/by/at\"]\n",
        "# lists, whose values have no bounds\n[fields.\"/note\"]\ntype = \"array\"\nrequired = \"47.5%\"\n",
    ] {
        assert!(text.contains(table), "{table}\n{text}");
    }
    place.pack("policy check").succeeds();
    place.pack("verify --level decode shards").succeeds().says("the rules are those of pack.toml");
    place.file(
        "texts/0003.json",
        "{\"id\": 9, \"label\": 10, \"source\": \"phone\", \"score\": 0.7, \"by\": {\"at\": 2}}",
    );
    // Each data set that a test packs is verified, here by no policy.
    fs::rename(place.at("pack.toml"), place.at("today.toml")).unwrap();
    place.pack("build texts -o other --require json").succeeds();
    fs::rename(place.at("today.toml"), place.at("pack.toml")).unwrap();
    let run = place.pack("verify other").exits(1);
    for bound in [".max = 9: 10 is above it", ".enum: \"phone\" is not in it", "is above it"] {
        run.clone().says(bound);
    }
}

#[test]
fn each_rule_is_explained_in_all_forms() {
    let place = labeled();
    let list = place.pack("explain").succeeds().stdout;
    assert!(list.lines().any(|line| line.starts_with("  missing-part ")), "{list}");
    let text = place.pack("explain missing-part").succeeds().stdout;
    for part in [
        "missing-part: A sample lacks",
        "\nWhy it matters: ",
        "\nHow it happens: ",
        "\nHow to mend it: ",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let run = place.pack("explain missing-prt").exits(2);
    run.says("there is no rule 'missing-prt'; did you mean 'missing-part'?");
    place.pack("explain no-split").succeeds();
    let page = place.pack("explain --format markdown").succeeds().stdout;
    assert_eq!(page.trim_end(), include_str!("../../../docs/RULES.md").trim_end());
    // SARIF has the same texts.
    place.file("pack.toml", "[total]\nsamples = 1\n");
    let run = place.pack("verify --format sarif shards").exits(1);
    let log: Value = serde_json::from_str(&run.stdout).unwrap();
    let rule = &log["runs"][0]["tool"]["driver"]["rules"][0];
    let of_sarif = rule["help"]["text"].as_str().unwrap();
    let explained = place.pack("explain policy-total").succeeds().stdout;
    assert_eq!(explained.trim_end(), format!("policy-total: {of_sarif}"));
    assert!(rule["helpUri"].as_str().unwrap().ends_with("docs/RULES.md#policy-total"));
}
