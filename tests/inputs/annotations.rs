//! Annotations in the forms in which data sets publish them: each box and each label of each sample is compared, and
//! `pack verify --objects` finds what is wrong with them.

mod written_back;

use serde_json::{Value, json};
use tarflume_fixtures::{Photo, PhotoKind};

use crate::harness::Place;

/// Writes pictures of 64 x 48 pixels.
fn pictures(place: &Place, names: &[&str]) {
    for (seed, name) in (0..).zip(names) {
        place.file(name, Photo::new(64, 48, PhotoKind::Yuv420).encode(seed).unwrap());
    }
}

/// Returns a PNG of one color.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let pixels = image::DynamicImage::new_rgb8(width, height);
    pixels.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Returns the JSON parts of a data set by key.
fn jsons(place: &Place, out: &str) -> Vec<(String, Value)> {
    let members = place.shards(out).into_iter().flatten();
    let jsons = members.filter_map(|member| {
        let key = member.name.strip_suffix(".json")?.to_string();
        Some((key, serde_json::from_slice(&member.data).unwrap()))
    });
    jsons.collect()
}

const KEYPOINTS: &str = r#"{
 "images": [{"id": 139, "file_name": "000139.jpg", "width": 64, "height": 48},
            {"id": 285, "file_name": "000285.jpg", "width": 64, "height": 48}],
 "annotations": [
  {"id": 7, "image_id": 285, "category_id": 1, "iscrowd": 0, "area": 40.5, "bbox": [1, 2, 8.25, 9],
   "num_keypoints": 2, "keypoints": [2, 3, 2, 0, 0, 0, 8, 9, 1], "segmentation": [[1, 2, 9, 2, 9, 11]]},
  {"id": 9, "image_id": 285, "category_id": 1, "iscrowd": 1, "area": 12, "bbox": [0, 0, 3, 4],
   "num_keypoints": 0, "keypoints": [0, 0, 0, 0, 0, 0, 0, 0, 0],
   "segmentation": {"counts": [0, 3072], "size": [48, 64]}}],
 "categories": [{"id": 1, "name": "person", "supercategory": "person",
   "keypoints": ["nose", "left_eye", "right_eye"], "skeleton": [[1, 2], [1, 3]]}]
}"#;

#[test]
fn keypoints_of_coco_have_their_names_lines_and_places() {
    let place = Place::new();
    pictures(&place, &["val/000139.jpg", "val/000285.jpg"]);
    place.file("person_keypoints.json", KEYPOINTS);
    place.pack("build val -o out --coco person_keypoints.json").succeeds();
    let found = jsons(&place, "out");
    assert_eq!(found[0].1["boxes"], json!([]));
    let two = &found[1].1;
    assert_eq!(two["boxes"], json!([[1, 2, 8.25, 9], [0, 0, 3, 4]]));
    assert_eq!(two["keypoints"][0], json!([2, 3, 2, 0, 0, 0, 8, 9, 1]));
    assert_eq!((&two["category_index"], &two["iscrowd"]), (&json!([0, 0]), &json!([0, 1])));
    assert_eq!(two["segmentation"][1], json!({"counts": [0, 3072], "size": [48, 64]}));
    assert_eq!(
        place.manifest("out")["objects"],
        json!({"boxes": "xywh", "keypoints": {"points": 3, "values": 3,
               "names": ["nose", "left_eye", "right_eye"], "skeleton": [[0, 1], [0, 2]], "flip": [0, 2, 1]}})
    );
    let details = &place.manifest("out")["classes"]["details"][0];
    assert_eq!(details["supercategory"], "person");
    place.pack("verify --objects out").succeeds();
    place.pack("reshard out -o again").succeeds();
    assert_eq!(place.manifest("again")["objects"], place.manifest("out")["objects"]);
    assert_eq!(place.manifest("again")["classes"], place.manifest("out")["classes"]);
}

