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
    let (mut rows, about) = open(&path, &About::default(), &Stop::new())?;
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
    assert!(refused(r#"{"images":[{"id":1}]}"#).contains("image 1 has no 'file_name'"));
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
