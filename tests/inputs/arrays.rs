//! Sources that are not folders: arrays of NumPy, MNIST, CIFAR and MATLAB, and their pictures.

use std::fs;

use tarflume_fixtures::flat_jpeg;

use crate::harness::Place;

/// Returns the bytes of an array in NumPy's format, version 1.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

/// A place with 40 rows of 6 bytes in `x.npy` and their numbers in `y.npy`.
fn arrays() -> Place {
    let place = Place::new();
    let x: Vec<u8> = (0..240u32).map(|n| (n * 7 % 256) as u8).collect();
    let y: Vec<u8> = (0..40i16).flat_map(|n| (n - 3).to_le_bytes()).collect();
    place.file("x.npy", npy("|u1", "(40, 2, 3)", &x));
    place.file("y.npy", npy("<i2", "(40,)", &y));
    place
}

#[test]
fn rows_of_two_arrays_are_samples_with_the_bytes_of_each_row() {
    let place = arrays();
    place.pack("build npy:x.npy,y.npy -o out --shard-samples 15").succeeds();
    place.pack("verify out").succeeds();
    let shards = place.shards("out");
    assert_eq!(shards.iter().map(|shard| shard.len() / 2).collect::<Vec<_>>(), [15, 15, 10]);
    for (row, members) in shards.concat().chunks(2).enumerate() {
        assert_eq!(members[0].name, format!("{row:08}.json"));
        assert_eq!(members[0].data, format!("{{\"y\":{}}}", row as i32 - 3).as_bytes());
        assert_eq!(members[1].name, format!("{row:08}.x.raw"));
        let data: Vec<u8> = (row * 6..row * 6 + 6).map(|n| (n * 7 % 256) as u8).collect();
        assert_eq!(members[1].data, data);
    }
    let columns = &place.manifest("out")["columns"];
    assert_eq!(columns[0]["name"], "x.raw");
    assert_eq!(columns[0]["shape"], serde_json::json!([2, 3]));
    let cat = place.pack("cat out 00000004.json").succeeds();
    assert_eq!(cat.stdout.trim_end(), "{\"y\":1}");
}

#[test]
fn arrays_packed_by_two_machines_are_those_of_one_build() {
    let place = arrays();
    place.pack("build npy:x.npy,y.npy -o whole --shard-samples 3").succeeds();
    place.pack("plan npy:x.npy,y.npy -o out --shard-samples 3").succeeds();
    place.pack("run out --rank 1 --of 2").succeeds();
    place.pack("run out --rank 0 --of 2").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn an_array_that_changes_after_it_was_planned_packs_nothing() {
    let place = arrays();
    place.pack("plan npy:x.npy,y.npy -o out --shard-samples 3").succeeds();
    let array = fs::read(place.at("x.npy")).unwrap();
    fs::write(place.at("x.npy"), [&array[..], b"more"].concat()).unwrap();
    let run = place.pack("run out");
    assert!(run.exit != 0 && run.stderr.contains("x.npy"), "{run:#?}");
    place.pack("finalize out").exits(75);
}

#[test]
fn arrays_of_different_lengths_and_files_that_are_none_are_refused() {
    let place = arrays();
    place.file("short.npy", npy("|u1", "(39, 1)", &[0; 39]));
    place.file("cut.npy", npy("|u1", "(40, 9)", &[0; 39]));
    place.file("text.npy", "no array");
    place.pack("build npy:x.npy,short.npy -o out").exits(2).says("40 rows").says("has 39");
    place.pack("build npy:cut.npy -o out").exits(2).says("declares 360 bytes");
    let run = place.pack("build npy:text.npy -o out");
    assert!(run.exit != 0 && run.stderr.contains("text.npy"), "{run:#?}");
    place.pack("build npy:nowhere.npy -o out").says("nowhere.npy");
    assert!(!place.at("out/dataset.json").exists());
}

/// Returns the bytes of an idx file of bytes.
fn idx(shape: &[u32], data: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, shape.len() as u8];
    file.extend(shape.iter().flat_map(|size| size.to_be_bytes()));
    [file, data.to_vec()].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut writer, bytes).unwrap();
    writer.finish().unwrap()
}

/// Returns the pixels of a PNG.
fn pixels(png: &[u8]) -> image::DynamicImage {
    image::load_from_memory_with_format(png, image::ImageFormat::Png).unwrap()
}

