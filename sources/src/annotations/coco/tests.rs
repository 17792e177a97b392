//! Small COCO files: gaps of ids, images without annotations, captions, malformed files.

use super::*;
use crate::join::{JoinRow, JoinRows};

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns names and JSON of all images, sorted, and the description.
fn read(text: &str) -> Result<(Vec<(String, String)>, About), Failure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("instances.json");
    std::fs::write(&path, text).unwrap();
    let (mut rows, about) = open(&path, None, &About::default(), &Stop::new())?;
    let mut row = JoinRow::default();
    let mut found = Vec::new();
    while rows.next(&mut row)? {
        found.push((text_of(&row.name), text_of(&row.json)));
    }
    found.sort();
    Ok((found, about))
}

const FILE: &str = r#"{
 "info": {"year": 2017, "deep": [[[{"a": 1}]]]},
 "annotations": [
  {"id": 9, "image_id": 2, "category_id": 17, "bbox": [1, 2.5, 3, 4], "area": 12.0, "iscrowd": 0,
   "segmentation": [[1, 2, 3, 4, 5, 6]]},
  {"id": 5, "image_id": 2, "category_id": 3, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 1,
   "segmentation": {"counts": "abc", "size": [2, 2]}}
 ],
 "images": [
  {"id": 2, "file_name": "train/b.jpg", "width": 640, "height": 480},
  {"id": 1, "file_name": "a.jpg", "width": 64, "height": 48, "license": 3}
 ],
 "categories": [{"id": 17, "name": "dog", "supercategory": "animal"}, {"id": 3, "name": "cat"}]
}"#;

#[test]
fn each_image_has_its_annotations_as_lists_in_the_order_of_the_file() {
    let (found, about) = read(FILE).unwrap();
    let empty = r#"{"annotation_id":[],"area":[],"boxes":[],"category_id":[],"category_index":[],"file_name":"a.jpg","height":48,"id":1,"iscrowd":[],"license":3,"segmentation":[],"width":64}"#;
    let two = r#"{"annotation_id":[9,5],"area":[12.0,1],"boxes":[[1,2.5,3,4],[0,0,1,1]],"category_id":[17,3],"category_index":[1,0],"file_name":"train/b.jpg","height":480,"id":2,"iscrowd":[0,1],"segmentation":[[[1,2,3,4,5,6]],{"counts":"abc","size":[2,2]}],"width":640}"#;
    assert_eq!(found, [("a.jpg".into(), empty.into()), ("train/b.jpg".into(), two.into())]);
    let classes = about.classes.unwrap();
    assert_eq!((classes.names, classes.ids), (vec!["cat".into(), "dog".into()], vec![3, 17]));
    assert_eq!(classes.pointer, "/category_id");
    let license = about.columns.iter().find(|column| column.name == "/license").unwrap();
    assert_eq!((license.kind.as_str(), license.nullable), ("int64", true));
}

#[test]
fn captions_have_no_categories() {
    let text = r#"{"images":[{"id":"x","file_name":"x.jpg"}],
        "annotations":[{"id":1,"image_id":"x","caption":"A dog."},{"id":2,"image_id":"x","caption":"B"}]}"#;
    let (found, about) = read(text).unwrap();
    let json = r#"{"annotation_id":[1,2],"caption":["A dog.","B"],"file_name":"x.jpg","id":"x"}"#;
    assert_eq!(found, [("x.jpg".to_string(), json.to_string())]);
    assert_eq!(about.classes, None);
}

#[test]
fn an_annotation_without_image_is_a_row_without_name() {
    let text = r#"{"images":[{"id":1,"file_name":"a.jpg"}],"annotations":[{"image_id":7}]}"#;
    let names: Vec<String> = read(text).unwrap().0.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["", "a.jpg"]);
}

fn refused(text: &str) -> String {
    read(text).unwrap_err().text()
}

