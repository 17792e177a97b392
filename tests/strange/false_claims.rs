//! Tars with false claims: the problem and byte that `pack verify` reports for each, and the result
//! of `pack index`. Neither may hang, and neither may trust them.

use serde_json::Value;
use tarflume_fixtures::FalseClaim;

use crate::harness::Place;

/// Expected problems of `verify` (kind and byte; none for honest tars), and exit code of `index`.
fn truth(claim: FalseClaim) -> (&'static [(&'static str, u64)], i32) {
    use FalseClaim::*;
    match claim {
        CutAtBlock => (&[("missing-end", 3584)], 65),
        CutMidData => (&[("truncated", 2048)], 65),
        CutMidHeader => (&[("truncated", 3584)], 65),
        NoEnd | OneZeroBlock => (&[("missing-end", 6656)], 65),
        ZeroBlockInside => (&[("bad-header", 2048)], 65),
        GarbageAfterEnd | SampleAfterEnd => (&[("gap", 7680)], 65),
        AllZero => (&[], 0), // a shard without samples
        Empty => (&[("missing-end", 0)], 65),
        Gzip => (&[("unsupported", 0)], 65),
        // Undetectable without a digest; see `verify` for a flipped bit with one.
        SignedChecksum | FlippedBit | V7 | LongLinkNoNul | Directory | DirectoryWithSize => {
            (&[], 0)
        }
        BadChecksum | SizeNonsense | SizeNegative | SizeOverflow | SizeBlank => {
            (&[("bad-header", 2048)], 65)
        }
        LongLinkAbsurd | LongLinkLast | PaxLengthTooLong | PaxLengthZero | PaxSizeNonsense
        | PaxLast => (&[("bad-header", 2048)], 65),
        SizePastEnd => (&[("truncated", 4608)], 65),
        PaxSizeDisagrees => (&[("bad-header", 5120)], 65), // where the swallowed header should be
        PaxGlobalPath | GnuSparse | PaxSparse => (&[("unsupported", 2048)], 65),
        RepeatedPart | RepeatedPartByCase => (&[("repeated-part", 3584)], 65),
        RepeatedKey => (&[("repeated-key", 4608)], 0),
        Interleaved => (&[("split-sample", 2048), ("split-sample", 3072)], 0),
        CaseTwins => (&[("case-collision", 8704)], 0),
        Symlink | Hardlink | Device => (&[("not-regular", 3584)], 0),
        DotDot | DotDotInside | Absolute | NewlineInName | EmptyName | NonUtf8Name => {
            (&[("bad-name", 6656)], 0)
        }
        NulInName => (&[("bad-header", 6656)], 65),
    }
}