#[test]
fn the_files_of_mnist_become_pictures_and_labels() {
    let place = Place::new();
    let images: Vec<u8> = (0..5 * 28 * 28u32).map(|n| (n * 31 % 251) as u8).collect();
    place.file("raw/train-images-idx3-ubyte.gz", gzip(&idx(&[5, 28, 28], &images)));
    place.file("raw/train-labels-idx1-ubyte", idx(&[5], &[7, 0, 9, 3, 1]));
    place.file("raw/test-images.idx3-ubyte", idx(&[2, 28, 28], &images[..2 * 784]));
    place.file("raw/test-labels.idx1-ubyte.gz", gzip(&idx(&[2], &[4, 6])));
    place.pack("build idx:raw?png=image -o out --shard-samples 3").succeeds();
    place.pack("verify out --level decode").succeeds();
    let members = place.shards("out").concat();
    let rows: Vec<_> = members.chunks(2).collect();
    assert_eq!(rows.len(), 7);
    let labels: Vec<String> =
        rows.iter().map(|row| String::from_utf8(row[0].data.clone()).unwrap()).collect();
    let wanted = [4, 6, 7, 0, 9, 3, 1].map(|label| format!("{{\"label\":{label}}}"));
    assert_eq!(labels, wanted, "files of one set follow those of another");
    for (row, found) in rows.iter().enumerate() {
        assert!(found[1].name.ends_with(".png"), "{}", found[1].name);
        let first = 784 * if row < 2 { row } else { row - 2 };
        assert_eq!(pixels(&found[1].data).to_luma8().into_raw(), images[first..first + 784]);
    }
    place.pack("build idx:raw?png=image -o again --shard-samples 3 --jobs 4").succeeds();
    place.same("out", "again");
    let both = "idx:raw/train-images-idx3-ubyte.gz,raw/train-labels-idx1-ubyte";
    place.pack(&format!("build {both}?digit=labels -o plain")).succeeds();
    let members = place.shards("plain").concat();
    assert_eq!(members[0].name, "00000000.image.raw");
    assert_eq!(members[0].data, images[..784]);
    assert_eq!(members[1].data, b"{\"digit\":7}");
    place.file("cut-idx3-ubyte", idx(&[5, 28, 28], &images[..3919]));
    place
        .pack("build idx:cut-idx3-ubyte -o no")
        .exits(65)
        .says("cut-idx3-ubyte")
        .says("and it has 3935");
    place.pack("build npy:raw/train-labels-idx1-ubyte -o no").exits(2).says("name it idx:");
    place
        .pack(&format!("build {both}?png=labels -o no"))
        .exits(2)
        .says("its rows have the shape []");
    place
        .pack(&format!("build {both}?png=digits -o no"))
        .exits(2)
        .says("the arrays are image, label");
}

#[test]
fn the_binary_files_of_cifar_become_pictures_and_labels() {
    let place = Place::new();
    let mut file = Vec::new();
    for n in 0..6u32 {
        file.extend([n as u8 % 5, 10 + n as u8]);
        file.extend((0..12).map(|p| (n * 40 + p) as u8));
    }
    place.file("data_batch_1.bin", &file[..4 * 14]).file("data_batch_2.bin", &file[4 * 14..]);
    let source = "raw:data_batch_*.bin?record=coarse:u1,fine:u1,image:3x2x2u1&png=image&layout=chw";
    place.pack(&format!("build {source} -o out --shard-samples 4")).succeeds();
    place.pack("verify out --level decode").succeeds();
    let members = place.shards("out").concat();
    assert_eq!(members.len(), 12);
    for (n, row) in members.chunks(2).enumerate() {
        assert_eq!(row[0].data, format!("{{\"coarse\":{},\"fine\":{}}}", n % 5, n + 10).as_bytes());
        let wanted: Vec<u8> = (0..4)
            .flat_map(|p| (0..3).map(move |c| (c, p)))
            .map(|(c, p)| (n * 40 + c * 4 + p) as u8)
            .collect();
        assert_eq!(pixels(&row[1].data).to_rgb8().into_raw(), wanted);
    }
    let planned = source.replace("png=image&layout=chw", "x=image");
    place.pack(&format!("build {planned} -o rows")).succeeds();
    let members = place.shards("rows").concat();
    assert_eq!(members[1].name, "00000000.x.raw");
    assert_eq!(members[1].data, file[2..14], "a part is a range of the record");
    place.file("cut.bin", &file[..20]);
    let run = place.pack(&format!("build {} -o no", source.replace("data_batch_*", "cut")));
    run.exits(2).says("after 1 records of 14 bytes, 6 bytes are left");
    place.file("data_batch_3", b"\x80\x02}q\x01(U\x0bbatch_labelq\x02K\x01u.");
    let run =
        place.pack(&format!("build {} -o no", source.replace("data_batch_*.bin", "data_batch_3")));
    run.exits(2).says("it is a pickle of Python").says("cifar-10-binary.tar.gz");
    place.pack("build npy:data_batch_3 -o no").exits(2).says("it is a pickle of Python");
}

