//! `FakeDevice`: a device made of threads for streams and host memory for device memory, with delays and failures. For
//! tests of everything above the driver.
#![allow(clippy::unwrap_used, reason = "a device of tests: what fails ends the test")]

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use tarflume_formats::message::Message;
use tarflume_jpeg::Header;
use tarflume_types::{Error, ErrorKind, Result};

use crate::device::driver::{
    CopySpan, DecodeCopies, DeviceMemory, DevicePtr, DeviceStream, Driver, Event, Events,
    KernelLauncher, OnUploaded, UploadParts, UploadReport, Uploads, WorkStream,
};
use crate::device::kernels::launch::Launch;
use crate::device::kernels::program::Program;
use crate::device::room::DeviceRoom;
use crate::device::room::meter::{MemoryCounts, MemoryKind, MemoryMeter};
use crate::device::room::shortage::Shortage;
use crate::jpeg_decoder::{Abilities, Compressed, JpegDecoder, Stored, Verdict, WantedJpeg};
use crate::slab::{ExternalMemory, HostMemory};

type FakeTask = Box<dyn FnOnce() + Send>;

/// How often each event was recorded and reached.
#[derive(Debug, Default)]
struct Marks {
    counts: Mutex<HashMap<u64, (u64, u64)>>,
    reached: Condvar,
}

impl Marks {
    fn set(&self, mark: Event) -> u64 {
        let mut counts = self.counts.lock().unwrap();
        let entry = counts.entry(mark.0).or_default();
        entry.0 += 1;
        entry.0
    }

    fn reach(&self, mark: Event, count: u64) {
        let mut counts = self.counts.lock().unwrap();
        let reached = &mut counts.entry(mark.0).or_default().1;
        // Of two records in two streams, the earlier one may be reached last.
        *reached = count.max(*reached);
        drop(counts);
        self.reached.notify_all();
    }

    fn count(&self, mark: Event) -> u64 {
        self.counts.lock().unwrap().get(&mark.0).map_or(0, |(set, _)| *set)
    }

    fn wait(&self, mark: Event, count: u64) {
        let counts = self.counts.lock().unwrap();
        drop(
            self.reached
                .wait_while(counts, |counts: &mut HashMap<u64, (u64, u64)>| {
                    counts.get(&mark.0).map_or(0, |(_, reached)| *reached) < count
                })
                .unwrap(),
        );
    }
}

/// The device.
#[derive(Debug)]
pub struct FakeDevice {
    streams: Mutex<HashMap<WorkStream, Sender<FakeTask>>>,
    marks: Arc<Marks>,
    memory: Arc<Mutex<HashMap<u64, Vec<u8>>>>,
    next: AtomicU64,
    /// Number of recorded events by stream.
    set: Mutex<HashMap<WorkStream, u64>>,
    /// Duration of each copy.
    delay: Duration,
    /// Calls with these names fail, after this many successful ones.
    refusals: Mutex<VecDeque<(&'static str, u64)>>,
    /// Size of its memory in bytes.
    room: u64,
    meter: MemoryMeter,
    /// Launched kernels. They have no effect here.
    pub(crate) launched: Arc<Mutex<Vec<Launch>>>,
}

impl FakeDevice {
    /// A device whose copies take `delay`.
    pub fn new(delay: Duration) -> FakeDevice {
        FakeDevice {
            streams: Mutex::default(),
            marks: Arc::default(),
            memory: Arc::default(),
            next: AtomicU64::new(1),
            set: Mutex::default(),
            delay,
            refusals: Mutex::default(),
            room: u64::MAX,
            meter: MemoryMeter::default(),
            launched: Arc::default(),
        }
    }

    /// Makes call number `after` (from 0) of this name fail.
    pub fn refusing(self, name: &'static str, after: u64) -> FakeDevice {
        self.refusals.lock().unwrap().push_back((name, after));
        self
    }

    /// Sets the size of the memory.
    pub fn with_room(self, room: u64) -> FakeDevice {
        FakeDevice { room, ..self }
    }

    fn called(&self, name: &'static str) -> Result<()> {
        for (refused, left) in self.refusals.lock().unwrap().iter_mut() {
            if *refused == name {
                if *left == 0 {
                    return Err(Error::new(ErrorKind::Device, format!("{name} was refused")));
                }
                *left -= 1;
            }
        }
        Ok(())
    }

    fn put(&self, on: WorkStream, task: FakeTask) {
        let mut streams = self.streams.lock().unwrap();
        let stream = streams.entry(on).or_insert_with(|| {
            let (sender, tasks) = channel::<FakeTask>();
            thread::spawn(move || tasks.into_iter().for_each(|task| task()));
            sender
        });
        stream.send(task).unwrap();
    }

