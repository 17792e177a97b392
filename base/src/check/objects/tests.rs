//! Objects with one fault each.

use tarflume_formats::json::{JsonRules, parse};
use tarflume_formats::{BoxForm, KeypointTable};

use super::*;

fn classes(pointer: &str) -> ClassTable {
    let names = vec!["cat".to_string(), "dog".to_string()];
    ClassTable { pointer: pointer.into(), names, ids: vec![3, 17], ..ClassTable::default() }
}

fn found(json: &str, table: &ObjectTable, masks: &[(String, ImageSize)]) -> CheckedObjects {
    let json = parse(json.as_bytes(), JsonRules::Python).unwrap();
    let classes = classes("/category_id");
    let size = Some(ImageSize::new(100, 50));
    check(&json, ObjectFacts { table: Some(table), classes: Some(&classes), size, masks })
}

fn faults(json: &str, table: &ObjectTable) -> Vec<String> {
    let faults = found(json, table, &[]).faults.into_iter();
    faults.map(|fault| format!("{}: {}", fault.kind, fault.reason)).collect()
}

fn coco() -> ObjectTable {
    let keypoints = KeypointTable { points: 2, values: 3, ..KeypointTable::default() };
    ObjectTable::of(BoxForm::Sized, false, Some(keypoints))
}

#[test]
fn whole_objects_have_no_fault() {
    let json = r#"{"boxes":[[0,0,100.4,50],[10,10,1,1]],"category_id":[3,17],"category_index":[0,1],
        "segmentation":[[[0,0,9,0,9,9]],{"counts":[4900,100],"size":[50,100]}],"width":100,"height":50,
        "keypoints":[[1,2,2,0,0,0],null],"num_keypoints":[1,0],"iscrowd":[0,1],"id":7}"#;
    let mask = ("mask.png".to_string(), ImageSize::new(100, 50));
    assert_eq!(found(json, &coco(), &[mask]), CheckedObjects { objects: 2, faults: Vec::new() });
    assert!(faults(r#"{"boxes":[null],"category_id":[3]}"#, &coco()).is_empty());
    assert_eq!(found("{\"label\":3}", &coco(), &[]), CheckedObjects::default());
    let relative = ObjectTable::of(BoxForm::Centered, true, None);
    assert!(faults(r#"{"boxes":[[0.5,0.5,1.0,1.00001]]}"#, &relative).is_empty());
}

#[test]
fn each_fault_has_its_kind_and_its_object() {
    for (json, wanted) in [
        (r#"{"boxes":[[0,0,9,9],[1,2,0,4]]}"#, "bad-box: object 1: its box is 0 wide and 4 high"),
        (r#"{"boxes":[[1,2,3]]}"#, "bad-box: object 0: its box is not four numbers"),
        (r#"{"boxes":[[1,2,3,NaN]]}"#, "bad-box: object 0: its box is not four numbers"),
        (r#"{"boxes":[7],"category_id":[3]}"#, "bad-box: object 0: its box is not four numbers"),
        (
            r#"{"boxes":[[90,0,20,9],[-2,0,5,5],[1,1,1,1]]}"#,
            "box-outside: object 0: its box [90, 0, 20, 9] (xywh) reaches beyond the picture, which is 100 x 50 (1 other object of the sample, too)",
        ),
        (
            r#"{"category_id":[3,4]}"#,
            "wrong-class: object 1: its class 4 is not listed in dataset.json",
        ),
        (
            r#"{"category_index":[2]}"#,
            "wrong-class: object 0: its category_index is 2, and there are 2 classes",
        ),
        (
            r#"{"segmentation":[[[1,2,3,4]]]}"#,
            "bad-polygon: object 0: a polygon has 2 points, not 3 or more",
        ),
        (
            r#"{"segmentation":[[1,2,3,4,5]]}"#,
            "bad-polygon: object 0: a polygon has 5 numbers, not x and y of each point",
        ),
        (
            r#"{"segmentation":[{"counts":[1,2],"size":[50,100]}]}"#,
            "bad-region: object 0: the counts of its region add up to 3, and 100 x 50 has 5000 pixels",
        ),
        (
            r#"{"segmentation":[{"counts":"\\","size":[50,100]}]}"#,
            "bad-region: object 0: the counts of its region cannot be read",
        ),
        (
            r#"{"segmentation":[{"counts":[12],"size":[4,3]}]}"#,
            "size-mismatch: object 0: the picture is 100 x 50, its region is 3 x 4",
        ),
        (
            r#"{"width":50,"height":100,"boxes":[]}"#,
            "size-mismatch: the picture is 100 x 50, and 'width' and 'height' are 50 x 100",
        ),
        (
            r#"{"keypoints":[[1,2,2]]}"#,
            "bad-keypoints: object 0: it has 3 numbers for 2 keypoints of 3",
        ),
        (
            r#"{"keypoints":[[1,2,2,3,4,1]],"num_keypoints":[1]}"#,
            "bad-keypoints: object 0: it has 2 labeled keypoints, and num_keypoints is 1",
        ),
        (
            r#"{"boxes":[[0,0,1,1]],"class":[0,1]}"#,
            "unequal-lists: 'boxes' has 1 elements and 'class' 2",
        ),
    ] {
        assert_eq!(faults(json, &coco()), [wanted], "{json}");
    }
    let masks = [("mask.png".to_string(), ImageSize::new(50, 100))];
    let fault = &found("{}", &coco(), &masks).faults[0];
    assert_eq!(fault.reason, "the picture is 100 x 50, its mask.png is 50 x 100");
}

#[test]
fn compressed_counts_are_those_of_pycocotools() {
    // Made by pycocotools.mask.encode, of 4 x 3 pixels and of 300 x 4.
    for (counts, height, width) in [("327", 4, 3), ("\\\\9\\\\9\\\\9kFI", 300, 4)] {
        let json =
            format!(r#"{{"segmentation":[{{"counts":"{counts}","size":[{height},{width}]}}]}}"#);
        let json = parse(json.as_bytes(), JsonRules::Strict).unwrap();
        let facts = ObjectFacts { table: None, classes: None, size: None, masks: &[] };
        assert!(check(&json, facts).faults.is_empty(), "{counts}");
    }
}

/// The faults of a sample without tables, in a picture of 100 x 50 pixels.
fn untold(json: &str) -> usize {
    let json = parse(json.as_bytes(), JsonRules::Strict).unwrap();
    let size = Some(ImageSize::new(100, 50));
    check(&json, ObjectFacts { table: None, classes: None, size, masks: &[] }).faults.len()
}

#[test]
fn fields_tell_the_form_of_boxes_of_older_data_sets() {
    assert_eq!(untold(r#"{"boxes":[[60,0,60,9]],"annotation_id":[1]}"#), 1);
    assert_eq!(untold(r#"{"boxes":[[60,0,90,9]],"class":[1],"class_name":["a"]}"#), 0);
    assert_eq!(untold(r#"{"boxes":[[0.5,0.5,1.5,1]],"class":[1]}"#), 1);
    assert_eq!(untold(r#"{"boxes":[[60,0,60,9]]}"#), 0);
}
