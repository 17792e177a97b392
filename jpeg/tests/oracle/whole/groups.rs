//! Groups: whatever the other members and the order, a picture's pixels are those that it has
//! alone, which are libjpeg-turbo's.

use tarflume_fixtures::SplitMix64;
use tarflume_jpeg::{Color, Header, Region, Scale, Size};

use crate::harness::compare::Comparison;
use crate::harness::decoder::{Ask, Room, job};
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::{Recipe, Space};

/// A JPEG, its entry points if it has any, and its description.
struct Member {
    jpeg: Vec<u8>,
    points: Option<Vec<u8>>,
    what: (usize, usize, Recipe),
}

/// Pictures of all kinds, from one block to some hundred: some end while others have hardly begun.
fn members(both: &mut Comparison) -> Vec<Member> {
    let sizes = [(1, 1), (200, 9), (8, 120), (64, 64), (33, 31), (150, 140), (17, 90), (7, 7)];
    let lumas = [(2, 2), (1, 1), (2, 1), (1, 2), (4, 1)];
    let mut found = Vec::new();
    for (n, (width, height)) in sizes.into_iter().cycle().take(29).enumerate() {
        let channels = if n % 7 == 3 { 1 } else { 3 };
        let recipe = Recipe {
            quality: [30, 75, 95][n % 3],
            restart: [0, 0, 3, 0, 1][n % 5],
            optimized: n % 2 == 0,
            progressive: n % 11 == 10,
            space: if n % 13 == 5 { Space::AdobeRgb } else { Space::Jfif },
            luma: lumas[n % 5],
            ..Recipe::default()
        };
        let picture = Picture::new(width, height, channels, Motif::ALL[n % 4], n as u64);
        let jpeg = both.encode(&picture, &recipe);
        let points = Some(both.ours.points(&jpeg).unwrap()).filter(|points| !points.is_empty());
        assert_eq!(points.is_none(), recipe.progressive);
        found.push(Member { jpeg, points, what: (width, height, recipe) });
    }
    found
}

/// The request for member `n` in its turn.
fn ask<'m>(rng: &mut SplitMix64, header: &Header, member: &'m Member) -> Ask<'m> {
    let scale = Scale::ALL[rng.below(4) as usize];
    let color = if rng.below(4) == 0 { Color::Gray } else { Color::Rgb };
    let Size { width, height } = scale.of(header.width(), header.height());
    let left = rng.below(width);
    let top = rng.below(height);
    let region = Region {
        left,
        top,
        width: rng.between(1, width - left),
        height: rng.between(1, height - top),
    };
    let region = (rng.below(3) > 0).then_some(region);
    let points = member.points.as_deref().filter(|_| rng.below(2) == 0);
    Ask { scale, color, region, points, ..Ask::default() }
}