#[test]
fn panoptic_segments_are_objects_beside_the_png_of_their_ids() {
    let place = Place::new();
    pictures(&place, &["coco/val2017/000139.jpg"]);
    place.file("coco/panoptic_val2017/000139.png", png(64, 48));
    place.file(
        "panoptic.json",
        r#"{"images": [{"id": 139, "file_name": "000139.jpg", "width": 64, "height": 48}],
            "annotations": [{"image_id": 139, "file_name": "000139.png", "segments_info": [
              {"id": 3226956, "category_id": 1, "iscrowd": 0, "bbox": [13, 8, 5, 13], "area": 40},
              {"id": 6979964, "category_id": 184, "iscrowd": 0, "bbox": [0, 0, 64, 48], "area": 3000}]}],
            "categories": [{"id": 1, "name": "person", "isthing": 1, "color": [220, 20, 60]},
                           {"id": 184, "name": "tree-merged", "isthing": 0, "color": [107, 142, 35]}]}"#,
    );
    let pair = "--pair val2017=jpg panoptic_val2017=panoptic.png";
    place.pack(&format!("build coco -o out {pair} --coco panoptic.json")).succeeds();
    assert_eq!(place.members("out"), ["000139.jpg", "000139.json", "000139.panoptic.png"]);
    let found = &jsons(&place, "out")[0].1;
    assert_eq!(found["segment_id"], json!([3226956, 6979964]));
    assert_eq!(found["boxes"], json!([[13, 8, 5, 13], [0, 0, 64, 48]]));
    assert_eq!(
        (&found["category_id"], &found["category_index"]),
        (&json!([1, 184]), &json!([0, 1]))
    );
    assert_eq!(place.manifest("out")["classes"]["details"][1]["isthing"], 0);
    place.pack("verify --objects out").succeeds();
    place.file("coco/panoptic_val2017/000139.png", png(48, 64));
    place.pack(&format!("build coco -o bad {pair} --coco panoptic.json")).succeeds();
    let run = place.pack("verify --objects bad").exits(1);
    run.says("size-mismatch: ").says("the picture is 64 x 48, its panoptic.png is 48 x 64");
}

#[test]
fn images_of_lvis_are_found_by_their_address() {
    let place = Place::new();
    pictures(&place, &["train2017/000391895.jpg"]);
    place.file(
        "lvis_v1_train.json",
        r#"{"images": [{"id": 391895, "width": 64, "height": 48, "not_exhaustive_category_ids": [2],
              "neg_category_ids": [3], "coco_url": "http://images.cocodataset.org/train2017/000391895.jpg"}],
            "annotations": [{"id": 1, "image_id": 391895, "category_id": 2, "area": 9.5, "bbox": [1, 2, 3, 4],
                             "segmentation": [[1, 2, 4, 2, 4, 6]]}],
            "categories": [{"id": 2, "name": "aerosol_can", "frequency": "c", "synset": "aerosol.n.02"},
                           {"id": 3, "name": "air_conditioner", "frequency": "f"}]}"#,
    );
    place.pack("build train2017 -o out --coco lvis_v1_train.json").succeeds().says("by basename");
    let found = &jsons(&place, "out")[0].1;
    assert_eq!(
        (&found["neg_category_ids"], &found["boxes"]),
        (&json!([3]), &json!([[1, 2, 3, 4]]))
    );
    assert_eq!(place.manifest("out")["classes"]["details"][0]["frequency"], "c");
}

#[test]
fn yolo_has_boxes_polygons_oriented_boxes_and_poses() {
    let place = Place::new();
    pictures(&place, &["images/a.jpg", "images/b.jpg", "images/c.jpg"]);
    place.file("box/a.txt", "0 0.5 0.5 0.5 0.25\n1 0.25 0.25 0.1 0.1\n").file("box/b.txt", "");
    place.pack("build images -o box.out --yolo box").succeeds();
    let found = jsons(&place, "box.out");
    assert_eq!(found[0].1["boxes"], json!([[0.5, 0.5, 0.5, 0.25], [0.25, 0.25, 0.1, 0.1]]));
    assert_eq!(found[0].1["class"], json!([0, 1]));
    assert_eq!((&found[1].1["boxes"], &found[2].1["class"]), (&json!([]), &json!([])));
    assert_eq!(place.manifest("box.out")["objects"], json!({"boxes": "cxcywh", "relative": true}));
    // An oriented box is its four corners.
    place.file("obb/a.txt", "1 0.5 0.25 0.75 0.5 0.5 0.75 0.25 0.5\n");
    place.pack("build images -o obb.out --yolo obb").succeeds();
    let found = &jsons(&place, "obb.out")[0].1;
    assert_eq!(found["segmentation"], json!([[0.5, 0.25, 0.75, 0.5, 0.5, 0.75, 0.25, 0.5]]));
    assert_eq!(found["boxes"], json!([[0.5, 0.5, 0.5, 0.5]]));
    place.file("pose/a.txt", "0 0.5 0.5 0.5 0.5 0.3 0.3 2 0.6 0.6 1\n");
    place.file("pose.yaml", "kpt_shape: [2, 3]\nflip_idx: [1, 0]\nnames: {0: person}\n");
    place.pack("build images -o pose.out --yolo pose --yolo-names pose.yaml").succeeds();
    let found = &jsons(&place, "pose.out")[0].1;
    assert_eq!(found["keypoints"], json!([[0.3, 0.3, 2.0, 0.6, 0.6, 1.0]]));
    let keypoints = &place.manifest("pose.out")["objects"]["keypoints"];
    assert_eq!(*keypoints, json!({"points": 2, "values": 3, "flip": [1, 0]}));
    place.file("coco.json", r#"{"images":[{"id":1,"file_name":"a.jpg"},{"id":2,"file_name":"b.jpg"},{"id":3,"file_name":"c.jpg"}],
        "annotations":[{"id":1,"image_id":1,"bbox":[1,2,3,4]}]}"#);
    place.pack("build images -o coco.out --coco coco.json").succeeds();
    place.pack("reshard obb.out -o obb.again").succeeds();
    assert_eq!(place.manifest("obb.again")["objects"], place.manifest("obb.out")["objects"]);
    let run = place.pack("reshard obb.out coco.out -o mixed").exits(2);
    run.says(
        "boxes of one source are cxcywh relative to the picture, those of another xywh in pixels",
    );
    for out in ["box.out", "obb.out", "pose.out"] {
        place.pack(&format!("verify --objects {out}")).succeeds();
    }
}

