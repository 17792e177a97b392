//! Shards with false content: the samples that they yield, and errors with path, byte and key.

use tarflume::ErrorKind;
use tarflume_fixtures::Lie;

use super::read;

/// What a stream makes of a lie: keys in order, `!` for an error, and words of the errors.
fn told(lie: Lie) -> (String, Vec<tarflume::Error>) {
    let (mut keys, mut errors) = (Vec::new(), Vec::new());
    for item in read(&lie.bytes()) {
        match item {
            Ok((key, parts)) => {
                let exts: Vec<_> = parts.iter().map(|(e, _)| String::from_utf8_lossy(e)).collect();
                keys.push(format!("{}:{}", String::from_utf8_lossy(&key), exts.join("+")));
            }
            Err(error) => {
                keys.push("!".into());
                errors.push(error);
            }
        }
    }
    (keys.join(" "), errors)
}

#[test]
fn every_lie_is_an_error_with_its_place_or_honest() {
    for lie in Lie::ALL {
        let (keys, errors) = told(lie);
        let name = lie.name();
        let want = match lie {
            // Honest, or a matter of digests.
            Lie::FlippedBit | Lie::V7 | Lie::SignedChecksum | Lie::Gzip => None,
            Lie::DirectoryWithSize
            | Lie::Directory
            | Lie::Symlink
            | Lie::Hardlink
            | Lie::Device => None,
            Lie::RepeatedKey | Lie::Interleaved | Lie::CaseTwins | Lie::LongLinkNoNul => None,
            Lie::DotDot | Lie::DotDotInside | Lie::Absolute | Lie::NonUtf8Name => None,
            Lie::NewlineInName | Lie::EmptyName | Lie::AllZero => None,
            _ => Some(1),
        };
        assert_eq!(errors.len(), want.unwrap_or(0), "{name}: {keys} {errors:?}");
        for error in errors {
            let place = error.place();
            assert_eq!(place.path.as_deref(), Some("memory.tar".as_ref()), "{name}: {error}");
            assert!(place.byte.is_some(), "{name}: {error}");
            // Where no sample was begun there is no key to name.
            let between = matches!(lie, Lie::Empty | Lie::GarbageAfterEnd | Lie::SampleAfterEnd);
            assert!(
                place.key.is_some() || between || keys.starts_with('!'),
                "{name}: {keys} {error}"
            );
            assert!(!error.to_string().contains('\n'), "{name}: {error}");
        }
    }
}

#[test]
fn lies_are_told_as_they_are() {
    let cases = [
        (Lie::NoEnd, "s0:jpg+json s1:jpg+json !", "without its end marker"),
        (Lie::CutAtBlock, "s0:jpg+json !", "without its end marker"),
        (Lie::CutMidData, "s0:jpg+json !", "ends inside this member"),
        (Lie::OneZeroBlock, "s0:jpg+json s1:jpg+json !", "one of its two zero blocks"),
        // The data after s0 is unreadable, so s0 is not known to be complete.
        (Lie::BadChecksum, "!", "checksum"),
        (Lie::SizeOverflow, "!", "more bytes than any file has"),
        (Lie::SampleAfterEnd, "s0:jpg+json s1:jpg+json s2:jpg+json !", "more than zeros follows"),
        (Lie::GarbageAfterEnd, "s0:jpg+json s1:jpg+json s2:jpg+json !", "more than zeros follows"),
        (Lie::RepeatedPart, "s0:jpg+json ! s2:jpg+json", "part 'jpg' is in this sample twice"),
        (
            Lie::RepeatedPartByCase,
            "s0:jpg+json ! s2:jpg+json",
            "part 'jpg' is in this sample twice",
        ),
        (Lie::Empty, "!", "the tar is empty"),
        (Lie::GnuSparse, "!", "sparse"),
    ];
    for (lie, keys, words) in cases {
        let (got, errors) = told(lie);
        assert_eq!(got, keys, "{}", lie.name());
        assert!(errors[0].text().contains(words), "{}: {}", lie.name(), errors[0]);
    }
    let (keys, _) = told(Lie::Directory);
    assert_eq!(keys, "s0:jpg+json s1:jpg+json s2:jpg+json", "a folder does not end a sample");
    let (keys, _) = told(Lie::AllZero);
    assert_eq!(keys, "");
}

#[test]
fn a_bad_sample_says_which_and_where() {
    let (_, errors) = told(Lie::RepeatedPart);
    assert_eq!(errors[0].kind(), ErrorKind::Damaged);
    assert_eq!(errors[0].place().key.as_deref(), Some("s1"));
}

#[test]
fn other_compressions_are_refused_by_name() {
    let cases: [(&[u8], &str); 2] =
        [(b"\xfd7zXZ\0\0\0 and more", "xz"), (b"BZh91AY&SY and more", "bzip2")];
    for (bytes, format) in cases {
        let error = read(bytes).remove(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongFormat);
        assert!(error.text().contains(format), "{error}");
    }
}
