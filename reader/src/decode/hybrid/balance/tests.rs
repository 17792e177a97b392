//! Shares against decoders whose speed is known: where they go, how fast, and that they stay there.

use std::collections::VecDeque;

use crate::decode::hybrid::balance::*;

/// Two decoders, in pictures per millisecond.
#[derive(Clone, Copy)]
struct Speeds {
    device: f64,
    cpu: f64,
}

/// Factors by which the times of the two decoders are multiplied.
#[derive(Clone, Copy)]
struct TimeFactors {
    device: f64,
    cpu: f64,
}

const NO_NOISE: TimeFactors = TimeFactors { device: 1.0, cpu: 1.0 };

impl Speeds {
    /// The share at which both finish at once.
    fn ratio(self) -> f64 {
        1000.0 * self.device / (self.device + self.cpu)
    }

    /// What a batch of 256 pictures has to wait for at this share; `factors` multiply the time of each side.
    fn waited(self, per_mille: u16, factors: TimeFactors) -> WaitTimes {
        fn of(per_mille: f64, speed: f64) -> f64 {
            256.0 * per_mille / 1000.0 / speed / 1000.0
        }

        fn only(own: f64, other: f64) -> Duration {
            Duration::from_secs_f64((own - other).max(0.0))
        }

        let device = of(f64::from(per_mille), self.device) * factors.device;
        let cpu = of(1000.0 - f64::from(per_mille), self.cpu) * factors.cpu;
        WaitTimes { device: only(device, cpu), cpu: only(cpu, device) }
    }
}

const PAIRS: [Speeds; 5] = [
    Speeds { device: 7.0, cpu: 7.0 },
    Speeds { device: 7.0, cpu: 2.0 },
    Speeds { device: 1.0, cpu: 12.0 },
    Speeds { device: 40.0, cpu: 0.5 },
    Speeds { device: 0.05, cpu: 9.0 },
];

fn run(share: &mut DeviceShare, speeds: Speeds, batches: usize) {
    (0..batches).for_each(|_| share.observe(speeds.waited(share.per_mille(), NO_NOISE)));
}

#[test]
fn the_share_reaches_the_ratio_of_speeds_within_40_batches_and_stays() {
    for speeds in PAIRS {
        for start in (0..=1000).step_by(25) {
            let mut share = DeviceShare::auto(start);
            run(&mut share, speeds, 40);
            for _ in 0..200 {
                run(&mut share, speeds, 1);
                let off = (f64::from(share.per_mille()) - speeds.ratio()).abs();
                assert!(off <= 4.0, "from {start}: {} for {}", share.per_mille(), speeds.ratio());
            }
        }
    }
}

#[test]
fn a_delay_of_three_batches_causes_no_oscillation() {
    for speeds in PAIRS {
        let mut share = DeviceShare::auto(500);
        let mut under_way: VecDeque<u16> = [500; 3].into();
        for batch in 0..400 {
            under_way.push_back(share.per_mille());
            share.observe(speeds.waited(under_way.pop_front().unwrap(), NO_NOISE));
            let off = (f64::from(share.per_mille()) - speeds.ratio()).abs();
            assert!(batch < 150 || off <= 6.0, "{off} off at batch {batch}, {}", speeds.ratio());
        }
    }
}

#[test]
fn uneven_batches_move_it_little() {
    let mut random = Random::new(8);
    for speeds in PAIRS {
        let mut share = DeviceShare::auto(500);
        let mut worst: f64 = 0.0;
        for batch in 0..600 {
            let device = random.between(0.8, 1.25);
            let factors = TimeFactors { device, cpu: random.between(0.8, 1.25) };
            share.observe(speeds.waited(share.per_mille(), factors));
            let off = (f64::from(share.per_mille()) - speeds.ratio()).abs();
            worst = worst.max(if batch < 100 { 0.0 } else { off });
        }
        assert!(worst < 40.0, "{worst} off, {}", speeds.ratio());
    }
}

#[test]
fn the_share_follows_a_change_of_speed_and_recovers_from_0_and_1000() {
    let mut share = DeviceShare::auto(0);
    for (speeds, batches) in
        [(PAIRS[4], 60), (PAIRS[1], 60), (PAIRS[3], 60), (PAIRS[2], 60), (PAIRS[0], 60)]
    {
        run(&mut share, speeds, batches);
        let off = (f64::from(share.per_mille()) - speeds.ratio()).abs();
        assert!(off <= 5.0, "{} for {}", share.per_mille(), speeds.ratio());
    }
    // A device that does nothing at all, and one that comes back.
    let wait = Duration::from_millis(5);
    (0..200).for_each(|_| share.observe(WaitTimes { device: wait, ..WaitTimes::default() }));
    assert_eq!(share.per_mille(), 0);
    (0..200).for_each(|_| share.observe(WaitTimes { cpu: wait, ..WaitTimes::default() }));
    assert_eq!(share.per_mille(), 1000);
}

#[test]
fn equal_waits_for_cpu_and_device_leave_the_share_unchanged() {
    let mut share = DeviceShare::auto(300);
    for (device, cpu) in [(0, 0), (20, 10), (1000, 1000), (1100, 1000), (0, 49)] {
        let device = Duration::from_micros(device);
        let cpu = Duration::from_micros(cpu);
        share.observe(WaitTimes { device, cpu });
        assert_eq!(share.per_mille(), 300);
    }
}

#[test]
fn a_fixed_share_picks_the_same_pictures_always_and_so_many_of_them() {
    fn picked(share: &DeviceShare) -> Vec<u64> {
        (0..40_000).filter(|&seed| share.picks(seed)).collect::<Vec<_>>()
    }

    let mut share = DeviceShare::fixed(250);
    share.observe(WaitTimes { cpu: Duration::from_secs(1), ..WaitTimes::default() });
    let quarter = picked(&share);
    assert_eq!(quarter, picked(&DeviceShare::fixed(250)));
    assert!((9_600..10_400).contains(&quarter.len()), "{}", quarter.len());
    let more = picked(&DeviceShare::fixed(251));
    assert!(quarter.iter().all(|seed| more.contains(seed)), "a larger share has others");
    assert_eq!(picked(&DeviceShare::fixed(0)).len(), 0);
    assert_eq!(picked(&DeviceShare::fixed(2000)).len(), 40_000);
}