/// An object of Pascal VOC.
fn voc_object(name: &str, truncated: u8, corners: [u32; 4]) -> String {
    let [a, b, c, d] = corners;
    format!(
        "<object><name>{name}</name><pose>Frontal</pose><truncated>{truncated}</truncated><difficult>0</difficult>\
             <bndbox><xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c}</xmax><ymax>{d}</ymax></bndbox></object>"
    )
}

#[test]
fn voc_has_boxes_with_their_words_and_masks_of_two_folders() {
    let place = Place::new();
    pictures(&place, &["VOC/JPEGImages/2007_000032.jpg"]);
    for folder in ["SegmentationClass", "SegmentationObject"] {
        place.file(format!("VOC/{folder}/2007_000032.png"), png(64, 48));
    }
    let xml = format!(
        "<annotation><filename>2007_000032.jpg</filename><size><width>64</width><height>48</height><depth>3</depth>\
         </size><segmented>1</segmented>{}{}</annotation>",
        voc_object("person", 1, [4, 8, 60, 48]),
        voc_object("aeroplane", 0, [1, 1, 64, 40])
    );
    place.file("Annotations/2007_000032.xml", xml);
    let pair =
        "--pair JPEGImages=jpg SegmentationClass=mask.png SegmentationObject=object_mask.png";
    place.pack(&format!("build VOC -o out {pair} --voc Annotations")).succeeds();
    let found = &jsons(&place, "out")[0].1;
    assert_eq!(found["boxes"], json!([[4.0, 8.0, 60.0, 48.0], [1.0, 1.0, 64.0, 40.0]]));
    assert_eq!(
        (&found["class"], &found["class_name"]),
        (&json!([1, 0]), &json!(["person", "aeroplane"]))
    );
    assert_eq!((&found["truncated"], &found["difficult"]), (&json!([1, 0]), &json!([0, 0])));
    assert_eq!(place.manifest("out")["objects"], json!({"boxes": "xyxy"}));
    assert_eq!(place.members("out").len(), 4);
    place.pack("verify --objects out").succeeds();
}

const OPEN_IMAGES: &str = "\
ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside
000002b66c9c498e,xclick,/m/01g317,1,0.0125,0.195312,0.148438,0.5875,0,1,0,0,0
0a1b2c3d4e5f6071,xclick,/m/0dzct,1,0.25,0.5,0.1,0.75,1,0,0,0,-1
000002b66c9c498e,activemil,/m/0dzct,0.5,0.5,1,0,1,0,0,1,0,0
";

