//! The addresses of the server and their replies.
//!
//! | address | reply |
//! |---|---|
//! | `/` | the page |
//! | `/api/samples?offset=&limit=&text=&class=&problem=&lacks=&min_width=&min_height=` | samples as JSON |
//! | `/thumb/ORDINAL`, `/picture/ORDINAL` | the picture as a JPEG, small or large |
//! | `/mask/ORDINAL/EXT` | a mask as a PNG |
//! | `/part/ORDINAL/EXT` | the bytes of a part |

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use tarflume_base::Failure;
use tarflume_inspect::view::Card;

use super::answer::Answer;
use super::filter::Filter;
use super::http::Request;
use super::site::{Sides, Site};

/// Longer sides of pictures in pixels.
const THUMB: u32 = 240;
const PICTURE: u32 = 1600;
/// Samples of one reply, and the bytes after which it has no more. The page asks for the rest.
const MOST: usize = 500;
const LONG: usize = 4 << 20;

/// Returns the reply to a request.
pub(super) fn route(site: &Arc<Site>, request: &Request) -> Answer {
    if !is_allowed(&request.host, &site.allowed) {
        // A name that someone else's DNS points here would let their page read the data.
        let text = "this host name is not accepted; give it to --allow-host\n";
        return Answer::error("421 Misdirected Request", text);
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let words: Vec<&str> = path.trim_start_matches('/').splitn(3, '/').collect();
    let reply = match words.as_slice() {
        [""] => Ok(Answer {
            policy: site.policy.clone(),
            ..Answer::of("text/html; charset=utf-8", site.page.clone())
        }),
        ["api", "samples"] => samples(site, query),
        ["thumb", ordinal] => picture(site, ordinal, THUMB),
        ["picture", ordinal] => picture(site, ordinal, PICTURE),
        ["mask", ordinal, ext] => mask(site, ordinal, &decoded(ext)),
        ["part", ordinal, ext] => part(site, ordinal, &decoded(ext)),
        _ => Ok(Answer::not_found("there is no such page\n")),
    };
    reply.unwrap_or_else(|failure| Answer::failed(&failure))
}

/// Returns true for `localhost`, for addresses, which no DNS can point elsewhere, and for allowed names.
fn is_allowed(host: &str, allowed: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok()
        || allowed.iter().any(|one| one.eq_ignore_ascii_case(name))
}

fn samples(site: &Site, query: &str) -> Result<Answer, Failure> {
    let mut filter = Filter::default();
    let mut offset = 0;
    let mut limit = MOST;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = String::from_utf8_lossy(&decoded(&value.replace('+', " "))).into_owned();
        let set = match name {
            "offset" => value.parse().map(|n| offset = n).map_err(|e| format!("offset: {e}\n")),
            "limit" => value.parse().map(|n| limit = n).map_err(|e| format!("limit: {e}\n")),
            name => filter.set(name, &value),
        };
        if let Err(text) = set {
            return Ok(Answer::error("400 Bad Request", text));
        }
    }
    let (total, page) = site.find(filter, offset, limit.min(MOST))?;
    let mut body = format!("{{\"total\":{total},\"samples\":[");
    let empty = body.len();
    for ordinal in page {
        if body.len() > LONG {
            break;
        }
        if let Some(card) = site.card(ordinal, Sides::default())? {
            let comma = if body.len() > empty { "," } else { "" };
            body += &format!("{comma}{}", described(&card));
        }
    }
    body += "]}";
    Ok(Answer::of("application/json", body.into_bytes()))
}

/// Returns a card with the addresses of its masks.
fn described(card: &Card) -> Value {
    let mut value = json!(card);
    if !card.masks.is_empty() {
        let masks =
            card.masks.iter().map(|(ext, _)| json!({"ext": ext, "url": mask_url(ext, card)}));
        value["masks"] = masks.collect();
    }
    value
}

fn mask_url(ext: &str, card: &Card) -> String {
    format!("mask/{}/{}", card.ordinal, encoded(ext))
}