#[test]
fn rows_of_one_number_are_fields_whatever_the_dimensions() {
    let place = Place::new();
    let x: Vec<u8> = (0..2 * 2 * 3 * 2u16).flat_map(|n| (n * 1000).to_le_bytes()).collect();
    place.file("x.npy", npy("<u2", "(2, 2, 3)", &x[..24]));
    place.file("y.npy", npy("<i4", "(2, 1, 1)", &[5, 0, 0, 0, 6, 0, 0, 0]));
    place.pack("build npy:x.npy,y.npy?mask.png=x -o out").succeeds();
    let members = place.shards("out").concat();
    assert_eq!(members[0].data, b"{\"y\":5}");
    assert_eq!(members[1].name, "00000000.mask.png");
    let numbers: Vec<u16> = (0..6).map(|n| n * 1000).collect();
    assert_eq!(pixels(&members[1].data).to_luma16().into_raw(), numbers);
    place.pack("build npy:x.npy,y.npy?y.raw=y&label=x -o bytes").succeeds();
    let members = place.shards("bytes").concat();
    assert_eq!(members[0].name, "00000000.label.raw");
    assert_eq!(
        (members[1].name.as_str(), &members[1].data[..]),
        ("00000000.y.raw", &[5, 0, 0, 0][..])
    );
    place.file("z.npy", npy("|u1", "(2, 3, 4, 5)", &[0; 120]));
    place.pack("build npy:z.npy?png=z -o no").exits(2).says("[3, 4, 5]").says("layout=chw");
    place.pack("build npy:x.npy?layout=chw -o no").exits(2).says("layout= is of pictures");
}