#[test]
fn rows_of_open_images_are_the_objects_of_their_pictures() {
    let place = Place::new();
    let names = ["000002b66c9c498e", "0a1b2c3d4e5f6071", "ffff000000000000"];
    names.iter().for_each(|name| pictures(&place, &[&format!("train/{name}.jpg")]));
    place.file("boxes.csv", OPEN_IMAGES);
    place.file("class-descriptions.csv", "/m/0dzct,Human face\n/m/01g317,Person\n/m/0k4j,Car\n");
    let words = "--annotations boxes.csv --classes class-descriptions.csv";
    place.pack(&format!("build train -o out {words}")).succeeds().says("by stem");
    let found = jsons(&place, "out");
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, names);
    let two = &found[0].1;
    assert_eq!(two["boxes"], json!([[0.0125, 0.148438, 0.195312, 0.5875], [0.5, 0.0, 1.0, 1.0]]));
    assert_eq!(
        (&two["class"], &two["class_name"]),
        (&json!([1, 0]), &json!(["Person", "Human face"]))
    );
    assert_eq!((&two["IsGroupOf"], &two["Confidence"]), (&json!([0, 1]), &json!([1, 0.5])));
    assert_eq!(two["LabelName"], json!(["/m/01g317", "/m/0dzct"]));
    assert_eq!(found[1].1["IsInside"], json!([-1]));
    assert_eq!((&found[2].1["boxes"], &found[2].1["class"]), (&json!([]), &json!([])));
    let manifest = place.manifest("out");
    assert_eq!(manifest["objects"], json!({"boxes": "xyxy", "relative": true}));
    assert_eq!(manifest["classes"]["names"], json!(["Human face", "Person", "Car"]));
    assert_eq!(manifest["classes"]["details"][1], json!({"label": "/m/01g317"}));
    place.pack("verify --objects out").succeeds();
    // New pictures, with the same numbers.
    pictures(&place, &["train/ffff000000000001.jpg"]);
    place.file("more.csv", OPEN_IMAGES.replace("000002b66c9c498e", "ffff000000000001"));
    place.pack("append train -o out --annotations more.csv --on-problem skip").succeeds();
    let more = &jsons(&place, "out")[3].1;
    assert_eq!(more["class"], json!([1, 0]));
    // Without names, the words of the file.
    place.pack("build train -o words --annotations boxes.csv").succeeds();
    assert_eq!(place.manifest("words")["classes"]["names"], json!(["/m/01g317", "/m/0dzct"]));
    place.file("few.csv", "/m/0dzct,Human face\n");
    let run = place.pack("build train -o bad --annotations boxes.csv --classes few.csv").exits(65);
    run.says("object 1: --classes has no '/m/01g317'");
    place.file("other.csv", "a,b\n1,2\n");
    place.pack("build train -o bad --annotations other.csv").exits(2).says("ImageID and LabelName");
    place.file("wrong.csv", OPEN_IMAGES.replace(",0.25,", ",x,"));
    let run = place.pack("build train -o bad --annotations wrong.csv").exits(65);
    run.says("wrong.csv: row 2, byte ").says("XMin is no number");
}

#[test]
fn wrong_objects_are_counted_and_placed() {
    let place = Place::new();
    pictures(&place, &["val/1.jpg", "val/2.jpg", "val/3.jpg"]);
    let file = r#"{"images": [{"id": 1, "file_name": "1.jpg"}, {"id": 2, "file_name": "2.jpg", "width": 48, "height": 64},
         {"id": 3, "file_name": "3.jpg"}],
        "annotations": [
         {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "segmentation": [[1, 1, 9, 9]]},
         {"id": 2, "image_id": 1, "category_id": 1, "bbox": [60, 1, 9, 9], "segmentation": [[1, 1, 9, 1, 9, 9]]},
         {"id": 3, "image_id": 1, "category_id": 1, "bbox": [5, 5, 0, 9], "segmentation": {"counts": "13", "size": [48, 64]}}],
        "categories": [{"id": 1, "name": "cat"}]}"#;
    place.file("instances.json", file);
    place.pack("build val -o out --coco instances.json").succeeds();
    // Without the option, objects are not looked at.
    place.pack("verify out").succeeds();
    let run = place.pack("verify --objects out").exits(1);
    run.says("bad-box 1, box-outside 1, bad-polygon 1, bad-region 1, size-mismatch 1")
        .says("key 1: object 1: its box [60, 1, 9, 9] (xywh) reaches beyond the picture, which is 64 x 48")
        .says("key 1: object 0: a polygon has 2 points, not 3 or more")
        .says("key 2: the picture is 64 x 48, and 'width' and 'height' are 48 x 64");
    place
        .pack("verify --objects --level quick out")
        .exits(2)
        .says("no schema, object or value is checked");
    place.pair("plain/a");
    place.pack("build plain -o plain.out").succeeds();
    place.pack("verify --objects plain.out").exits(2).says("--objects: no sample has objects");
}

