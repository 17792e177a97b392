//! Lines, names and folders of YOLO labels.

use tarflume_base::Stop;
use tarflume_scan::folders::walk::ScanCounter;

use super::*;

fn parsed(line: &str) -> Result<Object, String> {
    let keypoints = KeypointTable { points: 2, values: 3, ..KeypointTable::default() };
    Object::parse(line, &Names { classes: Vec::new(), keypoints: Some(keypoints) })
}

#[test]
fn a_line_is_a_box_a_polygon_or_a_box_with_keypoints() {
    let object = parsed("3 0.5 0.25 1 0.125\r").unwrap();
    assert_eq!((object.class, object.rectangle), (3, [0.5, 0.25, 1.0, 0.125]));
    let polygon = parsed("0 0 0 1 0 1 0.5").unwrap();
    assert_eq!(polygon.rectangle, [0.5, 0.25, 1.0, 0.5]);
    assert_eq!(polygon.points, Points::Polygon(vec![0.0, 0.0, 1.0, 0.0, 1.0, 0.5]));
    let pose = parsed("0 0.5 0.5 1 1 0.1 0.2 2 0.3 0.4 1").unwrap();
    assert_eq!(pose.points, Points::Keypoints(vec![0.1, 0.2, 2.0, 0.3, 0.4, 1.0]));
    for bad in
        ["x 1 2 3 4", "-1 1 2 3 4", "0", "0 1 2 3", "0 1 2 3 4 5", "0 1 nan 3 4", "0 1 2 3 1e999"]
    {
        assert!(parsed(bad).is_err(), "{bad}");
    }
}

fn names(text: &str) -> Result<Vec<String>, String> {
    Names::of_yaml(text).map(|names| names.classes)
}

#[test]
fn names_have_the_forms_of_yaml_that_data_sets_use() {
    let expected = Ok(vec!["cat".to_string(), "traffic light".to_string()]);
    assert_eq!(names("nc: 2\nnames: ['cat', \"traffic light\"]\n"), expected);
    assert_eq!(names("names:\n  0: cat # a pet\n  1: traffic light\nnc: 2\n"), expected);
    assert_eq!(names("names:\n- cat\n- 'traffic light'\n"), expected);
    assert_eq!(names("names: [\n  cat,\n  traffic light\n]\npath: x\n"), expected);
    assert_eq!(names("names: {0: cat, 1: traffic light}"), expected);
    assert!(names("names:\n  0: cat\n  2: dog\n").is_err());
    assert!(names("nc: 2\n").is_err());
    for bad in [
        "[0, 3]",
        "[17]",
        "[17, 4]",
        "[a, 3]",
        "[3, 2]\nflip_idx: [0, 1]",
        "[2, 2]\nflip_idx: [0, 2]",
    ] {
        assert!(Names::of_yaml(&format!("kpt_shape: {bad}\nnames: [a]")).is_err(), "{bad}");
    }
}

#[test]
fn keypoints_have_their_places_of_a_mirrored_picture_and_names() {
    let plain = Names::of_yaml("kpt_shape: [17, 3]\nnames: [a]").unwrap().keypoints.unwrap();
    assert_eq!((plain.points, plain.values, plain.flip.len()), (17, 3, 0));
    let text = "kpt_shape: [3, 2] # x, y\nflip_idx: [0, 2, 1]\nnames:\n  0: person\n\
                kpt_names:\n  0:\n    - nose\n    - left_eye\n    - 'right_eye'\n  1:\n    - x\n";
    let table = Names::of_yaml(text).unwrap().keypoints.unwrap();
    assert_eq!((table.points, table.values), (3, 2));
    assert_eq!(table.flip, [0, 2, 1]);
    assert_eq!(table.names, ["nose", "left_eye", "right_eye"]);
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn opened(folder: &Path) -> Result<Opened, Failure> {
    let watch = Watch { counter: &ScanCounter::default(), stop: &Stop::new() };
    open(folder, None, &About::default(), Links::Refused, watch)
}

#[test]
fn a_folder_has_a_row_for_each_file_and_a_text_for_images_without() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "classes.txt", "cat\ndog\n");
    write(folder, "train/a.txt", "1 0.5 0.5 1 1\n\n0 0 0 1 0 1 1\n");
    write(folder, "b.v2.txt", "\n");
    let mut found = opened(folder).unwrap();
    let mut row = JoinRow::default();
    let mut rows = Vec::new();
    while found.rows.next(&mut row).unwrap() {
        rows.push((text_of(&row.name), text_of(&row.json)));
    }
    let empty = r#"{"boxes":[],"class":[],"segmentation":[]}"#;
    let two = r#"{"boxes":[[0.5,0.5,1.0,1.0],[0.5,0.5,1.0,1.0]],"class":[1,0],"segmentation":[null,[0.0,0.0,1.0,0.0,1.0,1.0]]}"#;
    assert_eq!(rows, [("b.v2".into(), empty.into()), ("train/a".into(), two.into())]);
    assert_eq!(found.without, empty.as_bytes());
    assert_eq!(found.about.classes.unwrap().names, ["cat", "dog"]);
    write(folder, "c.txt", "2 0.5 0.5 1 1\n");
    let refused = opened(folder).unwrap_err().text();
    assert!(refused.contains("c.txt: line 1: class 2, but there are 2 names"), "{refused}");
}

#[test]
fn an_oriented_box_is_a_polygon_of_four_corners_and_a_pose_has_points() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "labels/a.txt", "0 0.5 0.25 0.75 0.5 0.5 0.75 0.25 0.5\n");
    let mut found = opened(&folder.join("labels")).unwrap();
    let mut row = JoinRow::default();
    assert!(found.rows.next(&mut row).unwrap());
    let corners = r#"{"boxes":[[0.5,0.5,0.5,0.5]],"class":[0],"segmentation":[[0.5,0.25,0.75,0.5,0.5,0.75,0.25,0.5]]}"#;
    assert_eq!(text_of(&row.json), corners);
    let objects = found.about.objects.unwrap();
    assert_eq!((objects.boxes.as_str(), objects.relative), ("cxcywh", true));
    assert_eq!(objects.keypoints, None);
    write(folder, "data.yaml", "kpt_shape: [2, 3]\nflip_idx: [1, 0]\nnames: [cat]\n");
    write(folder, "labels/a.txt", "0 0.5 0.5 1 1 0.1 0.2 2 0.3 0.4 1\n");
    let watch = Watch { counter: &ScanCounter::default(), stop: &Stop::new() };
    let yaml = folder.join("data.yaml");
    let labels = folder.join("labels");
    let mut found = open(&labels, Some(&yaml), &About::default(), Links::Refused, watch).unwrap();
    assert!(found.rows.next(&mut row).unwrap());
    let pose =
        r#"{"boxes":[[0.5,0.5,1.0,1.0]],"class":[0],"keypoints":[[0.1,0.2,2.0,0.3,0.4,1.0]]}"#;
    assert_eq!(text_of(&row.json), pose);
    assert_eq!(found.about.objects.unwrap().keypoints.unwrap().flip, [1, 0]);
}
