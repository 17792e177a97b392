//! Formats numbers for people: thousands separators, units, singular and plural.
//!
//! Output for programs (JSON, manifests) uses plain digits instead.

/// Formats digits in groups of three: `12,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats bytes in decimal units with about three digits: `512 bytes`, `2.2 GB`, `268 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if n < 1000 {
        return counted(n, "byte", "bytes");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    // A value that would be rounded to 1000 belongs to the next unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(value < 99.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// Formats a number with its noun: `1 sample`, `12,345 samples`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345, "12,345"),
            (7_646_857, "7,646,857"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(count(n), text);
        }
        assert_eq!(counted(1, "shard", "shards"), "1 shard");
        assert_eq!(counted(2000, "shard", "shards"), "2,000 shards");
    }

    #[test]
    fn bytes_keep_about_three_digits() {
        for (n, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (99_949, "99.9 kB"),
            (99_950, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (268_435_456, "268 MB"),
            (2_200_000_000, "2.2 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(n), text, "{n}");
        }
    }
}
