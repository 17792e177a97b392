//! XML files of Pascal VOC: whole ones, malformed and hostile ones.

use tarflume_base::Stop;
use tarflume_scan::folders::walk::ScanCounter;

use super::*;

const FILE: &str = r#"<?xml version="1.0"?>
<annotation>
  <folder>VOC2007</folder><filename>000001.jpg</filename>
  <source><database>The VOC2007 Database</database></source>
  <size><width>353</width><height>500</height><depth>3</depth></size>
  <segmented>0</segmented>
  <object><name>dog &amp; cat</name><pose>Left</pose><truncated>1</truncated><difficult>0</difficult>
    <bndbox><xmin>48</xmin><ymin>240</ymin><xmax>195</xmax><ymax>371.5</ymax></bndbox>
    <part><name>head</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></part>
  </object>
  <object><name>person</name><bndbox><xmin>8</xmin><ymin>12</ymin><xmax>352</xmax><ymax>498</ymax></bndbox>
  </object>
</annotation>"#;

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn objects_become_lists_and_names_become_classes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("000001.xml"), FILE).unwrap();
    std::fs::write(folder.path().join("2.xml"), "<annotation><segmented/></annotation>").unwrap();
    let mut opened = open(
        folder.path(),
        &About::default(),
        None,
        Links::Refused,
        Watch { counter: &ScanCounter::default(), stop: &Stop::new() },
    )
    .unwrap();
    let mut row = JoinRow::default();
    let mut rows = Vec::new();
    while opened.rows.next(&mut row).unwrap() {
        rows.push((text_of(&row.name), text_of(&row.json)));
    }
    let first = r#"{"boxes":[[48.0,240.0,195.0,371.5],[8.0,12.0,352.0,498.0]],"class":[0,1],"class_name":["dog & cat","person"],"depth":3,"difficult":[0,null],"file_name":"000001.jpg","folder":"VOC2007","height":500,"pose":["Left",null],"segmented":0,"truncated":[1,null],"width":353}"#;
    let second = r#"{"boxes":[],"class":[],"class_name":[],"depth":null,"difficult":[],"file_name":null,"folder":null,"height":null,"pose":[],"segmented":null,"truncated":[],"width":null}"#;
    assert_eq!(rows, [("000001".into(), first.into()), ("2".into(), second.into())]);
    assert_eq!(opened.about.classes.unwrap().names, ["dog & cat", "person"]);
}

fn refused(text: &str) -> String {
    let XmlFault { byte, reason } = xml::parse(text).unwrap_err();
    byte.map_or(reason.clone(), |byte| format!("byte {byte}: {reason}"))
}

#[test]
fn malformed_and_hostile_files_are_refused_with_the_byte() {
    assert!(refused("").contains("no element 'annotation'"));
    assert!(refused("<x/>").contains("byte 0: the element 'x'"));
    assert!(refused("<annotation><object></annotation>").starts_with("byte"));
    assert!(refused("<annotation><object><name>a</name>").contains("'object' is not closed"));
    let box_less = "<annotation><object><name>a</name></object></annotation>";
    assert!(refused(box_less).contains("without xmin"));
    let text = "<annotation><object><bndbox><xmin>x</xmin></bndbox></object></annotation>";
    assert!(refused(text).contains("'xmin' is no number"));
    let bomb = "<!DOCTYPE l [<!ENTITY a \"ha\">]><annotation><folder>&a;</folder></annotation>";
    assert!(refused(bomb).contains("the entity 'a' is not known"));
    let deep = format!("<annotation>{}", "<a>".repeat(100_000));
    assert!(refused(&deep).contains("deep"));
}