/// Returns kind and byte of each problem but the missing sidecar.
fn found(place: &Place, words: &str) -> Vec<(String, u64)> {
    let run = place.pack(words);
    assert!(run.exit <= 1, "{run:#?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap().iter();
    let others = problems.filter(|p| p["kind"] != "missing-index");
    others.map(|p| (p["kind"].as_str().unwrap().into(), p["byte"].as_u64().unwrap())).collect()
}

#[test]
fn each_false_claim_is_named_with_its_place() {
    for claim in FalseClaim::ALL {
        let place = Place::new();
        place.file("claim.tar", claim.bytes());
        let (problems, exit) = truth(claim);
        let expected: Vec<_> =
            problems.iter().map(|&(kind, byte)| (kind.to_string(), byte)).collect();
        let name = claim.name();
        assert_eq!(
            found(&place, "verify claim.tar --require '' --format json"),
            expected,
            "{name}"
        );
        place.pack("verify claim.tar --require '' --level decode").exits(1);
        let index = place.pack("index claim.tar");
        assert_eq!(index.exit, exit, "{name}: {index:#?}");
        assert_eq!(place.at("claim.index").exists(), exit == 0, "{name}");
        if exit == 65 {
            assert!(index.stderr.contains("error: claim.tar: "), "{name}: {index:#?}");
            if let [(_, byte)] = problems {
                assert!(index.stderr.contains(&format!("byte {byte}: ")), "{name}: {index:#?}");
            }
            continue;
        }
        // With its sidecar, faults are still faults, and honest tars are whole.
        assert_eq!(
            found(&place, "verify claim.tar --require '' --format json"),
            expected,
            "{name}"
        );
        place.pack("verify claim.tar --require ''").exits(i32::from(!expected.is_empty()));
    }
}

#[test]
fn reading_headers_only_finds_the_same_false_claims() {
    for claim in FalseClaim::ALL {
        let place = Place::new();
        place.file("claim.tar", claim.bytes());
        let index = place.pack("index --headers claim.tar");
        assert_eq!(index.exit, truth(claim).1, "{}: {index:#?}", claim.name());
    }
}

#[test]
fn no_command_hangs_or_panics_at_a_false_claim() {
    for claim in FalseClaim::ALL {
        let place = Place::new();
        place.file("claim.tar", claim.bytes());
        for words in
            ["ls claim.tar", "info claim.tar", "cat claim.tar s1.jpg", "unpack claim.tar -o back"]
        {
            let run = place.pack(words);
            assert!([0, 1, 2, 65].contains(&run.exit), "{}: {run:#?}", claim.name());
        }
    }
}

#[test]
fn a_tar_that_was_cut_between_two_members_is_no_whole_tar() {
    for (claim, byte) in [
        (FalseClaim::CutAtBlock, 3584),
        (FalseClaim::NoEnd, 6656),
        (FalseClaim::OneZeroBlock, 6656),
    ] {
        let place = Place::new();
        place.file("claim.tar", claim.bytes());
        for words in [
            "export claim.tar --to folder -o new",
            "export claim.tar --to mds -o new",
            "unpack claim.tar -o new",
            "stats claim.tar",
            "ls claim.tar",
            "info claim.tar",
            "cat claim.tar s0.jpg",
            "diff claim.tar claim.tar",
        ] {
            let run = place.pack(words).exits(65).says(&format!("claim.tar: byte {byte}: "));
            run.says("end marker").says("`pack index --allow-missing-end claim.tar` accepts it");
            assert!(!place.at("new").try_exists().unwrap(), "{}: {words}", claim.name());
        }
        place.pack("reshard claim.tar -o other").exits(65).says(&format!("byte {byte}: "));
    }
    let place = Place::new();
    place.file("claim.tar", FalseClaim::NoEnd.bytes());
    place.pack("index --allow-missing-end claim.tar").succeeds().says("the end marker is missing");
    place.pack("ls claim.tar").succeeds().says("s0");
}

#[test]
fn a_folder_with_one_false_tar_gets_no_manifest_but_the_others_get_sidecars() {
    let place = Place::new();
    place.file("shards/a.tar", tarflume_fixtures::good_shard());
    place.file("shards/b.tar", FalseClaim::CutMidData.bytes());
    place.pack("index shards").exits(65).says("shards/b.tar: byte 2048");
    assert_eq!(place.names("shards"), ["a.index", "a.tar", "b.tar"]);
}

#[test]
fn unpacking_never_leaves_the_folder_nor_follows_a_link() {
    for (claim, good) in [
        (FalseClaim::DotDot, 6),
        (FalseClaim::DotDotInside, 6),
        (FalseClaim::Absolute, 6),
        (FalseClaim::Symlink, 6),
        (FalseClaim::Hardlink, 6),
        (FalseClaim::Device, 6),
    ] {
        let place = Place::new();
        place.file("claim.tar", claim.bytes());
        place.pack("unpack claim.tar -o deep/er/back");
        let all = place.names("");
        assert!(!std::path::Path::new("/abs.jpg").exists());
        let outside: Vec<_> =
            all.iter().filter(|n| !n.starts_with("deep/er/back/") && *n != "claim.tar").collect();
        assert!(outside.is_empty(), "{}: {outside:?}", claim.name());
        assert_eq!(place.names("deep/er/back").len(), good, "{}", claim.name());
        for name in place.names("deep/er/back") {
            let kind = std::fs::symlink_metadata(place.at("deep/er/back").join(name)).unwrap();
            assert!(kind.is_file());
        }
    }
    for claim in [FalseClaim::DotDot, FalseClaim::DotDotInside, FalseClaim::Absolute] {
        let place = Place::new();
        place.file("claim.tar", claim.bytes());
        place.pack("unpack claim.tar -o back").exits(1).says("bad-name");
    }
}