#[test]
fn a_file_that_is_not_coco_is_refused_with_the_reason() {
    assert!(refused("[]").contains("an object with 'images'"));
    assert!(refused("{}").contains("it has no 'images'"));
    assert!(refused(r#"{"images":[{"file_name":"a"}]}"#).contains("image 1 has no 'id'"));
    assert!(
        refused(r#"{"images":[{"id":1}]}"#)
            .contains("image 1 has no 'file_name' and no 'coco_url'")
    );
    assert!(refused(r#"{"images":[{"id":1"#).contains("EOF"));
    let twice = r#"{"images":[{"id":1,"file_name":"a"},{"id":1,"file_name":"b"}]}"#;
    assert!(refused(twice).contains("images 1 and 2 have one id"));
    let unknown =
        r#"{"images":[{"id":1,"file_name":"a"}],"annotations":[{"image_id":1,"category_id":5}]}"#;
    assert!(refused(unknown).contains("annotation 1 has category 5, which is not listed"));
    let kinds = r#"{"images":[{"id":1,"file_name":"a","x":1},{"id":2,"file_name":"b","x":"1"}]}"#;
    assert!(refused(kinds).contains("'x' is string here and int64 before"));
    let categories = r#"{"images":[{"id":1,"file_name":"a"}],"categories":[{"id":1,"name":"a"},{"id":1,"name":"b"}]}"#;
    assert!(refused(categories).contains("two categories have the id 1"));
}

#[test]
fn keypoints_have_names_lines_and_the_places_of_a_mirrored_picture() {
    let text = r#"{"images":[{"id":1,"file_name":"a.jpg"}],
        "annotations":[{"id":1,"image_id":1,"category_id":1,"bbox":[0,0,9,9],"num_keypoints":2,
                        "keypoints":[1,2,2,3,4,1,0,0,0]}],
        "categories":[{"id":1,"name":"person","supercategory":"person",
                       "keypoints":["nose","left_eye","right_eye"],"skeleton":[[1,2],[1,3]]},
                      {"id":2,"name":"dog"}]}"#;
    let (found, about) = read(text).unwrap();
    assert!(found[0].1.contains(r#""keypoints":[[1,2,2,3,4,1,0,0,0]],"num_keypoints":[2]"#));
    let objects = about.objects.unwrap();
    assert_eq!((objects.boxes.as_str(), objects.relative), ("xywh", false));
    let keypoints = objects.keypoints.unwrap();
    assert_eq!((keypoints.points, keypoints.values), (3, 3));
    assert_eq!(keypoints.skeleton, [[0, 1], [0, 2]]);
    assert_eq!(keypoints.flip, [0, 2, 1]);
    let details = about.classes.unwrap().details;
    assert_eq!(details[0]["supercategory"], "person");
    assert!(details[1].is_empty());
    // Two classes with different keypoints have no common table.
    let other = text.replace(r#""name":"dog""#, r#""name":"dog","keypoints":["tail"]"#);
    assert_eq!(read(&other).unwrap().1.objects.unwrap().keypoints, None);
}

#[test]
fn the_segments_of_a_panoptic_annotation_are_objects() {
    let text = r#"{"images":[{"id":139,"file_name":"000139.jpg","width":640,"height":426}],
        "annotations":[{"image_id":139,"file_name":"000139.png","segments_info":[
            {"id":3226956,"category_id":1,"iscrowd":0,"bbox":[413,158,53,138],"area":2840},
            {"id":6979964,"category_id":184,"iscrowd":1,"bbox":[0,1,2,3],"area":6}]}],
        "categories":[{"id":184,"name":"tree","isthing":0,"color":[0,1,2]},
                      {"id":1,"name":"person","isthing":1}]}"#;
    let (found, about) = read(text).unwrap();
    let json = r#"{"area":[2840,6],"boxes":[[413,158,53,138],[0,1,2,3]],"category_id":[1,184],"category_index":[0,1],"file_name":"000139.jpg","height":426,"id":139,"iscrowd":[0,1],"segment_id":[3226956,6979964],"width":640}"#;
    assert_eq!(found, [("000139.jpg".to_string(), json.to_string())]);
    assert_eq!(about.classes.unwrap().details[1]["isthing"], 0);
    let none = text.replace(r#""segments_info":["#, r#""segments_info":[7,"#);
    assert!(refused(&none).contains("7 in 'segments_info' is no object"));
}

#[test]
fn images_of_lvis_are_named_by_their_address() {
    let text = r#"{"images":[{"id":391895,"width":640,"height":360,
            "coco_url":"http://images.cocodataset.org/train2017/000000391895.jpg",
            "neg_category_ids":[14,2],"not_exhaustive_category_ids":[]}],
        "annotations":[{"id":1,"image_id":391895,"category_id":2,"area":8.5,"bbox":[1,2,3,4],
                        "segmentation":[[1,2,3,4,5,6]]}],
        "categories":[{"id":2,"name":"aerosol_can","frequency":"c","synset":"aerosol.n.02",
                       "synonyms":["spray_can"],"def":"a can","image_count":3,"instance_count":4},
                      {"id":14,"name":"ant","frequency":"r"}]}"#;
    let (found, about) = read(text).unwrap();
    assert_eq!(found[0].0, "000000391895.jpg");
    assert!(found[0].1.contains(r#""neg_category_ids":[14,2],"not_exhaustive_category_ids":[]"#));
    let classes = about.classes.as_ref().unwrap();
    assert_eq!(classes.details[0]["frequency"], "c");
    assert_eq!(classes.details[1]["frequency"], "r");
    assert_eq!(
        (kind(&about, "/neg_category_ids"), kind(&about, "/segmentation")),
        ("list".into(), "list".into())
    );
}

/// The type of a column.
fn kind(about: &About, name: &str) -> String {
    about.columns.iter().find(|column| column.name == name).unwrap().kind.clone()
}