fn picture(site: &Site, ordinal: &str, side: u32) -> Result<Answer, Failure> {
    let Ok(ordinal) = ordinal.parse() else { return Ok(Answer::not_found("not an ordinal\n")) };
    let Some(card) = site.card(ordinal, Sides { picture: side, masks: 0 })? else {
        return Ok(Answer::not_found("there is no such sample\n"));
    };
    Ok(match card.thumbnail {
        Some(small) => Answer::of("image/jpeg", small.bytes).kept(),
        None => Answer::of("image/svg+xml", placeholder(card.trouble.as_deref())),
    })
}

/// Returns a picture that says why there is none: a missing one would be an error in the browser's console.
fn placeholder(why: Option<&str>) -> Vec<u8> {
    let why = why.unwrap_or("no picture").replace('&', "&amp;").replace('<', "&lt;");
    let words: Vec<&str> = why.split(' ').collect();
    let lines: String =
        words.chunks(4).enumerate().take(10).map(|(n, words)| line(n, words)).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"240\" height=\"240\"><text fill=\"#888\" \
         font-family=\"sans-serif\" font-size=\"15\">{lines}</text></svg>"
    )
    .into_bytes()
}

fn line(n: usize, words: &[&str]) -> String {
    format!("<tspan x=\"12\" y=\"{}\">{}</tspan>", 30 + 20 * n, words.join(" "))
}

fn mask(site: &Site, ordinal: &str, ext: &[u8]) -> Result<Answer, Failure> {
    let Ok(ordinal) = ordinal.parse() else { return Ok(Answer::not_found("not an ordinal\n")) };
    let masks = site
        .card(ordinal, Sides { picture: 0, masks: PICTURE })?
        .map(|card| card.masks)
        .unwrap_or_default();
    let found = masks.into_iter().find(|(name, _)| name.as_bytes() == ext);
    Ok(match found {
        Some((_, png)) => Answer::of("image/png", png).kept(),
        None => Answer::not_found("there is no such mask\n"),
    })
}

fn part(site: &Arc<Site>, ordinal: &str, ext: &[u8]) -> Result<Answer, Failure> {
    let Ok(ordinal) = ordinal.parse() else { return Ok(Answer::not_found("not an ordinal\n")) };
    Ok(match site.part(ordinal, ext)? {
        Some(part) => Answer::streamed(media_type(ext), part).kept(),
        None => Answer::not_found("there is no such sample or part\n"),
    })
}

/// Returns the media type of an extension. What a browser could run is plain bytes.
fn media_type(ext: &[u8]) -> &'static str {
    match ext.rsplit(|&byte| byte == b'.').next().unwrap_or(ext) {
        b"jpg" | b"jpeg" => "image/jpeg",
        b"png" => "image/png",
        b"webp" => "image/webp",
        b"gif" => "image/gif",
        b"bmp" => "image/bmp",
        b"json" => "application/json",
        b"txt" | b"cls" | b"caption" | b"csv" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Decodes `%41`; a wrong escape stays as it is.
fn decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| bytes[at] == b'%').map(|hex| u8::from_str_radix(hex, 16)) {
            Some(Ok(byte)) => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |out, byte| {
        if is_plain(byte) {
            out + &char::from(byte).to_string()
        } else {
            format!("{out}%{byte:02X}")
        }
    })
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_hosts_are_refused() {
        let allowed = ["box.lan".to_string()];
        for host in
            ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:9", "box.lan:8080", "10.0.0.3"]
        {
            assert!(is_allowed(host, &allowed), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", ""] {
            assert!(!is_allowed(host, &allowed), "{host}");
        }
    }

    #[test]
    fn escapes_are_read_and_written() {
        assert_eq!(decoded("a%20b%2Fc%zz%4"), b"a b/c%zz%4");
        let text = String::from_utf8(placeholder(Some("a <b> & c"))).unwrap();
        assert!(text.contains("a &lt;b> &amp; c"), "{text}");
        assert_eq!(decoded(&encoded("\u{fc}/ .png")), "\u{fc}/ .png".as_bytes());
        assert_eq!(
            (media_type(b"seg.png"), media_type(b"svg")),
            ("image/png", "application/octet-stream")
        );
    }
}
