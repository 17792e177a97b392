//! `pack export --to coco`: what was packed is written back.

use serde_json::{Value, json};

use super::{KEYPOINTS, pictures};
use crate::harness::Place;

/// Exports annotations, and returns the file.
fn exported(place: &Place, shards: &str, out: &str) -> Value {
    place.pack(&format!("export {shards} --to coco -o {out}")).succeeds();
    serde_json::from_str(&std::fs::read_to_string(place.at(out)).unwrap()).unwrap()
}

/// Returns the objects of a list in the order of their ids.
fn by_id(file: &Value, list: &str) -> Vec<Value> {
    let mut objects = file[list].as_array().unwrap().clone();
    objects.sort_by_key(|object| object["id"].as_u64());
    objects
}

#[test]
fn a_coco_file_is_written_back_as_it_was() {
    let place = Place::new();
    pictures(&place, &["val/000139.jpg", "val/000285.jpg"]);
    place.file("person_keypoints.json", KEYPOINTS);
    place.pack("build val -o out --coco person_keypoints.json").succeeds();
    let found = exported(&place, "out", "back.json");
    let wanted: Value = serde_json::from_str(KEYPOINTS).unwrap();
    for list in ["images", "annotations", "categories"] {
        assert_eq!(by_id(&found, list), by_id(&wanted, list), "{list}");
    }
    // The file is packed again to the same bytes.
    place.pack("build val -o again --coco back.json").succeeds();
    assert_eq!(place.shards("again"), place.shards("out"));
    place.pack("export out --to coco -o back.json").exits(2).says("back.json");
    place.pack("export out --to coco -o b.json --shard-size 1MiB").exits(2).says("--shard-size");
    place.pair("plain/a");
    place.pack("build plain -o plain.out").succeeds();
    place.pack("export plain.out --to coco -o p.json").exits(2).says("no sample has objects");
    for name in ["p.json", "b.json"] {
        let found = std::fs::symlink_metadata(place.at(name)).map_err(|error| error.kind());
        assert_eq!(found.unwrap_err(), std::io::ErrorKind::NotFound, "{name}");
    }
    // Whose the second box is, nothing tells.
    place.file("odd/a.json", r#"{"annotation_id": [1], "boxes": [[1, 2, 3, 4], [5, 6, 7, 8]]}"#);
    pictures(&place, &["odd/a.jpg"]);
    place.pack("build odd -o odd.out").succeeds();
    let run = place.pack("export odd.out --to coco -o o.json").exits(65);
    run.says("'annotation_id' has 1 elements and 'boxes' 2");
}

#[test]
fn annotations_of_lvis_and_panoptic_are_written_back() {
    let place = Place::new();
    pictures(&place, &["train/000391895.jpg", "train/000391896.jpg"]);
    let lvis = r#"{"images": [
          {"id": 391895, "width": 64, "height": 48, "neg_category_ids": [3], "not_exhaustive_category_ids": [],
           "coco_url": "http://x/train2017/000391895.jpg"},
          {"id": 391896, "width": 64, "height": 48, "neg_category_ids": [], "not_exhaustive_category_ids": [2],
           "coco_url": "http://x/train2017/000391896.jpg"}],
        "annotations": [{"id": 1, "image_id": 391895, "category_id": 2, "area": 9.5, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": 2, "name": "aerosol_can", "frequency": "c"}, {"id": 3, "name": "ant", "frequency": "r"}]}"#;
    place.file("lvis.json", lvis);
    place.pack("build train -o out --coco lvis.json").succeeds();
    let wanted: Value = serde_json::from_str(lvis).unwrap();
    let found = exported(&place, "out", "back.json");
    for list in ["images", "annotations", "categories"] {
        assert_eq!(by_id(&found, list), by_id(&wanted, list), "{list}");
    }
    let panoptic = r#"{"images": [{"id": 1, "file_name": "000391895.jpg"}, {"id": 2, "file_name": "000391896.jpg"}],
        "annotations": [{"image_id": 1, "file_name": "000391895.png", "segments_info": [
            {"id": 5, "category_id": 1, "iscrowd": 0, "bbox": [1, 2, 3, 4], "area": 12}]}],
        "categories": [{"id": 1, "name": "person", "isthing": 1}]}"#;
    place.file("panoptic.json", panoptic);
    place.pack("build train -o segments --coco panoptic.json").succeeds();
    let found = exported(&place, "segments", "panoptic.back.json");
    assert_eq!(
        found["annotations"],
        serde_json::from_str::<Value>(panoptic).unwrap()["annotations"]
    );
}

#[test]
fn boxes_of_yolo_and_voc_are_those_of_coco_in_pixels() {
    let place = Place::new();
    pictures(&place, &["images/a.jpg", "images/b.jpg"]);
    place.file("pose/a.txt", "1 0.5 0.5 0.5 0.25 0.25 0.5 2 0.5 0.5 0\n").file("pose/b.txt", "");
    place.file("pose.yaml", "kpt_shape: [2, 3]\nnames: [cat, dog]\n");
    place.pack("build images -o out --yolo pose --yolo-names pose.yaml").succeeds();
    let found = exported(&place, "out", "yolo.json");
    assert_eq!(
        found,
        json!({
            "images": [{"id": 1, "file_name": "a.jpg", "width": 64, "height": 48},
                       {"id": 2, "file_name": "b.jpg", "width": 64, "height": 48}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [16.0, 18.0, 32.0, 12.0], "area": 384.0,
                             "iscrowd": 0, "keypoints": [16.0, 24.0, 2.0, 32.0, 24.0, 0.0], "num_keypoints": 1}],
            "categories": [{"id": 0, "name": "cat"}, {"id": 1, "name": "dog"}],
        })
    );
    place.file("seg/a.txt", "0 0 0 0.5 0 0.5 0.5\n");
    place.pack("build images -o seg.out --yolo seg").succeeds();
    let found = exported(&place, "seg.out", "seg.json");
    assert_eq!(found["annotations"][0]["segmentation"], json!([[0.0, 0.0, 32.0, 0.0, 32.0, 24.0]]));
    let voc = "<annotation><object><name>cat</name><difficult>1</difficult><bndbox><xmin>4</xmin><ymin>8</ymin>\
               <xmax>60</xmax><ymax>48</ymax></bndbox></object></annotation>";
    place.file("voc/a.xml", voc).file("voc/b.xml", "<annotation/>");
    place.pack("build images -o voc.out --voc voc").succeeds();
    let one = &exported(&place, "voc.out", "voc.json")["annotations"][0];
    assert_eq!((&one["bbox"], &one["difficult"]), (&json!([4.0, 8.0, 56.0, 40.0]), &json!(1)));
}
