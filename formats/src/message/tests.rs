//! Both faces write pasteable text, and never touch what a user named.

use super::{Call, Face, Message, Name, Piece, Setting, Task, Value};
use crate::message;

/// Names of files that look like options, quotes and code.
const HOSTILE: [&str; 8] = [
    "/data/my --force data",
    "-o",
    "a 'b' \"c\"",
    "{force} {} %s \\ $HOME `id`",
    "two\nlines\t",
    "--label folder",
    "\u{1}",
    "",
];

#[test]
fn words_of_a_user_are_the_same_in_every_face() {
    for path in HOSTILE {
        let told = message!("{path}: it exists; give {force}, or {out}: {}", path;
            force = Name::Force.on(), out = Name::Out);
        for (face, force, out) in [
            (Face::Command, "--force", "-o"),
            (Face::Python, "force=True", "out"),
            (Face::Rust, "--force", "-o"),
        ] {
            let text = format!("{path}: it exists; give {force}, or {out}: {path}");
            assert_eq!(told.in_face(face), text);
        }
        let settings: Vec<&Setting> = told.settings().collect();
        assert_eq!(settings, [&Name::Force.on(), &Setting::from(Name::Out)]);
    }
}

#[test]
fn a_value_is_quoted_for_its_face() {
    for (value, option, keyword) in [
        (Value::Number(3), "--exclude 3", "exclude=3"),
        (Value::from("a/*.jpg"), "--exclude 'a/*.jpg'", "exclude=\"a/*.jpg\""),
        (Value::from("--force"), "--exclude --force", "exclude=\"--force\""),
        (Value::from(""), "--exclude ''", "exclude=\"\""),
        (Value::from("a 'b' \"c\""), r#"--exclude 'a '\''b'\'' "c"'"#, r#"exclude="a 'b' \"c\"""#),
        (Value::from("a\nb\\"), r"--exclude $'a\nb\\'", r#"exclude="a\nb\\""#),
        (Value::from("\u{1}'"), r"--exclude $'\u0001\''", r#"exclude="\u0001'""#),
        (Value::Quoted("a".into()), "--exclude 'a'", "exclude=\"a\""),
        (Value::Stand("FILE"), "--exclude FILE", r#"exclude="FILE""#),
        (Value::On, "--exclude", "exclude=True"),
        (Value::Unsaid, "--exclude", "exclude"),
    ] {
        let setting = Name::Exclude.is(value);
        assert_eq!(setting.in_face(Face::Command), option);
        assert_eq!(setting.in_face(Face::Python), keyword);
    }
    for (setting, option, keyword) in [
        (
            Name::OnProblem.any_of(&["skip", "quarantine"]),
            "--on-problem skip|quarantine",
            r#"on_problem="skip" or "quarantine""#,
        ),
        (
            Name::Pair.pairs(["images=jpg", "my masks=png"]),
            "--pair images=jpg 'my masks=png'",
            r#"pair={"images": "jpg", "my masks": "png"}"#,
        ),
        (Name::NoEntryPoints.on(), "--no-entry-points", "entry_points=False"),
        (Name::Threads.into(), "--jobs", "num_threads="),
        (Name::Classes.stand("FILE"), "--classes FILE", r#"classes="FILE""#),
        (Name::BadBudget.stand("N"), "--bad-budget N", "bad_budget=N"),
        (Name::Encodings.pairs(["x=bytes"]), "--as x=bytes", r#"encodings={"x": "bytes"}"#),
        (
            Name::Names.either(&["dot=replace", "a b=allow"]),
            "--names dot=replace or 'a b=allow'",
            r#"names="dot=replace" or "a b=allow""#,
        ),
    ] {
        assert_eq!(setting.in_face(Face::Command), option);
        assert_eq!(setting.in_face(Face::Python), keyword);
    }
    assert_eq!(Setting::from(Name::Threads).in_face(Face::Rust), ".threads()");
}

#[test]
fn a_call_is_a_command_or_a_line_of_python() {
    for (call, command, python) in [
        (
            Call::of(Task::Build).on("my set").out("out dir").with(Name::Label.is("folder")),
            "pack build 'my set' -o 'out dir' --label folder",
            r#"tarflume.pack.build("my set", "out dir", label="folder")"#,
        ),
        (
            Call::of(Task::Index).with(Name::Force.on()).on_stand("DIR"),
            "pack index --force DIR",
            "tarflume.pack.index(DIR, force=True)",
        ),
        (
            Call::of(Task::Reshard).on("a\"b").out_stand("DIR"),
            "pack reshard 'a\"b' -o DIR",
            r#"tarflume.pack.reshard("a\"b", DIR)"#,
        ),
        (Call::of(Task::Verify), "pack verify", "tarflume.pack.verify"),
        (
            Call::of(Task::Index).with(Name::Export.is("dali")).on("set"),
            "pack index --export dali set",
            "pack index --export dali set",
        ),
        (Call::of(Task::Status).on("a b"), "pack status 'a b'", "pack status 'a b'"),
    ] {
        assert_eq!(call.in_face(Face::Command), command);
        assert_eq!(call.in_face(Face::Python), python);
    }
}

#[test]
fn a_message_within_a_message_keeps_its_data() {
    let why = message!("give {jobs}"; jobs = Name::Jobs.is(1));
    let told = message!("line {}: {why}", 7; why = &why);
    let pieces = [Piece::Words("line 7: give ".into()), Piece::Setting(Name::Jobs.is(1))];
    assert_eq!(told.pieces(), pieces);
    assert_eq!(told.in_face(Face::Python), "line 7: give jobs=1");
    let plain = message!("{}", "--force");
    assert_eq!(plain, Message::words("--force"));
}

#[test]
fn an_option_differs_from_its_keyword_in_its_dashes_unless_listed() {
    let listed = [
        Name::Encodings,
        Name::NoEntryPoints,
        Name::Out,
        Name::Batch,
        Name::MemoryLimit,
        Name::Threads,
    ];
    for &name in Name::ALL {
        let derived = name.option().trim_start_matches('-').replace('-', "_");
        let is_alike = derived == name.keyword() || name.keyword().is_empty();
        assert_eq!(is_alike, !listed.contains(&name), "{name:?}");
    }
}

#[test]
fn reworded_messages_change_what_they_name() {
    let call = Call::of(Task::Index).with(Name::Exclude.is("/tmp/x/a")).on("/tmp/x");
    let mut told = message!("/tmp/x/a.tar: `{call}`, or {exclude}"; call = call, exclude = Name::Exclude.is("/tmp/x/b"));
    told.reword(|text| text.replace("/tmp/x", "s3://set"));
    let text =
        "s3://set/a.tar: `pack index --exclude s3://set/a s3://set`, or --exclude s3://set/b";
    assert_eq!(told.in_face(Face::Command), text);
}
