//! Policies as text: what they state, and the place of each fault.

use std::path::Path;

use super::document::Demands;
use super::source::PolicyFault;
use super::*;

const WHOLE: &str = include_str!("tests/whole.toml");

fn parse(text: &str) -> Result<Policy, PolicyFault> {
    Policy::parse(Path::new("/repo/pack.toml"), text)
}

fn fault(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn a_policy_with_all_tables_is_read() {
    let policy = parse(WHOLE).unwrap();
    assert_eq!(policy.options.level.as_ref().unwrap().value, "full");
    assert!(policy.options.require_checksums && policy.options.objects);
    assert_eq!(policy.baseline(), Some(Path::new("/repo/baseline.json")));
    assert_eq!(policy.sets.len(), 2);
    assert_eq!(policy.duplicates()[0].near, Some(4));
    assert_eq!(
        policy.duplicates()[0].places,
        [Path::new("/repo/data/train"), Path::new("/repo/data/val")]
    );
    assert_eq!(policy.signers().len(), 1);
    assert_eq!(policy.signers()[0].bytes[..2], *b"Ed");
    assert_eq!(policy.ended(Date::parse("2999-01-02").unwrap()).len(), 1);
    assert!(policy.ended(Date::parse("2999-01-01").unwrap()).is_empty(), "the last day counts");
}

/// The share of the part `json` that is demanded.
fn parts(demands: &Demands) -> f64 {
    demands.bounds.parts["json"].value
}

#[test]
fn a_named_set_has_its_own_bounds_and_the_rest_of_the_whole() {
    let policy = parse(WHOLE).unwrap();
    let train = policy.demands(Some("/repo/data/train"));
    let val = policy.demands(Some("/repo/data/val/inner"));
    let other = policy.demands(Some("/repo/data/validation"));
    assert_eq!((parts(&train), parts(&val), parts(&other)), (99.5, 90.0, 99.5));
    assert_eq!(val.bounds.parts["jpg"].value, 100.0);
    assert_eq!(train.bounds.total.samples.as_ref().unwrap().value, 1000);
    assert!(other.bounds.total.samples.is_none());
    assert_ne!(val.levels, other.levels);
}

#[test]
fn each_fault_has_its_line_and_the_word_that_is_meant() {
    for (text, expected) in [
        (
            "[verify]\nlevle = \"full\"",
            "/repo/pack.toml:2:1: [verify] has no key 'levle'; did you mean 'level'?",
        ),
        (
            "[ruels]",
            "/repo/pack.toml:1:2: a policy has no table or key 'ruels'; did you mean 'rules'?",
        ),
        (
            "[rules]\nbad-jpg = \"off\"",
            "2:1: rules.bad-jpg: there is no rule 'bad-jpg'; did you mean 'bad-jpeg'?",
        ),
        ("[rules]\nbad-jpeg = \"warn\"", "2:12: rules.bad-jpeg: 'warn' is no level"),
        ("[rules]\nno-split = \"off\"", "only packing does"),
        (
            "[parts]\njpg = 0.9",
            "2:7: parts.jpg: a share such as \"99.5%\" is needed, not this number",
        ),
        ("[parts]\njpg = \"101%\"", "a share has at most 100%"),
        ("[fields.\"/a\"]\nmin = \"x\"", "fields.\"/a\".min: a number is needed, not this string"),
        ("[fields.\"/a\"]\nmin = 9\nmax = 1", "min is above max"),
        ("[fields.\"/a\"]\ntype = \"int\"", "'int' is no type"),
        ("[fields.\"a:b\"]\nmin = 1", "give a field, json:/label"),
        ("[pictures]\nmin-width = 9\nmax-width = 1", "min-width is above max-width"),
        ("[pictures]\nmin-width = -1", "a whole number of at least 0 is needed"),
        ("[total]\nsamples = 1.5", "a whole number is needed"),
        ("[sets.a]\nrules.gap = \"off\"", "sets.a: 'path' is missing"),
        ("[[duplicates]]\nacross = [\"a\", \"b\"]", "there is no set 'a' in [sets]"),
        ("[[accept]]\nrule = \"gap\"", "'reason' is missing"),
        ("[[accept]]\nrule = \"gap\"\nreason = \"x\"\nuntil = 2026-02-30", "it is no TOML"),
        ("[[accept]]\nrule = \"gap\"\nreason = \"x\"\nuntil = 2027-01-01", "name the samples with"),
        (
            "[[accept]]\nrule = \"gap\"\nreason = \" \"\nuntil = 2027-01-01\nkey = \"*\"",
            "say in 'reason'",
        ),
        ("[signatures]\nallowed = [\"RWQ=\"]", "this is no public key of minisign"),
        ("checksums = \"yes\"", "'yes' is not known; there are required, optional"),
        ("a = ", "1:"),
    ] {
        let found = fault(text);
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn hostile_texts_are_faults_and_no_panics() {
    let deep = format!("a = {}", "[".repeat(100_000));
    assert!(parse(&deep).is_err());
    for text in [
        "\u{0}",
        "[a.b]\n[a.b]",
        "é = 1",
        "[rules]\n\"\" = \"off\"",
        "sets = 1",
        "accept = [1]",
        "fields = []",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_policy_is_found_in_the_nearest_folder_of_the_repository() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(root.path().join(FILE_NAME), "").unwrap();
    assert_eq!(find(&inner).unwrap(), Some(root.path().join(FILE_NAME)));
    std::fs::create_dir(root.path().join("a/.git")).unwrap();
    assert_eq!(find(&inner).unwrap(), None, "the repository ends at a/");
    std::fs::write(inner.join(FILE_NAME), "").unwrap();
    assert_eq!(find(&inner).unwrap(), Some(inner.join(FILE_NAME)));
}

/// The schema refuses and accepts what the parser does.
#[cfg(feature = "schema")]
mod schema {
    use super::*;

    const SCHEMA: &str = include_str!("../../../docs/assets/pack.schema.json");

    fn validator() -> jsonschema::Validator {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
    }

    fn json(text: &str) -> serde_json::Value {
        fn value(found: &toml::de::DeValue<'_>) -> serde_json::Value {
            use toml::de::DeValue;
            match found {
                DeValue::String(text) => text.to_string().into(),
                DeValue::Integer(number) => number.as_str().parse::<i64>().unwrap().into(),
                DeValue::Float(number) => number.as_str().parse::<f64>().unwrap().into(),
                DeValue::Boolean(flag) => (*flag).into(),
                DeValue::Datetime(date) => date.to_string().into(),
                DeValue::Array(values) => values.iter().map(|item| value(item.get_ref())).collect(),
                DeValue::Table(table) => table
                    .iter()
                    .map(|(key, item)| (key.get_ref().to_string(), value(item.get_ref())))
                    .collect::<serde_json::Map<_, _>>()
                    .into(),
            }
        }
        let parsed = toml::de::DeTable::parse(text).unwrap();
        value(&toml::de::DeValue::Table(parsed.into_inner()))
    }

    #[test]
    fn the_examples_of_the_page_are_accepted_by_both() {
        let page = include_str!("../../../docs/POLICY.md");
        let blocks: Vec<&str> =
            page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert!(blocks.len() >= 4, "{}", blocks.len());
        let validator = validator();
        for text in blocks.into_iter().chain([WHOLE, ""]) {
            parse(text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
            let json = json(text);
            let errors: Vec<String> = validator
                .iter_errors(&json)
                .map(|e| format!("{}: {e}", e.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{errors:?}: {text}");
        }
    }

    #[test]
    fn wrong_keys_and_words_are_refused_by_both() {
        let validator = validator();
        for text in [
            "[verify]\nlevle = \"full\"",
            "[ruels]",
            "[rules]\nbad-jpg = \"off\"",
            "[rules]\nno-split = \"off\"",
            "[rules]\nbad-jpeg = \"warn\"",
            "[parts]\njpg = 0.9",
            "[fields.\"/a\"]\nminimum = 1",
            "[fields.\"/a\"]\ntype = \"int\"",
            "[classes]\nnames = [\"a\"]",
            "[pictures]\nwidth = 3",
            "[pictures]\nmin-width = -1",
            "[shards]\nsize = 3",
            "[total]\nsamples = 1.5",
            "[sets.a]\nrules.gap = \"off\"",
            "[[accept]]\nrule = \"gap\"",
            "[[accept]]\nrule = \"gap\"\nreason = \"x\"\nuntil = 2027-01-01",
            "[signatures]\nallowed = [\"RWQ=\"]",
            "checksums = \"yes\"",
            "[[duplicates]]\nacross = [\"a\"]",
        ] {
            assert!(parse(text).is_err(), "{text}");
            assert!(!validator.is_valid(&json(text)), "the schema accepts {text}");
        }
    }

    #[test]
    fn the_schema_has_each_rule() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let listed: Vec<&str> = schema["$defs"]["rule"]["enum"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(listed, rule_names());
    }
}