/// Returns an element of a MAT file.
fn element(kind: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = [kind.to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

/// Returns an array of a MAT file: its class, shape and name, and the elements after them.
fn matrix(class: u32, dims: &[u32], name: &str, rest: &[u8]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|dim| dim.to_le_bytes()).collect();
    let flags = [class.to_le_bytes(), [0; 4]].concat();
    let head = [element(6, &flags), element(5, &dims), element(1, name.as_bytes())].concat();
    element(14, &[head, rest.to_vec()].concat())
}

/// Returns a MAT file of version 5.
fn mat(arrays: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![b' '; 124];
    file.extend(b"\x00\x01IM");
    file.extend(arrays.concat());
    file
}

#[test]
fn arrays_of_matlab_become_pictures_and_labels() {
    let place = Place::new();
    // X[2, 3, 3, 2] in column-major order, and labels as floats that are stored as bytes.
    let x: Vec<u8> = (0..36).map(|n| n * 7).collect();
    let y = element(2, &[1, 10]);
    let file = mat(&[matrix(9, &[2, 3, 3, 2], "X", &element(2, &x)), matrix(6, &[2, 1], "y", &y)]);
    place.file("train_32x32.mat", &file);
    place.pack("build mat:train_32x32.mat?png=X&label=y -o out").succeeds();
    place.pack("verify out --level decode").succeeds();
    let members = place.shards("out").concat();
    assert_eq!(members[0].data, b"{\"label\":1}");
    assert_eq!(members[2].data, b"{\"label\":10}");
    for n in 0..2 {
        let mut wanted = Vec::new();
        for h in 0..2 {
            for w in 0..3 {
                wanted.extend((0..3).map(|c| x[h + 2 * w + 6 * c + 18 * n]));
            }
        }
        assert_eq!(pixels(&members[2 * n + 1].data).to_rgb8().into_raw(), wanted);
    }
    let mut newer = file.clone();
    newer[125] = 2;
    place.file("new.mat", newer).file("cut.mat", &file[..200]);
    place.pack("build mat:new.mat -o no").exits(2).says("version 7.3").says("hdf5:");
    place.pack("build mat:cut.mat -o no").exits(65).says("it is cut");
}

#[test]
fn structs_and_labels_of_matlab_are_joined() {
    let place = Place::new();
    place.file("in/a.jpg", flat_jpeg(b"a")).file("in/b.jpg", flat_jpeg(b"b"));
    let names = element(1, b"fname\0\0\0class\0\0\0");
    let mut structs = [element(5, &8u32.to_le_bytes()), names].concat();
    for (name, class) in [("b.jpg", 7u8), ("a.jpg", 3)] {
        structs.extend(matrix(4, &[1, 5], "", &element(16, name.as_bytes())));
        structs.extend(matrix(6, &[1, 1], "", &element(2, &[class])));
    }
    place.file("annos.mat", mat(&[matrix(2, &[1, 2], "annotations", &structs)]));
    place.pack("build in -o cars --join annos.mat:key=fname").succeeds();
    assert!(place.pack("cat cars a.json").succeeds().stdout.contains("\"class\":3"));
    place.file("labels.mat", mat(&[matrix(9, &[1, 2], "labels", &element(2, &[77, 102]))]));
    place.pack("build in -o flowers --join labels.mat:rows=order").succeeds();
    assert!(place.pack("cat flowers b.json").succeeds().stdout.contains("\"labels\":102"));
    place.pack("build mat:annos.mat -o no").exits(2).says("an array of structs, which is a table");
}

#[test]
fn pixels_in_a_table_become_pictures() {
    let place = Place::new();
    place.file(
        "in/digits.csv",
        "label,pixel1,pixel0,pixel2,pixel10\n5,2,1,3,255\n6,0,0,0,256\n7,9,8,7,6\n",
    );
    place.pack("build csv:in/digits.csv?png=pixel*&shape=2x2 -o out --on-problem skip").succeeds();
    let problems = format!("{:?}", place.problems("out"));
    assert!(problems.contains("pixel 3 is 256, and pixels are from 0 to 255"), "{problems}");
    let members = place.shards("out").concat();
    assert_eq!(members.len(), 4);
    assert_eq!(members[0].data, b"{\"label\":5}");
    assert_eq!(pixels(&members[1].data).to_luma8().into_raw(), [1, 2, 3, 255]);
    place.file("in/fer.csv", "emotion,pixels,Usage\n0,1 2 3 4 5 6,Training\n3,6 5 4 3 2 1,Test\n");
    place.pack("build csv:in/fer.csv?png=pixels&shape=3x2 -o fer").succeeds();
    let members = place.shards("fer").concat();
    assert_eq!(members[2].data, b"{\"Usage\":\"Test\",\"emotion\":3}");
    assert_eq!(pixels(&members[3].data).to_luma8().into_raw(), [6, 5, 4, 3, 2, 1]);
    place
        .pack("build csv:in/fer.csv?png=pixels&shape=3x3 -o no")
        .exits(1)
        .says("fewer than the 9 numbers");
    place
        .pack("build csv:in/fer.csv?png=nope&shape=3x3 -o no")
        .exits(2)
        .says("there is no column 'nope'");
    place
        .pack("build csv:in/digits.csv?png=pixel*&shape=3x3 -o no")
        .exits(2)
        .says("4 columns are 'pixel*'");
}

#[test]
fn netpbm_files_are_pictures() {
    let place = Place::new();
    place.file("in/a.ppm", b"P6\n2 1\n255\n\x01\x02\x03\x04\x05\x06");
    place.file("in/b.pgm", b"P5 2 1 255\nab").file("in/c.pbm", b"P4 2 1\n\x80");
    for key in ["a", "b", "c"] {
        place.file(format!("in/{key}.json"), "{}");
    }
    place.pack("build in -o out --require image").succeeds();
    place.pack("verify out --level decode").succeeds();
    place.pack("stats out").succeeds().says("Netpbm: 3").says("2x1: 3");
    place.file("in/b.pgm", b"P5 2 1 255\na");
    place
        .pack("build in -o no")
        .exits(1)
        .says("bad-image")
        .says("key b")
        .says("before the samples");
}
