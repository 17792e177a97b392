//! `ImageSizes`: the sizes of an image before and after preparation, as fields of a JSON object.

use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_image::ImageSize;

/// The sizes of an image before and after preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSizes {
    /// The size before, as stored.
    pub before: ImageSize,
    /// Bytes before.
    pub bytes: u64,
    /// The size after, as stored.
    pub after: ImageSize,
}

impl ImageSizes {
    /// Returns a JSON object with the fields `original_width`, `original_height`, `original_bytes`,
    /// `width` and `height` added. The bytes of the other fields stay, and so do fields that the
    /// object has already. Without an object, returns a new one.
    ///
    /// # Errors
    /// Returns the reason if `json` is not an object.
    pub fn added_to(&self, json: Option<&[u8]>, rules: JsonRules) -> Result<Vec<u8>, Message> {
        let json = json.unwrap_or(b"{}");
        let object = match parse(json, rules) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err(wrong(Message::words("it is none"))),
            Err(fault) => return Err(wrong(tarflume_base::json_rules::sentence(&fault))),
        };
        let fields = [
            ("original_width", u64::from(self.before.width)),
            ("original_height", u64::from(self.before.height)),
            ("original_bytes", self.bytes),
            ("width", u64::from(self.after.width)),
            ("height", u64::from(self.after.height)),
        ];
        let missing = fields.iter().filter(|(name, _)| !object.contains_key(*name));
        let added: Vec<String> = missing.map(|(name, n)| format!("\"{name}\": {n}")).collect();
        let end = json.iter().rposition(|&byte| byte == b'}').expect("an object ends with a brace");
        let mut out = json[..end].to_vec();
        if !object.is_empty() && !added.is_empty() {
            out.extend(b", ");
        }
        out.extend(added.join(", ").bytes());
        out.extend_from_slice(&json[end..]);
        Ok(out)
    }
}

fn wrong(why: Message) -> Message {
    message!("bad JSON: sizes of images are noted in objects only: {why}"; why = why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_added_and_the_others_keep_their_bytes() {
        let before = ImageSize::new(640, 480);
        let after = ImageSize::new(320, 240);
        let sizes = ImageSizes { before, bytes: 9999, after };
        let added = |json: &str| {
            String::from_utf8(sizes.added_to(Some(json.as_bytes()), JsonRules::Strict).unwrap())
                .unwrap()
        };
        let all = r#""original_width": 640, "original_height": 480, "original_bytes": 9999, "width": 320, "height": 240"#;
        assert_eq!(added("{}"), format!("{{{all}}}"));
        assert_eq!(sizes.added_to(None, JsonRules::Strict).unwrap(), added("{}").into_bytes());
        assert_eq!(
            added("{\"a\": 1.50, \"b\": \"}\"}\n"),
            format!("{{\"a\": 1.50, \"b\": \"}}\", {all}}}\n")
        );
        let known = added(r#"{"original_width": 7, "width": null}"#);
        assert_eq!(
            known,
            r#"{"original_width": 7, "width": null, "original_height": 480, "original_bytes": 9999, "height": 240}"#
        );
        assert_eq!(added(&added("{}")), added("{}"), "adding again changes nothing");
        for bad in ["[1]", "{", "3"] {
            assert!(sizes.added_to(Some(bad.as_bytes()), JsonRules::Strict).is_err(), "{bad}");
        }
    }
}