#[test]
fn a_build_that_checks_objects_refuses_samples_with_wrong_ones() {
    let place = Place::new();
    pictures(&place, &["val/1.jpg", "val/2.jpg", "val/3.jpg"]);
    let file = r#"{"images": [{"id": 1, "file_name": "1.jpg"}, {"id": 2, "file_name": "2.jpg", "width": 9},
         {"id": 3, "file_name": "3.jpg"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [60, 1, 9, 9]},
                        {"id": 2, "image_id": 1, "category_id": 1, "bbox": [1, 1, 0, 9]},
                        {"id": 3, "image_id": 3, "category_id": 1, "bbox": [1, 1, 9, 9]}],
        "categories": [{"id": 1, "name": "cat"}]}"#;
    place.file("instances.json", file);
    let words = "--coco instances.json --objects";
    let run = place.pack(&format!("build val -o none {words}")).exits(1);
    run.says("bad-box 1, box-outside 1").says("object 1: its box is 0 wide and 9 high");
    place.pack(&format!("build val -o few {words} --on-problem skip")).succeeds();
    assert_eq!(place.members("few"), ["2.jpg", "2.json", "3.jpg", "3.json"]);
    place.pack("verify --objects few").succeeds();
    let run = place.pack(&format!("build val -o x {words} --resize short:24")).exits(2);
    run.says("--objects compares boxes");
    let run = place.pack("build val -o x --coco instances.json --resize short:24").exits(2);
    run.says("--resize makes other pixels").says("leave it out, and resize while loading");
    // An append checks what the first build checked.
    pictures(&place, &["val/4.jpg"]);
    place.file("more.json", file.replace(r#""file_name": "1.jpg""#, r#""file_name": "4.jpg""#));
    let run = place.pack("append val -o few --coco more.json --on-problem skip").exits(65);
    run.says("all 1 samples have problems");
    let kinds: Vec<Value> = place.problems("few").into_iter().map(|p| p["kind"].clone()).collect();
    assert!(kinds.contains(&json!("box-outside")), "{kinds:?}");
    assert_eq!(place.members("few"), ["2.jpg", "2.json", "3.jpg", "3.json"]);
}

#[test]
fn exports_of_cvat_and_label_studio_are_recognized_by_their_content() {
    let place = Place::new();
    pictures(&place, &["images/sub/a.jpg", "images/b.jpg"]);
    place.file(
        "annotations.xml",
        r#"<annotations><version>1.1</version><image id="0" name="sub/a.jpg" width="64" height="48">
           <box label="cat" xtl="1.5" ytl="2" xbr="9" ybr="8" occluded="0"/></image>
           <image id="1" name="b.jpg" width="64" height="48"/></annotations>"#,
    );
    place.pack("build images -o cvat --annotations annotations.xml:on=path").succeeds();
    let found = jsons(&place, "cvat");
    assert_eq!(found[0].1["boxes"], json!([]));
    assert_eq!(found[1].1["boxes"], json!([[1.5, 2.0, 9.0, 8.0]]));
    assert_eq!((&found[1].1["class_name"], &found[1].1["width"]), (&json!(["cat"]), &json!(64)));
    place.pack("verify --objects cvat").succeeds();
    place.file(
        "project.json",
        r#"[{"data": {"image": "/data/upload/1/a.jpg"}, "annotations": [{"result": [{"original_width": 64,
             "original_height": 48, "value": {"x": 25, "y": 50, "width": 50, "height": 25, "rectanglelabels": ["dog"]}}]}]},
            {"data": {"image": "/data/upload/1/b.jpg"}, "annotations": [{"result": []}]}]"#,
    );
    place.file("names.txt", "cat\ndog\n");
    let words = "--annotations project.json --classes names.txt";
    place.pack(&format!("build images -o studio {words}")).succeeds().says("by basename");
    let found = &jsons(&place, "studio")[1].1;
    assert_eq!(found["boxes"], json!([[0.25, 0.5, 0.5, 0.25]]));
    assert_eq!((&found["class"], &found["height"]), (&json!([1]), &json!(48)));
    assert_eq!(place.manifest("studio")["objects"], json!({"boxes": "xywh", "relative": true}));
    place.pack("verify --objects studio").succeeds();
    // Boxes of CVAT are pixels, and those of the data set are not.
    pictures(&place, &["more/sub/c.jpg"]);
    let more = r#"<annotations><image id="0" name="sub/c.jpg" width="64" height="48">
        <box label="cat" xtl="1.5" ytl="2" xbr="9" ybr="8" occluded="0"/></image></annotations>"#;
    place.file("more.xml", more);
    let run = place.pack("append more -o studio --annotations more.xml:on=path").exits(2);
    run.says("its boxes are xyxy in pixels, those of the data set xywh relative to the picture");
}