/// Draws groups of `size` members and compares each result with that of the member alone.
fn groups(size: usize, count: u64) {
    let mut both = Comparison::new();
    let members = members(&mut both);
    let headers: Vec<Header> = members.iter().map(|m| Header::parse(&m.jpeg).unwrap()).collect();
    for number in 0..count {
        let mut rng = SplitMix64::nth(size as u64, number);
        both.ours.decoder.set_streams(1 + number as usize % 4);
        let chosen: Vec<(usize, Ask<'_>)> = (0..size)
            .map(|_| {
                let n = rng.below(members.len() as u32) as usize;
                (n, ask(&mut rng, &headers[n], &members[n]))
            })
            .collect();
        let mut rooms: Vec<Room> =
            chosen.iter().map(|(n, ask)| Room::new(&headers[*n], ask)).collect();
        let jobs: Vec<_> = (chosen.iter().zip(&mut rooms))
            .map(|((n, ask), room)| job(&members[*n].jpeg, &headers[*n], *ask, room))
            .collect();
        let mut calls = vec![0; size];
        both.ours.decoder.decode_group(jobs, |n, result| {
            calls[n] += 1;
            result.unwrap();
        });
        assert_eq!(calls, vec![1; size], "each job is reported once");
        for ((n, ask), room) in chosen.iter().zip(&rooms) {
            let alone = both.ours.decode(&members[*n].jpeg, *ask).unwrap();
            if let Some(difference) = room.picture().difference(&alone) {
                both.tell(format!(
                    "{:?} in group {number} {ask:?}: {difference}",
                    members[*n].what
                ));
            }
            if members[*n].what.2.progressive {
                continue; // decoded by another library, with other pixels
            }
            let whole = both.right(&members[*n].jpeg, ask.scale, ask.color);
            both.ask(&members[*n].jpeg, *ask, &whole, &members[*n].what);
        }
    }
    both.verdict();
}

#[test]
fn groups_of_one_to_five() {
    for size in 1..=5 {
        groups(size, 12);
    }
}

#[test]
fn groups_of_forty() {
    groups(40, 6);
}

#[test]
fn an_empty_group_is_done_at_once() {
    let mut both = Comparison::new();
    both.ours.decoder.decode_group([], |_, _| panic!("there is nobody to tell of"));
}

#[test]
fn one_damaged_member_affects_no_other_sample() {
    let mut both = Comparison::new();
    let members = members(&mut both);
    let bad = &members[5].jpeg;
    let rest = [0, 3, 4, 6, 8];
    for cut in (200..bad.len()).step_by(bad.len() / 23) {
        let torn = [&bad[..cut], b"\xFF\xD9"].concat();
        let Ok(torn_header) = Header::parse(&torn) else { continue };
        let headers: Vec<Header> =
            rest.iter().map(|&n| Header::parse(&members[n].jpeg).unwrap()).collect();
        let ask = Ask::default();
        let mut rooms: Vec<Room> = headers.iter().map(|h| Room::new(h, &ask)).collect();
        let mut torn_room = Room::new(&torn_header, &ask);
        let mut jobs: Vec<_> = (rest.iter().zip(&headers).zip(&mut rooms))
            .map(|((&n, header), room)| job(&members[n].jpeg, header, ask, room))
            .collect();
        jobs.insert(2, job(&torn, &torn_header, ask, &mut torn_room));
        let mut failed = Vec::new();
        both.ours.decoder.decode_group(jobs, |n, result| {
            if let Err(error) = result {
                assert!(error.byte().is_some_and(|byte| byte <= torn.len() as u64), "{error}");
                failed.push(n);
            }
        });
        assert_eq!(failed, [2], "cut at {cut}");
        for (n, room) in rest.iter().zip(&rooms) {
            let whole = both.right(&members[*n].jpeg, Scale::Full, Color::Rgb);
            assert_eq!(room.picture().difference(&whole), None);
        }
    }
}

/// Bits flipped in about every other member: each gives the same picture or error as alone.
#[test]
fn damaged_members_affect_no_other_sample() {
    let mut both = Comparison::new();
    let members = members(&mut both);
    let mut failed = 0;
    for number in 0..300 {
        let mut rng = SplitMix64::nth(77, number);
        both.ours.decoder.set_streams(1 + number as usize % 4);
        let mut chosen: Vec<(Vec<u8>, Header, usize)> = Vec::new();
        while chosen.len() < 9 {
            let n = rng.below(members.len() as u32) as usize;
            let mut jpeg = members[n].jpeg.clone();
            for _ in 0..rng.below(3) {
                let at = rng.below(jpeg.len() as u32) as usize;
                jpeg[at] ^= 1 << rng.below(8);
            }
            let header = Header::parse(&jpeg);
            fn small(h: &Header) -> bool {
                h.width() < 1000 && h.height() < 1000
            }
            chosen.extend(header.ok().filter(small).map(|header| (jpeg, header, n)));
        }
        let ask = |n: usize| Ask { points: members[n].points.as_deref(), ..Ask::default() };
        let mut rooms: Vec<Room> = chosen.iter().map(|(_, h, n)| Room::new(h, &ask(*n))).collect();
        let all = chosen.iter().zip(&mut rooms);
        let jobs: Vec<_> = all.map(|((jpeg, h, n), room)| job(jpeg, h, ask(*n), room)).collect();
        let mut found = vec![None; chosen.len()];
        both.ours.decoder.decode_group(jobs, |n, result| found[n] = Some(result));
        for (((jpeg, _, n), room), found) in chosen.iter().zip(&rooms).zip(found) {
            let alone = both.ours.report(jpeg, ask(*n));
            match (found.unwrap(), alone) {
                (Ok(report), Ok((picture, alone))) => {
                    assert_eq!(room.picture().difference(&picture), None, "group {number}");
                    assert_eq!(report.entry_points, alone.entry_points);
                }
                (found, alone) => {
                    assert_eq!(found.map(|_| ()), alone.map(|_| ()), "group {number}");
                    failed += 1;
                }
            }
        }
    }
    assert!((300..2400).contains(&failed), "{failed} failed");
}