    /// Simulates the consumer's use of a batch: reads its memory, slowly, and passes it to `see`.
    pub fn read(
        &self,
        stream: DeviceStream,
        memory: u64,
        see: impl FnOnce(&[u8]) + Send + 'static,
    ) {
        let all = self.memory.clone();
        let delay = self.delay;
        self.put(
            WorkStream::Consumer(stream),
            Box::new(move || {
                let before = all.lock().unwrap()[&memory].clone();
                thread::sleep(delay / 2);
                let after = all.lock().unwrap()[&memory].clone();
                assert!(before == after, "memory was written while it was read");
                see(&after);
            }),
        );
    }

    /// Number of events recorded in a stream.
    pub fn marked(&self, stream: DeviceStream) -> u64 {
        self.set.lock().unwrap().get(&WorkStream::Consumer(stream)).copied().unwrap_or(0)
    }

    /// Bytes of its memory in use.
    pub fn used(&self) -> u64 {
        self.memory.lock().unwrap().values().map(|memory| memory.len() as u64).sum()
    }

    /// Waits until a stream has finished its work.
    pub fn drain(&self, stream: DeviceStream) {
        let mark = Event(self.next.fetch_add(1, Ordering::Relaxed));
        self.record(mark, WorkStream::Consumer(stream)).unwrap();
        self.marks.wait(mark, 1);
    }
}

impl HostMemory for FakeDevice {
    fn block(&self, _: usize) -> Option<Box<dyn ExternalMemory>> {
        None
    }
}

impl DeviceMemory for FakeDevice {
    fn allocate(&self, bytes: usize) -> Result<DevicePtr> {
        self.called("allocate")?;
        if self.used() + bytes as u64 > self.room {
            let said = "out of memory".into();
            let shortage = Shortage { wanted: bytes as u64, room: self.room().ok(), said };
            return Err(shortage.of(&self.name()));
        }
        self.meter.took(MemoryKind::Device, bytes);
        let at = self.next.fetch_add(1, Ordering::Relaxed) << 32;
        self.memory.lock().unwrap().insert(at, vec![0; bytes]);
        Ok(DevicePtr(at))
    }

    fn free(&self, memory: DevicePtr) {
        let freed = self.memory.lock().unwrap().remove(&memory.0).unwrap();
        self.meter.gave(MemoryKind::Device, freed.len());
    }

    fn copy_within(&self, from: DevicePtr, to: DevicePtr, bytes: usize) -> Result<()> {
        self.called("copy_within")?;
        let all = self.memory.clone();
        let (from, at_from) = place_of(from);
        let (to, at_to) = place_of(to);
        self.put(
            WorkStream::Copy,
            Box::new(move || {
                let mut all = all.lock().unwrap();
                let moved = all[&from][at_from..][..bytes].to_vec();
                all.get_mut(&to).unwrap()[at_to..][..bytes].copy_from_slice(&moved);
            }),
        );
        Ok(())
    }

    fn room(&self) -> Result<DeviceRoom> {
        self.called("room")?;
        Ok(DeviceRoom { free: self.room - self.used(), total: self.room })
    }

    fn memory_counts(&self) -> MemoryCounts {
        self.meter.counts()
    }
}

/// Copies the bytes of these parts that are in `part`, too.
fn copy_lines(
    all: &mut HashMap<u64, Vec<u8>>,
    to: DevicePtr,
    from: &[u8],
    spans: &[CopySpan],
    part: &Range<usize>,
) {
    let slot = all.get_mut(&to.0).unwrap();
    for line in spans.iter().flat_map(|span| span.lines()) {
        let [start, end] = [line.start, line.end].map(|at| at.clamp(part.start, part.end));
        slot[start..end].copy_from_slice(&from[start..end]);
    }
}

fn place_of(memory: DevicePtr) -> (u64, usize) {
    (memory.0 >> 32 << 32, (memory.0 & 0xffff_ffff) as usize)
}

impl Events for FakeDevice {
    fn create_event(&self) -> Result<Event> {
        Ok(Event(self.next.fetch_add(1, Ordering::Relaxed)))
    }

    fn destroy_event(&self, mark: Event) {
        self.marks.counts.lock().unwrap().remove(&mark.0);
    }

    fn event_handle(&self, mark: Event) -> u64 {
        mark.0
    }

