//! Texts of `/proc` of real machines: a virtual machine with two processors, and a server with NVMe and bonded network.

use super::super::kernel::{self, CpuTicks};
use super::super::loaders;

const STAT: &str = "\
cpu  4359905 87432 553409 2128989 21290 0 11271 6769 0 0
cpu0 2141705 46889 263787 1119141 8078 0 749 3421 0 0
cpu1 2218200 40543 289621 1009848 13212 0 10521 3348 0 0
intr 41100578 0 0 14 0 7184
ctxt 190567617
btime 1795914870
processes 1443591
procs_running 7
procs_blocked 2
softirq 20041432 12 3320103 21 1141 0 0 16 9031 0 12043";

const DISKS: &str = "\
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 3399048 228202 183093242 6973367 5429653 2554833 564206160 3699509 0 1033348 11263117 2871812 2982 483635792 330415 1427165 259825
 253       0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 259       0 nvme0n1 120 0 960 11 0 0 0 0 0 12 11
 259       1 nvme0n1p1 110 0 880 10 0 0 0 0 0 11 10
   8      16 sdb 12 nonsense";

const NETWORK: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 24742578949 1309666    0    0    0     0          0         0 24742578949 1309666    0    0    0     0       0          0
  ifb0:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
  eth0:32117568008  832907    0    0    0     0          0         0 43036044  508479    0    0    0     0       0          0";

const MEMORY: &str = "\
MemTotal:       24684092 kB
MemFree:         4502600 kB
MemAvailable:   22441892 kB
Buffers:          318524 kB
Cached:         17021672 kB
SwapCached:            0 kB
Dirty:            347776 kB
Writeback:          1000 kB
SwapTotal:        100000 kB
SwapFree:          40000 kB";

#[test]
fn ticks_of_processors_are_summed_by_what_they_are() {
    let found = kernel::processors(STAT);
    assert_eq!(
        found.all,
        CpuTicks {
            user: 4_447_337,
            system: 564_680,
            idle: 2_128_989,
            waiting: 21_290,
            stolen: 6769
        }
    );
    let numbers: Vec<u64> = found.each.iter().map(|(number, _)| *number).collect();
    assert_eq!((numbers, found.running, found.blocked), (vec![0, 1], 7, 2));
    assert_eq!(found.each[1].1.user, 2_218_200 + 40_543);
}

#[test]
fn disks_that_did_something_are_read_in_bytes_and_milliseconds() {
    let all = kernel::disks(DISKS, |_| true);
    let names: Vec<&str> = all.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["vda", "nvme0n1", "nvme0n1p1"]);
    let vda = &all[0];
    assert_eq!((vda.reads, vda.read_bytes, vda.read_ms), (3_399_048, 93_743_739_904, 6_973_367));
    assert_eq!(
        (vda.written_bytes, vda.busy_ms, vda.queued_ms),
        (288_873_553_920, 1_033_348, 11_263_117)
    );
    assert_eq!(kernel::disks(DISKS, |name| !name.contains("n1p")).len(), 2);
}

#[test]
fn the_loopback_is_no_network() {
    let all = kernel::network(NETWORK);
    assert_eq!((all.len(), all[0].name.as_str()), (1, "eth0"));
    assert_eq!((all[0].received_bytes, all[0].sent_bytes), (32_117_568_008, 43_036_044));
}

#[test]
fn memory_is_in_bytes() {
    let now = kernel::memory(MEMORY).unwrap();
    assert_eq!(now.total, 24_684_092 << 10);
    assert_eq!((now.cached, now.dirty), (17_340_196 << 10, 348_776 << 10));
    assert_eq!((now.available, now.swapped), (22_441_892 << 10, 60_000 << 10));
    assert_eq!(kernel::memory("MemTotal: 5 kB"), None);
    let old = kernel::paging("pswpin 3\npswpout 4\npgmajfault 5\nworkingset_refault 6\n");
    assert_eq!((old.swapped_in, old.swapped_out, old.major_faults, old.refaults), (3, 4, 5, 6));
    assert_eq!(kernel::paging("workingset_refault_anon 1\nworkingset_refault_file 7").refaults, 7);
}

#[test]
fn texts_that_are_cut_are_no_failure() {
    for text in [STAT, DISKS, NETWORK, MEMORY] {
        for cut in 0..text.len() {
            let cut = &text[..cut];
            kernel::processors(cut);
            kernel::disks(cut, |_| true);
            kernel::network(cut);
            kernel::memory(cut);
            kernel::paging(cut);
            assert_eq!(loaders::parse(cut), None);
        }
    }
}
