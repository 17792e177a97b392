//! Which actions are in a list, and how.

use tarflume_image::ImageSize;

use super::*;
use crate::mixing::Region;
use crate::operations::filter::RandomErasing;

const ON: Shape = Shape { size: ImageSize { width: 12, height: 9 }, channels: 3 };

fn actions(text: &str) -> Vec<Action> {
    serde_json::from_str(text).expect(text)
}

/// The list of actions as words, and how many actions are left to the host.
fn written(actions: &[Action], values: Option<RowScale>) -> (Vec<u32>, usize) {
    let mut list = [0; LIST_BYTES];
    let on_host = write(actions, ON, values, usize::MAX, &mut list).unwrap();
    (list.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect(), on_host)
}

fn repeated(actions: &[Action], count: usize) -> Vec<Action> {
    actions.iter().cycle().take(actions.len() * count).cloned().collect()
}

/// The kinds of the records from a word on.
fn kinds(words: &[u32], count: usize, first: usize) -> Vec<u32> {
    let mut at = first;
    (0..count)
        .map(|_| {
            let kind = words[at];
            at += words[at + 1] as usize;
            kind
        })
        .collect()
}

#[test]
fn neighboring_tables_are_one_record() {
    let all = actions(
        r#"[{"invert": {}}, {"adjust_brightness": {"factor": 0.5}}, {"adjust_contrast": {"factor": 0.3}},
            {"posterize": {"bits": 3}}]"#,
    );
    let (words, on_host) = written(&all, None);
    assert_eq!((on_host, words[PIXELS]), (0, 3));
    assert_eq!(kinds(&words, 3, HEAD), [1, 2, 1].map(|kind| kind as u32));
    // 255 - 100, halved.
    assert_eq!(words[HEAD + 2 + 25] & 0xff, 77);
    assert_eq!((words[MIX], words[PARTNER]), (0, u32::MAX));
}

#[test]
fn what_has_no_kernel_and_what_is_before_it_is_the_hosts() {
    for (text, on_host) in [
        (r#"[{"invert": {}}, {"jpeg": {"quality": 50}}, {"equalize": {}}]"#, 2),
        (
            r#"[{"mix_begin": {"weight": 0.5}}, {"invert": {}}, {"mix_end": {"weight": 0.5}}, {"invert": {}}]"#,
            3,
        ),
        (
            r#"[{"equalize": {}}, {"pad": {"padding": [1, 0, 0, 0], "fill": [0, 0, 0], "padding_mode": "edge"}}, {"invert": {}},
                {"crop": {"top": 0, "left": 1, "height": 9, "width": 12}}, {"equalize": {}}]"#,
            4,
        ),
        // Two pixels wider and back: what is between them is of another size.
        (
            r#"[{"resize": {"size": [9, 14], "interpolation": "bilinear"}}, {"equalize": {}},
                {"resize": {"size": [9, 12], "interpolation": "bilinear"}}, {"invert": {}}]"#,
            3,
        ),
        (
            r#"[{"gaussian_blur": {"kernel_size": [1001, 3], "sigma": [200.0, 1.0]}}, {"equalize": {}}]"#,
            1,
        ),
        (
            r#"[{"quarter_turn": {"turns": 1}}, {"quarter_turn": {"turns": 3}}, {"equalize": {}}]"#,
            2,
        ),
        ("[]", 0),
    ] {
        let all = actions(text);
        let (words, found) = written(&all, None);
        assert_eq!(found, on_host, "{text}");
        assert!(words[PIXELS] as usize <= all.len() - on_host);
    }
}

