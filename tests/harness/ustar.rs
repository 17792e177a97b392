//! A reader of plain ustar that is too simple to be wrong: it supports no extension and asserts
//! everything.

/// A member of a tar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// The position of its header.
    pub(crate) header: usize,
    /// The start of its data.
    pub(crate) at: usize,
    pub(crate) data: Vec<u8>,
}

/// Returns the members of a tar that `pack` wrote without pax blocks.
///
/// # Panics
/// Panics for anything that `pack` does not promise: type, owner, mode, time, magic, checksum, end.
pub(crate) fn members_of(tar: &[u8]) -> Vec<Member> {
    let mut members = Vec::new();
    let mut at = 0;
    loop {
        let header = &tar[at..at + 512];
        if header.iter().all(|&b| b == 0) {
            assert_eq!(
                tar.len(),
                at + 1024,
                "two blocks of zeros end the tar, and nothing follows"
            );
            assert!(tar[at..].iter().all(|&b| b == 0));
            return members;
        }
        assert_eq!(&header[257..265], b"ustar\x0000", "magic and version at byte {at}");
        assert_eq!(header[156], b'0', "a regular file at byte {at}");
        assert_eq!(octal(&header[100..108]), 0o644, "mode");
        for (field, what) in [(108..116, "uid"), (116..124, "gid"), (136..148, "mtime")] {
            assert_eq!(octal(&header[field]), 0, "{what} at byte {at}");
        }
        let spaced =
            header.iter().enumerate().map(|(i, &b)| if (148..156).contains(&i) { b' ' } else { b });
        assert_eq!(
            octal(&header[148..156]),
            spaced.map(u64::from).sum::<u64>(),
            "checksum at byte {at}"
        );
        let name = text(&header[..100]);
        let prefix = text(&header[345..500]);
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let size = octal(&header[124..136]) as usize;
        let data = tar[at + 512..at + 512 + size].to_vec();
        let end = at + 512 + size.next_multiple_of(512);
        assert!(tar[at + 512 + size..end].iter().all(|&b| b == 0), "padding at byte {at}");
        members.push(Member { name, header: at, at: at + 512, data });
        at = end;
    }
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    String::from_utf8(field[..end].to_vec()).unwrap()
}

fn octal(field: &[u8]) -> u64 {
    u64::from_str_radix(text(field).trim(), 8).unwrap()
}
