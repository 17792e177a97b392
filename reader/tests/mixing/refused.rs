//! Settings and columns that cannot be mixed.

use tarflume::transforms::mixing::Mix;
use tarflume::transforms::{CopyPaste, Mosaic};
use tarflume::{
    Annotations, BoxFormat, Boxes, DType, ErrorKind, Image, Json, LoaderBuilder, MaskKind,
    MaskPicture, Masks, Raw, Resize,
};

use super::{SIZE, both, plain, samples};

fn refusal(loader: LoaderBuilder) -> String {
    let error = loader.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    error.to_string()
}

#[test]
fn columns_that_cannot_be_mixed_are_named() {
    fn soft(image: &str, label: &str) -> Mix {
        Mix::new(image, label).mixup(0.2).cutmix(1.0).num_classes(6)
    }

    let shards = samples(6);
    let text = refusal(plain(&shards).mix(soft("picture", "label")));
    assert!(text.contains("no column 'picture'; the columns are: image, float, label"), "{text}");
    let text = refusal(plain(&shards).mix(soft("image", "class")));
    assert!(text.contains("no column 'class'"), "{text}");
    let any = plain(&shards).bytes("json");
    let text = refusal(any.mix(soft("json", "label")));
    assert!(text.contains("'json'") && text.contains("give its pictures a size"), "{text}");
    let text = refusal(plain(&shards).mix(soft("label", "label")));
    assert!(text.contains("'label'") && text.contains("its elements are int64"), "{text}");
    let flat = Raw::new("raw").dtype(DType::U8).shape([SIZE.iter().product::<usize>()]);
    let text = refusal(plain(&shards).column("flat", flat).mix(soft("flat", "label")));
    assert!(text.contains("'flat'") && text.contains("leave cutmix out"), "{text}");
    let float = Json::new("json", "/class").dtype(DType::F32);
    let text = refusal(plain(&shards).column("class", float).mix(soft("image", "class")));
    assert!(text.contains("'class'") && text.contains("such as int64"), "{text}");
    let text = refusal(plain(&shards).mix(soft("image", "float")));
    assert!(text.contains("'float'") && text.contains("a label is one integer"), "{text}");
    let twice = plain(&shards).column("target", Json::new("json", "/class"));
    let text = refusal(twice.mix(soft("image", "label")));
    assert!(text.contains("two columns 'target'"), "{text}");
}

#[test]
fn settings_are_checked_before_anything_is_read() {
    let shards = samples(6);
    let text = refusal(plain(&shards).mix(both("image")));
    assert!(text.contains("soft targets need num_classes"), "{text}");
    let text = refusal(plain(&shards).mix(both("image").mixup(-1.0).num_classes(6)));
    assert!(text.contains("its mixup alpha is -1"), "{text}");
}

#[test]
fn a_mosaic_is_made_of_one_column_of_pictures_of_one_size() {
    fn of(image: &str) -> Mosaic {
        Mosaic { image: image.into(), ..Mosaic::default() }
    }

    let shards = samples(6);
    let text = refusal(plain(&shards).mosaic(of("picture")));
    assert!(text.contains("no column 'picture'; the columns are: image, float, label"), "{text}");
    let text = refusal(plain(&shards).mosaic(of("image")));
    assert!(text.contains("'image'") && text.contains("no pictures that a recipe makes"), "{text}");
    let picture = Image::new("jpg", Resize::exact(8));
    let other = Annotations::of(&picture.clone().stream(1));
    let boxes = other.boxes("boxes", Boxes::new("/boxes", BoxFormat::Xywh));
    let both = plain(&shards).column("picture", picture).annotations(&boxes);
    let text = refusal(both.mosaic(of("picture")));
    assert!(text.contains("'boxes'") && text.contains("lies on another picture"), "{text}");
    let sizes = plain(&shards).column("picture", Image::new("jpg", Resize::shorter(8)));
    let text = refusal(sizes.mosaic(of("picture")));
    assert!(text.contains("'picture'") && text.contains("pictures of one size"), "{text}");
}

#[test]
fn objects_are_pasted_by_one_column_of_masks_of_the_same_objects() {
    let of = CopyPaste { image: "picture".into(), ..CopyPaste::default() };
    let shards = samples(6);
    let text = refusal(plain(&shards).copy_paste(of.clone()));
    assert!(text.contains("no column 'picture'; the columns are: image, float, label"), "{text}");
    let text = refusal(plain(&shards).copy_paste(CopyPaste::default()));
    assert!(text.contains("'image'") && text.contains("no pictures that a recipe makes"), "{text}");
    let picture = Image::new("jpg", Resize::exact(8));
    let loader = plain(&shards).column("picture", picture.clone());
    let boxes = Boxes::new("/boxes", BoxFormat::Xywh);
    let without = Annotations::of(&picture).boxes("boxes", boxes.clone());
    let text = refusal(loader.clone().annotations(&without).copy_paste(of.clone()));
    assert!(text.contains("'picture'") && text.contains("`Annotations::masks`"), "{text}");
    let masks = Annotations::of(&picture).masks("masks", Masks::new("/shapes"));
    let apart = loader.clone().annotations(&masks).annotations(&without);
    let text = refusal(apart.copy_paste(of.clone()));
    assert!(
        text.contains("'boxes'") && text.contains("apart from those of column 'masks'"),
        "{text}"
    );
    let twice = masks.clone().masks("other", Masks::new("/shapes"));
    let text = refusal(loader.clone().annotations(&twice).copy_paste(of.clone()));
    assert!(text.contains("'other'") && text.contains("by one column of masks"), "{text}");
    let plane = loader
        .clone()
        .annotations(&masks)
        .column("plane", MaskPicture::of(&picture, "png", MaskKind::Semantic));
    let text = refusal(plane.copy_paste(of.clone()));
    assert!(text.contains("'plane'") && text.contains("take the column out"), "{text}");
    let wrong = CopyPaste { object_p: 2.0, ..of };
    let text = refusal(loader.annotations(&masks).copy_paste(wrong));
    assert!(text.contains("CopyPaste: object_p is 2"), "{text}");
}

#[test]
fn a_label_that_is_no_class_is_an_error_of_its_batch() {
    let shards = samples(12);
    for threads in [1, 4] {
        let mix = both("image").num_classes(7);
        let loader = plain(&shards).shuffle(tarflume::Shuffle::None).mix(mix);
        let loader = loader.threads(threads).build().unwrap();
        let mut epoch = loader.epoch(0);
        assert!(epoch.next().unwrap().is_ok());
        let error = epoch.next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode);
        let text = error.to_string();
        assert!(text.contains("the label is 7, and classes are 0 to 6"), "{text}");
        assert!(text.contains("'label'") && text.contains("sample/000007"), "{text}");
    }
}
