//! Tests of the actions of a mix.

use tarflume_image::ImageSize;

use super::*;
use crate::actions::{Action, SolarizeAdd};
use crate::recipe::apply;

fn frame(width: u32, bytes: &[u8]) -> Frame {
    let mut frame = Frame::default();
    let size = ImageSize::new(width, 1);
    frame.begin(size, bytes.len() / width as usize).unwrap().copy_from_slice(bytes);
    frame
}

#[test]
fn each_copy_begins_with_the_picture() {
    let mut mixed = frame(3, &[0, 100, 200]);
    let add = Action::from(SolarizeAdd { add: 40, threshold: 255 });
    let actions = [
        MixBegin { weight: 0.5 }.into(),
        add.clone(),
        MixNext { weight: 0.25 }.into(),
        add.clone(),
        add,
        MixEnd { weight: 0.25 }.into(),
    ];
    // The weights of 0, 40 and 80 more, of 255 at most.
    for _ in 0..2 {
        mixed.begin(ImageSize::new(3, 1), 1).unwrap().copy_from_slice(&[0, 100, 200]);
        apply(&actions, &mut mixed).unwrap();
        assert_eq!(mixed.pixels(), [30, 130, 100 + 60 + 63]);
    }
}

#[test]
fn sums_are_rounded_down_and_end_at_255() {
    let mut mixed = frame(3, &[0, 7, 255]);
    let actions = [MixBegin { weight: 0.75 }.into(), MixEnd { weight: 0.75 }.into()];
    apply(&actions, &mut mixed).unwrap();
    assert_eq!(mixed.pixels(), [0, 10, 255]);
}

#[test]
fn a_mix_without_a_beginning_and_one_of_two_sizes_are_refused() {
    let end = Action::from(MixEnd { weight: 1.0 });
    let mut one = frame(3, &[0; 3]);
    let error = end.apply(&mut one).unwrap_err();
    assert!(error.text().contains("mix_begin"), "{error}");

    MixBegin { weight: 0.0 }.apply(&mut one).unwrap();
    one.begin(ImageSize::new(1, 1), 3).unwrap();
    let error = end.apply(&mut one).unwrap_err();
    assert!(error.text().contains("keep the size"), "{error}");

    // An end ends: the next needs a beginning of its own.
    let mut other = frame(3, &[9; 3]);
    apply(&[MixBegin { weight: 0.0 }.into(), end.clone()], &mut other).unwrap();
    assert_eq!(other.pixels(), [9; 3]);
    assert!(end.apply(&mut other).is_err());
}