    fn record(&self, mark: Event, on: WorkStream) -> Result<()> {
        self.called("set")?;
        *self.set.lock().unwrap().entry(on).or_default() += 1;
        let marks = self.marks.clone();
        let count = self.marks.set(mark);
        self.put(on, Box::new(move || marks.reach(mark, count)));
        Ok(())
    }

    fn wait_event(&self, mark: Event, on: WorkStream) -> Result<()> {
        self.called("wait")?;
        let marks = self.marks.clone();
        let count = self.marks.count(mark);
        self.put(on, Box::new(move || marks.wait(mark, count)));
        Ok(())
    }

    fn synchronize(&self, mark: Event) -> Result<()> {
        self.marks.wait(mark, self.marks.count(mark));
        Ok(())
    }
}

impl KernelLauncher for FakeDevice {
    fn prepare_kernels(&self, _: Program) -> Result<()> {
        self.called("prepare")
    }

    fn launch(&self, launch: &Launch, on: WorkStream) -> Result<()> {
        self.called("launch")?;
        let launched = self.launched.clone();
        let launch = launch.clone();
        self.put(on, Box::new(move || launched.lock().unwrap().push(launch)));
        Ok(())
    }
}

impl DecodeCopies for FakeDevice {
    fn copy_in(&self, from: &[u8], to: DevicePtr) -> Result<()> {
        self.called("copy_in")?;
        let bytes = from.to_vec();
        let all = self.memory.clone();
        let (to, at) = place_of(to);
        self.put(
            WorkStream::Decode,
            Box::new(move || {
                let mut all = all.lock().unwrap();
                all.get_mut(&to).unwrap()[at..][..bytes.len()].copy_from_slice(&bytes);
            }),
        );
        Ok(())
    }

    fn copy_out(&self, from: DevicePtr, to: &mut [u32]) -> Result<()> {
        self.called("copy_out")?;
        let mark = self.create_event()?;
        self.record(mark, WorkStream::Decode)?;
        self.synchronize(mark)?;
        let (from, at) = place_of(from);
        let all = self.memory.lock().unwrap();
        let words = all[&from][at..].as_chunks().0;
        to.iter_mut().zip(words).for_each(|(to, &word)| *to = u32::from_ne_bytes(word));
        Ok(())
    }
}

impl Uploads for FakeDevice {
    fn upload(&self, parts: UploadParts<'_>, on_uploaded: &OnUploaded) -> Result<()> {
        self.called("copy")?;
        let bytes = parts.bytes();
        let UploadParts { batch, spans, to, staged } = parts;
        let spans = spans.to_vec();
        let batch = batch.clone();
        let staged = staged.cloned();
        let all = self.memory.clone();
        let on_uploaded = on_uploaded.clone();
        let delay = self.delay;
        self.put(
            WorkStream::Copy,
            Box::new(move || {
                // In two halves, so that a concurrent reader sees neither batch.
                let half = batch.fixed().len() / 2;
                for part in [0..half, half..batch.fixed().len()] {
                    copy_lines(&mut all.lock().unwrap(), to, batch.fixed(), &spans, &part);
                    thread::sleep(delay / 2);
                }
                if let Some(staged) = staged {
                    let mut all = all.lock().unwrap();
                    let to = all.get_mut(&staged.to.0).unwrap();
                    to[..staged.length].copy_from_slice(staged.bytes());
                }
                on_uploaded(UploadReport { time: delay, bytes });
            }),
        );
        Ok(())
    }

    fn reap(&self) -> Result<usize> {
        Ok(0)
    }

    fn await_copy(&self) -> Result<()> {
        Ok(())
    }
}

impl JpegDecoder for FakeDevice {
    fn prepare_decoder(&self, _: bool) -> Result<Abilities> {
        Err(Error::new(ErrorKind::Device, "the fake device does not decode"))
    }

    fn admit(
        &self,
        _: &[u8],
        _: &Header,
        _: WantedJpeg,
    ) -> Result<std::result::Result<(), String>> {
        Ok(Ok(()))
    }

    fn decode(&self, _: &[Compressed<'_>]) -> Result<Vec<Verdict>> {
        self.prepare_decoder(false).map(|_| Vec::new())
    }

    fn decode_stored(&self, _: &[Stored]) -> Result<Vec<Verdict>> {
        self.prepare_decoder(true).map(|_| Vec::new())
    }
}

impl Driver for FakeDevice {
    fn name(&self) -> String {
        "simulated:0".into()
    }

    fn dlpack_device(&self) -> (i32, i32) {
        (2, 0)
    }

    fn is_forked_child(&self) -> bool {
        false
    }

    fn warning(&self) -> Option<Message> {
        None
    }
}