/// Each table takes 66 words, of 496: seven fit, and the equalizing between and behind them, two words each.
#[test]
fn what_does_not_fit_is_the_hosts() {
    let mut all = Vec::new();
    for _ in 0..20 {
        all.extend(actions(r#"[{"invert": {}}, {"equalize": {}}]"#));
    }
    let (words, on_host) = written(&all, None);
    let listed = all.len() - on_host;
    assert_eq!(listed, 7 + 8);
    assert_eq!(words[PIXELS] as usize, listed);
    let kinds = kinds(&words, listed, HEAD);
    let expected: Vec<u32> = all[on_host..]
        .iter()
        .map(|action| if matches!(action, Action::Invert(_)) { 1 } else { 8 })
        .collect();
    assert_eq!(kinds, expected);
    // Tables without anything between them are one, however many.
    let tables = actions(r#"[{"invert": {}}, {"posterize": {"bits": 4}}]"#);
    let tables = repeated(&tables, 500);
    assert_eq!(written(&tables, None).1, 0);
}

#[test]
fn rectangles_of_values_are_behind_those_of_pixels() {
    let all = actions(
        r#"[{"invert": {}},
            {"erase": {"top": 1, "left": 2, "height": 3, "width": 40, "value": {"constant": [1.0, 2.0, 3.0]}}},
            {"erase": {"top": 7, "left": 2, "height": 3, "width": 40, "value": {"constant": [1.0, 2.0, 3.0]}}}]"#,
    );
    let (words, on_host) = written(&all, Some(RowScale::One));
    assert_eq!((on_host, words[PIXELS], words[VALUES]), (0, 1, 2));
    let at = words[VALUES_AT] as usize;
    assert_eq!(kinds(&words, 2, at), [17, 17]);
    // Inside the picture; the width before it was cut is the last word.
    assert_eq!(words[at + 2..at + 6], [1, 2, 3, 10]);
    assert_eq!(words[at + 14 + 2..at + 14 + 6], [7, 2, 2, 10]);
    assert_eq!(words[at + 13], 40);
    assert_eq!(f32::from_bits(words[at + 11]), 2.0 * (1.0 / 255.0));
    let (words, _) = written(&all, None);
    assert_eq!((words[PIXELS], words[VALUES]), (3, 0));
}

#[test]
fn as_many_rectangles_fit_as_an_operation_may_have() {
    let most = RandomErasing { p: 1.0, count: [MOST_RECTANGLES; 2], ..RandomErasing::default() };
    let recipe = Recipe::new([most.clone().into()]);
    assert_eq!(recipe.without_kernel(), None);
    let mut all = Vec::new();
    recipe.draw(1, 0, ON, &mut all).unwrap();
    assert_eq!(written(&all, Some(RowScale::Normalized)).1, 0);
    let two = Recipe::new([most.clone().into(), RandomErasing::default().into()]);
    assert_eq!(two.without_kernel(), Some("RandomErasing"));
    let erase = actions(
        r#"[{"erase": {"top": 0, "left": 0, "height": 1, "width": 1, "value": {"noise": 1}}}]"#,
    );
    let rectangles = repeated(&erase, MOST_RECTANGLES as usize);
    let (words, on_host) = written(&rectangles, Some(RowScale::Normalized));
    assert_eq!((on_host, words[VALUES]), (0, MOST_RECTANGLES));
    let mut list = [0; LIST_BYTES];
    write(&repeated(&erase, 40), ON, Some(RowScale::One), usize::MAX, &mut list).unwrap_err();
    let more = RandomErasing { count: [1, MOST_RECTANGLES + 1], ..most };
    assert_eq!(Recipe::new([more.into()]).without_kernel(), Some("RandomErasing"));
}

#[test]
fn a_mix_is_written_into_the_head() {
    let mut list = [0; LIST_BYTES];
    write(&[], ON, None, usize::MAX, &mut list).unwrap();
    let region = Region { top: 1, left: 2, bottom: 3, right: 4 };
    let how = How::Paste { region, lam: 0.75 };
    write_mix(&mut list, &MixedRow { row: 0, partner: 5, how });
    let words: Vec<u32> = list.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    assert_eq!(words[MIX..=PARTNER], [2, 5]);
    assert_eq!(words[REGION..REGION + 4], [1, 2, 3, 4]);
    write_mix(&mut list, &MixedRow { row: 0, partner: 6, how: How::Blend { lam: 0.25 } });
    let words: Vec<u32> = list.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    assert_eq!(words[MIX..=OTHER], [1, 6, 0.25f32.to_bits(), 0.75f32.to_bits()]);
}
