//! Both faces write pasteable text, and never touch what a user named.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{Call, Face, Message, Name, Phrase, Piece, Setting, Task, Value};
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
        (Value::Stand("FILE".into()), "--exclude FILE", r#"exclude="FILE""#),
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
        (
            Setting::of_store("region", "a b"),
            "--storage 'region=a b'",
            r#"storage={"region": "a b"}"#,
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
fn paths_are_mapped_and_words_are_not() {
    let call = Call::of(Task::Index).with(Name::Exclude.is("/tmp/x/a")).on_path("/tmp/x");
    let tar = Path::new("/tmp/x/a.tar");
    let keys = Name::Keys.is(Path::new("/tmp/x/keys"));
    let mut told =
        message!("{tar}: as /tmp/x says: `{call}`, {keys}"; tar = tar, call = call, keys = keys);
    told.map_paths(|path| {
        path.strip_prefix("/tmp/x").ok().map(|below| Path::new("s3://set").join(below))
    });
    let text = "s3://set/a.tar: as /tmp/x says: `pack index --exclude /tmp/x/a s3://set/`, --keys \
                s3://set/keys";
    assert_eq!(told.in_face(Face::Command), text);
}

#[test]
fn paths_can_be_pasted_and_have_no_secrets() {
    for (path, shell, python) in [
        (&b"a b"[..], "'a b'", r#""a b""#),
        (b"a\n\xff'", r"$'a\n\xff\''", r#""a\n\udcff'""#),
        (b"\xc3\xa4\xff", "$'ä\\xff'", "\"ä\\udcff\""),
        (b"http://me:word@host/a", "http://host/a", "\"http://host/a\""),
    ] {
        let call = Call::of(Task::Index).on_path(OsStr::from_bytes(path));
        assert_eq!(call.in_face(Face::Command), format!("pack index {shell}"));
        assert_eq!(call.in_face(Face::Python), format!("tarflume.pack.index({python})"));
    }
}

#[test]
fn stored_pieces_are_the_message_again() {
    let call = Call::of(Task::Build).on_path(OsStr::from_bytes(b"\xff")).on("hf://a").out("o o");
    let message = message!(
        "{path}: {limit} of {unit}, {pair}: `{call}`, `{stand}` {phrase}";
        path = Path::new("/a b"), limit = Name::Limit.is(7), unit = Name::Unit,
        pair = Name::Pair.pairs(["a=b"]), call = call.with(Name::OnProblem.any_of(&["skip", "fail"])),
        stand = Call::of(Task::Index).on_stand("DIR").with(Name::Jobs.stand("N")), phrase = Phrase::Rank
    );
    let pieces = message.to_pieces().unwrap();
    let text = pieces.to_string();
    let read = Message::of_pieces(&serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(read, message, "{text}");
    assert_eq!(read.in_face(Face::Python), message.in_face(Face::Python));
    assert_eq!(Message::words("--force").to_pieces(), None);
    let later =
        serde_json::json!([{"words": "a"}, {"setting": {"name": "from-2040", "value": "on"}}]);
    assert_eq!(Message::of_pieces(&later), None);
}

#[test]
fn options_of_a_store_are_calls_in_rust() {
    let option = Setting::of_store("anonymous", "true");
    assert_eq!(option.in_face(Face::Rust), r#".option("anonymous", "true")"#);
}
