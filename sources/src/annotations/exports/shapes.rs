//! What shapes of different programs have in common. Pure.

/// Returns left, top, width and height around points; `None` if there are none.
pub(super) fn around(points: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 4]> {
    let mut least = [f64::INFINITY; 2];
    let mut most = [f64::NEG_INFINITY; 2];
    for point in points {
        for side in 0..2 {
            least[side] = least[side].min(point[side]);
            most[side] = most[side].max(point[side]);
        }
    }
    let [left, top] = least;
    (left <= most[0]).then(|| [left, top, most[0] - left, most[1] - top])
}

/// Returns the name of a class.
///
/// # Errors
/// Returns the reason if there is none.
pub(super) fn class_of(label: Option<String>) -> Result<String, String> {
    label.filter(|label| !label.is_empty()).ok_or_else(|| "an object has no label".into())
}
