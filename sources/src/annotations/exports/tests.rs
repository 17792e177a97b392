//! Small exports in their public forms.

use serde_json::{Value, json};

use super::*;
use crate::join::{JoinRow, JoinRows};

fn opened(name: &str, text: &str) -> Result<Opened, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let file = ExportedFile { path: &path, table: &TableOptions::default() };
    open(file, None, &About::default(), &Stop::new())
}

/// Returns names and JSON of all pictures, sorted, and the description.
fn read(name: &str, text: &str) -> (Vec<(String, Value)>, About) {
    let Opened { mut rows, about, .. } = opened(name, text).unwrap();
    let mut row = JoinRow::default();
    let mut found = Vec::new();
    while rows.next(&mut row).unwrap() {
        let name = String::from_utf8(row.name.clone()).unwrap();
        found.push((name, serde_json::from_slice(&row.json).unwrap()));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    (found, about)
}

const CVAT: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><task><id>5</id><name>pets &amp; cars</name><labels><label><name>cat</name><attributes>
    <attribute><name>color</name><values>red</values></attribute></attributes></label></labels></task></meta>
  <image id="0" name="sub/a.jpg" width="6" height="4">
    <box label="cat" source="manual" occluded="1" xtl="1.50" ytl="0.25" xbr="5.00" ybr="3.00" z_order="0" rotation="12.5">
      <attribute name="color">red &lt;dark&gt;</attribute>
      <attribute name="age">3</attribute>
    </box>
    <polygon label="dog" source="manual" occluded="0" points="0.00,1.00;4.00,1.00;4.00,3.50" z_order="1"/>
    <mask label="cat" source="manual" occluded="0" rle="0, 2, 2, 2" left="1" top="1" width="3" height="2" z_order="2"/>
    <skeleton label="person" source="manual" z_order="0">
      <points label="2" source="manual" outside="0" occluded="1" points="3.00,2.00"></points>
      <points label="1" source="manual" outside="0" occluded="0" points="1.00,2.00"></points>
      <points label="10" source="manual" outside="1" occluded="0" points="0.00,0.00"></points>
    </skeleton>
    <tag label="outdoor" source="manual"></tag>
  </image>
  <image id="1" name="b.jpg" width="6" height="4"/>
</annotations>"#;

#[test]
fn shapes_of_cvat_are_objects_with_their_attributes() {
    let (found, about) = read("annotations.xml", CVAT);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].0, "b.jpg");
    assert_eq!((&found[0].1["boxes"], &found[0].1["width"]), (&json!([]), &json!(6)));
    let one = &found[1].1;
    assert_eq!(one["class_name"], json!(["cat", "dog", "cat", "person", "outdoor"]));
    assert_eq!(one["class"], json!([0, 1, 0, 3, 2]));
    assert_eq!(
        one["boxes"],
        json!([
            [1.5, 0.25, 5.0, 3.0],
            [0.0, 1.0, 4.0, 3.5],
            [1.0, 1.0, 4.0, 3.0],
            [1.0, 2.0, 3.0, 2.0],
            null
        ])
    );
    assert_eq!(one["segmentation"][1], json!([[0.0, 1.0, 4.0, 1.0, 4.0, 3.5]]));
    assert_eq!(one["segmentation"][2], json!({"counts": [5, 1, 3, 2, 3, 1, 9], "size": [4, 6]}));
    // Points are in the order of their labels: 1, 2, 10.
    assert_eq!(one["keypoints"][3], json!([1.0, 2.0, 2.0, 3.0, 2.0, 1.0, 0.0, 0.0, 0.0]));
    assert_eq!(one["color"], json!(["red <dark>", null, null, null, null]));
    assert_eq!(
        (&one["age"], &one["rotation"]),
        (&json!([3, null, null, null, null]), &json!([12.5, null, null, null, null]))
    );
    assert_eq!(one["shape"], json!(["box", "polygon", "mask", "skeleton", "tag"]));
    let objects = about.objects.unwrap();
    assert_eq!((objects.boxes.as_str(), objects.relative), ("xyxy", false));
    let keypoints = objects.keypoints.unwrap();
    assert_eq!((keypoints.points, keypoints.names), (3, vec!["1".into(), "2".into(), "10".into()]));
}

