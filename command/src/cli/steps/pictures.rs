//! Prints what the preparation of images has saved, and what it does to the speed of decoding.

use serde_json::json;
use tarflume_base::units;
use tarflume_packer::pictures::{DecodeSpeed, PictureTotals};

use crate::cli::arguments::source_args::ShowArgs;

/// Prints the totals of a run that prepared images.
pub(in crate::cli) fn prepared(totals: &PictureTotals, show: ShowArgs) {
    if show.quiet || totals.prepared + totals.left_alone == 0 {
        return;
    }
    let speed = totals.decode_speed();
    if show.is_json() {
        print_result!("{}", event(totals, speed)); // numbers only
        return;
    }
    print_result!("{}", text(totals));
    if let Some(speed) = speed {
        print_result!(
            "one thread decodes {:.0} images/s now, {:.0} before ({:.2} times; {})",
            speed.after,
            speed.before,
            speed.after / speed.before,
            units::counted(
                speed.images,
                "of the images was measured",
                "of the images were measured"
            )
        );
    }
}

fn text(totals: &PictureTotals) -> String {
    let kinds = [
        (totals.resized, "resized"),
        (totals.turned, "turned"),
        (totals.converted, "converted to JPEG"),
        (totals.lossless, "with the same pixels"),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<_> = kinds.map(|(n, kind)| format!("{} {kind}", units::count(*n))).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let before = totals.bytes_before;
    let after = totals.bytes_after;
    let change = (after as f64 / before.max(1) as f64 - 1.0) * 100.0;
    format!(
        "prepared {}{kinds}, left {} as they are: {} -> {} ({change:+.1} %)",
        units::counted(totals.prepared, "image", "images"),
        units::count(totals.left_alone),
        units::bytes(before),
        units::bytes(after),
    )
}

fn event(totals: &PictureTotals, speed: Option<DecodeSpeed>) -> serde_json::Value {
    let speed = speed.map(|speed| {
        json!({"images": speed.images, "images_per_second_before": speed.before,
               "images_per_second_after": speed.after})
    });
    json!({"event": "prepared", "prepared": totals.prepared, "left_alone": totals.left_alone,
           "resized": totals.resized, "turned": totals.turned, "converted": totals.converted,
           "lossless": totals.lossless, "bytes_before": totals.bytes_before,
           "bytes_after": totals.bytes_after, "decoding": speed})
}
