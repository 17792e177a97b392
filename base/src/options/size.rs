//! Sizes as text: `256MiB`, `1GB`, `500k`, `1073741824`.

/// Parses a size with or without unit to bytes.
///
/// # Errors
/// Returns an error that shows the expected form.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(format!("invalid size '{text}'; give 256MiB, 1GB or a number of bytes")),
    };
    let number: u64 =
        number.parse().map_err(|_| format!("invalid size '{text}'; give 256MiB or 1GB"))?;
    match number.checked_mul(factor) {
        Some(0) | None => Err(format!("'{text}' is not a usable size")),
        Some(bytes) => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_read() {
        assert_eq!(super::parse("256MiB"), Ok(256 << 20));
        assert_eq!(super::parse("1 GB"), Ok(1_000_000_000));
        assert_eq!(super::parse("4096"), Ok(4096));
        for bad in ["", "MiB", "0", "1.5GB", "10 furlongs", "99999999999TB"] {
            assert!(super::parse(bad).is_err(), "{bad}");
        }
    }
}