#[test]
fn xml_of_another_form_is_refused_with_its_byte() {
    for (text, reason) in [
        (
            "<annotations><track id=\"0\" label=\"cat\"/></annotations>",
            "byte 13: this is CVAT for video",
        ),
        ("<annotations></annotations>", "it has no element 'image'"),
        ("<annotations><image name=\"a\">", "an element is not closed"),
        (
            "<annotations><image name=\"a\"><box label=\"c\"/></image></annotations>",
            "a shape has no 'xtl'",
        ),
        (
            "<annotations><image name=\"a\"><polygon label=\"c\" points=\"1;2\"/></image></annotations>",
            "'1;2' is no list of points",
        ),
        ("<annotations><image name=\"a\"><tag/></image></annotations>", "an object has no label"),
        ("<a>&bomb;</a>", "the entity 'bomb' is not known"),
    ] {
        let error = opened("a.xml", text).unwrap_err().text();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

const LABEL_STUDIO: &str = r#"[
 {"id": 1, "data": {"image": "/data/local-files/?d=set/a%20b.jpg"}, "annotations": [
   {"id": 7, "was_cancelled": true, "result": [{"value": {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": ["no"]}}]},
   {"id": 8, "was_cancelled": false, "result": [
     {"type": "rectanglelabels", "original_width": 200, "original_height": 100,
      "value": {"x": 25, "y": 50, "width": 12.5, "height": 25, "rotation": 0, "rectanglelabels": ["cat"]}},
     {"type": "polygonlabels", "original_width": 200, "original_height": 100,
      "value": {"points": [[0, 0], [50, 0], [50, 100]], "polygonlabels": ["dog"]}},
     {"type": "keypointlabels", "value": {"x": 75, "y": 25, "width": 0.5, "keypointlabels": ["nose"]}},
     {"type": "choices", "value": {"choices": ["night"]}}]}]},
 {"id": 2, "data": {"image": "s3://bucket/c.jpg?x=1"}, "annotations": []}
]"#;

#[test]
fn results_of_label_studio_are_objects_in_shares_of_the_picture() {
    let (found, about) = read("project.json", LABEL_STUDIO);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a b.jpg", "c.jpg"]);
    let one = &found[0].1;
    assert_eq!(one["class_name"], json!(["cat", "dog", "nose"]));
    assert_eq!(one["boxes"], json!([[0.25, 0.5, 0.125, 0.25], [0.0, 0.0, 0.5, 1.0], null]));
    assert_eq!(one["segmentation"], json!([null, [[0.0, 0.0, 0.5, 0.0, 0.5, 1.0]], null]));
    assert_eq!(one["keypoints"], json!([null, null, [0.75, 0.25, 2.0]]));
    assert_eq!((&one["width"], &one["height"]), (&json!(200), &json!(100)));
    assert_eq!(found[1].1["boxes"], json!([]));
    let objects = about.objects.unwrap();
    assert_eq!((objects.boxes.as_str(), objects.relative), ("xywh", true));
}

#[test]
fn the_short_form_of_label_studio_is_read_and_brushes_are_refused() {
    let short = r#"[{"id": 1, "image": "/data/upload/1/a.jpg", "label": [
        {"x": 10, "y": 20, "width": 30, "height": 40, "rectanglelabels": ["cat"], "original_width": 10, "original_height": 20}]}]"#;
    let (found, _) = read("min.json", short);
    assert_eq!(found[0].0, "a.jpg");
    assert_eq!(found[0].1["boxes"], json!([[0.1, 0.2, 0.3, 0.4]]));
    let brush = LABEL_STUDIO.replace(r#""x": 75,"#, r#""rle": [1, 2], "x": 75,"#);
    let error = opened("a.json", &brush).unwrap_err().text();
    assert!(error.contains("task 1: masks of brushes are not read"), "{error}");
    let error = opened("a.json", r#"{"images": []}"#).unwrap_err().text();
    assert!(error.contains("--coco"), "{error}");
    for (text, reason) in
        [("[3]", "no export of Label Studio"), (r#"[{"id": 1}]"#, "task 1: it names no picture")]
    {
        let error = opened("a.json", text).unwrap_err().text();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

/// The error of reading all pictures of a file.
fn refused(name: &str, text: &str) -> String {
    let mut rows = match opened(name, text) {
        Ok(opened) => opened.rows,
        Err(failure) => return failure.text(),
    };
    let mut row = JoinRow::default();
    loop {
        match rows.next(&mut row) {
            Ok(true) => {}
            Ok(false) => return String::new(),
            Err(failure) => return failure.text(),
        }
    }
}

#[test]
fn two_pictures_of_one_name_are_refused() {
    let tasks = r#"[{"data": {"image": "/x/1.jpg"}, "annotations": []}, {"data": {"image": "/y/1.jpg"}, "annotations": []}]"#;
    assert!(refused("tasks.json", tasks).contains("pictures 1 and 2 have the name '1.jpg'"));
    let twice = CVAT.replace("name=\"b.jpg\"", "name=\"sub/a.jpg\"");
    assert!(refused("twice.xml", &twice).contains("have the name 'sub/a.jpg'"));
    assert_eq!(refused("annotations.xml", CVAT), "");
}

#[test]
fn boxes_that_are_not_finite_and_parts_of_boxes_are_refused() {
    let mask = CVAT.lines().find(|line| line.contains("<polygon")).unwrap();
    let far = CVAT.replace(
        mask,
        r#"<ellipse label="dog" cx="1e308" cy="1" rx="1e308" ry="1" occluded="0"/>"#,
    );
    let text = refused("far.xml", &far);
    assert!(text.contains("its box is not finite"), "{text}");
    let csv = "ImageID,LabelName,XMin,XMax,YMin,Bottom\na,/m/1,0,1,0,1\n";
    let text = refused("boxes.csv", csv);
    assert!(text.contains("only some of the columns XMin, YMin, XMax and YMax"), "{text}");
}

#[test]
fn text_in_cdata_is_text() {
    let cdata = CVAT.replace("red &lt;dark&gt;", "<![CDATA[red <dark>]]>");
    assert_eq!(read("cdata.xml", &cdata).0[1].1["color"][0], "red <dark>");
}
