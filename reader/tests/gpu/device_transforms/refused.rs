//! Recipes that no device carries out: errors of the builder that say what to write instead.

use tarflume::{DeviceShare, ErrorKind, Image, RandomResizedCrop, TransformsOn, Views};

use super::{Loader, SIMCLR, image, shards};

fn refusal(recipe: &str) -> String {
    let dir = shards();
    let column = image(recipe, TransformsOn::Device);
    let error = Loader::builder(dir.path()).column("image", column).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    error.to_string()
}

#[test]
fn an_operation_without_a_kernel_is_named() {
    for (name, inner) in [
        (
            "ElasticTransform",
            r#"{"ElasticTransform": {"alpha": [50.0, 50.0], "sigma": [5.0, 5.0]}}"#,
        ),
        ("JPEG", r#"{"JPEG": {"quality": [50, 90]}}"#),
        ("AugMix", r#"{"AugMix": {}}"#),
        ("TimmAugment", r#"{"TimmAugment": {"config": "augmix-m5-w4"}}"#),
        ("RandomErasing", r#"{"RandomErasing": {"count": [1, 33]}}"#),
        (
            "JPEG",
            r#"{"RandomApply": {"transforms": [{"RandomInvert": {}}, {"JPEG": {"quality": [50, 90]}}], "p": 0.1}}"#,
        ),
    ] {
        let text = refusal(&format!(r#"[{{"RandomResizedCrop": {{"size": [9, 9]}}}}, {inner}]"#));
        let said = format!("{name} has no kernel for a device: use transforms_on=\"host\"");
        assert!(text.contains(&said), "{text}");
    }
}

#[test]
fn pictures_of_several_sizes_are_refused() {
    let text = refusal(r#"[{"Resize": {"size": 9}}, {"RandomInvert": {}}]"#);
    assert!(text.contains("pictures of several"), "{text}");
}

#[test]
fn views_are_made_on_the_host() {
    let dir = shards();
    let views = Views::new().group("one", 2, image(SIMCLR, TransformsOn::Device));
    let error = Loader::builder(dir.path()).views(&views).build().unwrap_err();
    assert!(error.to_string().contains("transforms_on=\"host\""), "{error}");
}

#[test]
fn a_loader_without_a_device_has_the_same_rows_and_a_warning() {
    let dir = shards();
    let [host, there] = [TransformsOn::Host, TransformsOn::Device].map(|on| {
        let builder = Loader::builder(dir.path()).column("image", image(SIMCLR, on));
        builder.take(8).batch(4).build().unwrap()
    });
    assert_eq!([&host, &there].map(|loader| loader.epoch(0).count()), [2, 2]);
    for (one, other) in host.epoch(0).zip(there.epoch(0)) {
        let one = one.unwrap();
        let other = other.unwrap();
        let bytes = other.column("image").unwrap().bytes().to_vec();
        assert_eq!(one.column("image").unwrap().bytes(), bytes);
    }
    assert_eq!(host.stats().warning, None);
    let warning = there.stats().warning.unwrap();
    let says = "transforms run on the CPU: the loader has no device";
    assert!(warning.as_str().starts_with(says), "{warning:?}");
    let decoded =
        Image::new("jpg", RandomResizedCrop::new(9)).device_decoder(DeviceShare::fixed(500));
    let both = Loader::builder(dir.path()).column("image", image(SIMCLR, TransformsOn::Device));
    let both = both.column("decoded", decoded).build().unwrap().stats().warning.unwrap();
    let says =
        "JPEGs are decoded by the CPU, and transforms run on the CPU: the loader has no device";
    assert!(both.as_str().starts_with(says), "{both:?}");
}
