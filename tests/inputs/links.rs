//! Symbolic links below a source lead nowhere unless `--follow-links` is given, whatever names them.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::Place;

/// Text of the file that no data set may contain.
const SECRET: &str = "{\"a\": \"a secret of this machine\"}";

/// A data set in `data`, with links to a file and to folders outside it.
fn place() -> Place {
    let place = Place::new();
    place.file("data/ok.json", "{\"a\": 1}");
    place.file("private/secret.json", SECRET);
    symlink(place.at("private/secret.json"), place.at("data/link.json")).unwrap();
    symlink(place.at("private"), place.at("data/folder")).unwrap();
    place
}

fn has_secret(place: &Place, out: &str) -> bool {
    let mut tars = place.names(out).into_iter().filter(|name| name.ends_with(".tar"));
    tars.any(|name| {
        let tar = fs::read(place.at(out).join(name)).unwrap();
        String::from_utf8_lossy(&tar).contains("secret of this")
    })
}

#[test]
fn files_that_tables_and_lists_name_are_reached_by_no_link() {
    let place = place();
    let size = SECRET.len();
    let mut sources = Vec::new();
    for (number, path) in
        ["link.json", "folder/secret.json", "folder/../ok.json"].iter().enumerate()
    {
        place.file(format!("data/{number}.csv"), format!("n,j\n1,ok.json\n2,{path}\n"));
        sources.push((format!("csv:data/{number}.csv?key=n&json=@j"), path.contains("..")));
        let rows = format!("{{\"n\":1,\"j\":\"ok.json\"}}\n{{\"n\":2,\"j\":\"{path}\"}}\n");
        place.file(format!("data/{number}.jsonl"), rows);
        sources.push((format!("jsonl:data/{number}.jsonl?key=n&json=@j"), path.contains("..")));
    }
    for (number, path) in ["link.json", "folder/secret.json"].iter().enumerate() {
        // Of a file whose size the list states, nothing is asked before it is packed.
        for (kind, sizes) in
            [("stated", ["8\t".into(), format!("{size}\t")]), ("asked", Default::default())]
        {
            let list = format!("{kind}{number}.txt");
            let [ok, size]: &[String; 2] = &sizes;
            place.file(&list, format!("{ok}data/ok.json\n{size}data/{path}\n"));
            sources.push((format!("data --require json --files {list}"), false));
        }
    }
    for (number, (source, leaves)) in sources.iter().enumerate() {
        let out = format!("out{number}");
        let followed = format!("followed{number}");
        place.pack(&format!("build {source} -o {out} --on-problem skip"));
        assert!(!has_secret(&place, &out), "{source}");
        let found = place.problems(&out);
        assert_eq!(found.len(), 1, "{source}: {found:?}");
        let reason = found[0]["reason"].as_str().unwrap();
        if *leaves {
            assert!(reason.contains("no path under the folder"), "{source}: {reason}");
            continue;
        }
        assert!(reason.contains("--follow-links"), "{source}: {reason}");
        assert_eq!(found[0]["kind"], "not-regular", "{source}");
        place.pack(&format!("build {source} -o {followed} --follow-links")).succeeds();
        assert!(has_secret(&place, &followed), "{source}");
    }
}

#[test]
fn a_file_that_becomes_a_link_after_the_plan_is_not_packed() {
    let place = Place::new();
    place.file("data/a.json", SECRET.replace("secret", "SECRET")).file("data/b.json", "{}");
    place.file("private/a.json", SECRET);
    place.pack("plan data -o out --require json").succeeds();
    let from = place.at("private/a.json");
    let link = place.at("data/a.json");
    let planned = fs::metadata(&link).unwrap().modified().unwrap();
    fs::File::options().write(true).open(&from).unwrap().set_modified(planned).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(from, link).unwrap();
    place.pack("run out --on-problem skip").succeeds();
    place.pack("finalize out").succeeds();
    assert_eq!(place.problems("out")[0]["kind"], "not-regular");
    assert_eq!(place.members("out"), ["b.json"]);
}

#[test]
fn folders_of_pairs_and_annotations_and_tables_of_metadata_are_no_links() {
    let place = Place::new();
    place.pair("images/a").file("private/b.txt", "0 0.5 0.5 1 1\n");
    fs::remove_file(place.at("images/a.json")).unwrap();
    place.file("labels/a.txt", "0 0.5 0.5 1 1\n").file("voc/a.xml", VOC);
    symlink(place.at("private/b.txt"), place.at("labels/b.txt")).unwrap();
    symlink(place.at("private"), place.at("voc/more")).unwrap();
    place.file("pairs/images/x.txt", "x");
    symlink(place.at("private"), place.at("pairs/masks")).unwrap();
    for (number, options) in [
        "images --require jpg --yolo labels",
        "images --require jpg --voc voc",
        "pairs --pair images=txt masks=xml",
    ]
    .iter()
    .enumerate()
    {
        let run = place.pack(&format!("build {options} -o out{number}")).exits(2);
        run.says("a symbolic link; give --follow-links");
    }
    place.file("private/rows.csv", "file_name,text\na.jpg,secret\n");
    symlink(place.at("private/rows.csv"), place.at("images/metadata.csv")).unwrap();
    let run = place.pack("build images -o out9 --require jpg").exits(1);
    run.says("metadata.csv").says("give --follow-links");
    place.pack("build images -o out10 --require image --follow-links").succeeds();
    assert_eq!(place.members("out10"), ["a.jpg", "a.json"]);
}

const VOC: &str = "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin>\
                   <xmax>2</xmax><ymax>2</ymax></bndbox></object></annotation>";
