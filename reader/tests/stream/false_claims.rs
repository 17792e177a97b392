//! Shards with false content: the samples that they yield, and errors with path, byte and key.

use tarflume::ErrorKind;
use tarflume_fixtures::FalseClaim;

use super::read;

/// What a stream makes of a false claim: keys in order, `!` for an error, and words of the errors.
fn outcome(claim: FalseClaim) -> (String, Vec<tarflume::Error>) {
    let mut keys = Vec::new();
    let mut errors = Vec::new();
    for item in read(&claim.bytes()) {
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
fn every_false_claim_is_an_error_with_its_place_or_reads_as_honest() {
    for claim in FalseClaim::ALL {
        let (keys, errors) = outcome(claim);
        let name = claim.name();
        let want = match claim {
            // Honest, or a matter of digests.
            FalseClaim::FlippedBit
            | FalseClaim::V7
            | FalseClaim::SignedChecksum
            | FalseClaim::Gzip => None,
            FalseClaim::DirectoryWithSize
            | FalseClaim::Directory
            | FalseClaim::Symlink
            | FalseClaim::Hardlink
            | FalseClaim::Device => None,
            FalseClaim::RepeatedKey
            | FalseClaim::Interleaved
            | FalseClaim::CaseTwins
            | FalseClaim::LongLinkNoNul => None,
            FalseClaim::DotDot
            | FalseClaim::DotDotInside
            | FalseClaim::Absolute
            | FalseClaim::NonUtf8Name => None,
            FalseClaim::NewlineInName | FalseClaim::EmptyName | FalseClaim::AllZero => None,
            _ => Some(1),
        };
        assert_eq!(errors.len(), want.unwrap_or(0), "{name}: {keys} {errors:?}");
        for error in errors {
            let place = error.place();
            assert_eq!(place.path.as_deref(), Some("memory.tar".as_ref()), "{name}: {error}");
            assert!(place.byte.is_some(), "{name}: {error}");
            // Where no sample was begun there is no key to name.
            let between = matches!(
                claim,
                FalseClaim::Empty | FalseClaim::GarbageAfterEnd | FalseClaim::SampleAfterEnd
            );
            assert!(
                place.key.is_some() || between || keys.starts_with('!'),
                "{name}: {keys} {error}"
            );
            assert!(!error.to_string().contains('\n'), "{name}: {error}");
        }
    }
}

#[test]
fn false_claims_are_reported_as_planted() {
    let cases = [
        (FalseClaim::NoEnd, "s0:jpg+json s1:jpg+json !", "without its end marker"),
        (FalseClaim::CutAtBlock, "s0:jpg+json !", "without its end marker"),
        (FalseClaim::CutMidData, "s0:jpg+json !", "ends inside this member"),
        (FalseClaim::OneZeroBlock, "s0:jpg+json s1:jpg+json !", "one of its two zero blocks"),
        // The data after s0 is unreadable, so s0 is not known to be complete.
        (FalseClaim::BadChecksum, "!", "checksum"),
        (FalseClaim::SizeOverflow, "!", "more bytes than any file has"),
        (
            FalseClaim::SampleAfterEnd,
            "s0:jpg+json s1:jpg+json s2:jpg+json !",
            "another tar begins here",
        ),
        (
            FalseClaim::GarbageAfterEnd,
            "s0:jpg+json s1:jpg+json s2:jpg+json !",
            "bytes of no tar follow",
        ),
        (
            FalseClaim::RepeatedPart,
            "s0:jpg+json ! s2:jpg+json",
            "part 'jpg' is in this sample twice",
        ),
        (
            FalseClaim::RepeatedPartByCase,
            "s0:jpg+json ! s2:jpg+json",
            "part 'jpg' is in this sample twice",
        ),
        (FalseClaim::Empty, "!", "the tar is empty"),
        (FalseClaim::GnuSparse, "!", "sparse"),
    ];
    for (claim, keys, words) in cases {
        let (got, errors) = outcome(claim);
        assert_eq!(got, keys, "{}", claim.name());
        assert!(errors[0].text().contains(words), "{}: {}", claim.name(), errors[0]);
    }
    let (keys, _) = outcome(FalseClaim::Directory);
    assert_eq!(keys, "s0:jpg+json s1:jpg+json s2:jpg+json", "a folder does not end a sample");
    let (keys, _) = outcome(FalseClaim::AllZero);
    assert_eq!(keys, "");
}

#[test]
fn a_bad_sample_error_names_sample_and_place() {
    let (_, errors) = outcome(FalseClaim::RepeatedPart);
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
