//! Names of members that a reader or a terminal cannot handle. Pure.

/// Returns why some reader or terminal would fail on a member's name.
pub(in crate::verify) fn bad_name(name: &[u8]) -> Option<&'static str> {
    if name.starts_with(b"/") {
        return Some("the name is absolute; unpacking it would write outside the folder");
    }
    if name.split(|&b| b == b'/').any(|component| component == b"..") {
        return Some("the name holds '..'; unpacking it would write outside the folder");
    }
    match std::str::from_utf8(name) {
        Err(_) => Some("the name is not UTF-8"),
        Ok(text) if text.chars().any(char::is_control) => Some("the name holds control characters"),
        Ok(_) => None,
    }
}
