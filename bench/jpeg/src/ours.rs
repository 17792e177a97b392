//! The project's own decoder: one image at a time, and in groups.

use tarflume_jpeg::{Decoder, Header, Job, Region, Scale, ScanJob, Scanner, Size};

use crate::resize::{Area, OwnResize};
use crate::work::{Competitor, Data, OnDone, Photo, Queue, SIDE, Window, Worker};

/// Images of a group: a share of a batch.
const GROUP: usize = 16;

pub(crate) const ENTROPY: [Competitor; 6] = [
    Competitor { name: "tarflume-jpeg, 1 stream", make: |data| entropy(data, 1) },
    Competitor { name: "tarflume-jpeg, 2 streams", make: |data| entropy(data, 2) },
    Competitor { name: "tarflume-jpeg, 3 streams", make: |data| entropy(data, 3) },
    Competitor { name: "tarflume-jpeg, 4 streams", make: |data| entropy(data, 4) },
    Competitor { name: "tarflume-jpeg, rows in step", make: rows },
    Competitor { name: "tarflume-jpeg, making entry points", make: scan },
];

pub(crate) const FULL: [Competitor; 2] = [
    Competitor { name: "tarflume-jpeg, one by one", make: |data| full(data, 1) },
    Competitor { name: "tarflume-jpeg, groups", make: |data| full(data, GROUP) },
];

pub(crate) const CROP: [Competitor; 4] = [
    Competitor { name: "tarflume-jpeg, one by one", make: |data| crop(data, 1, false) },
    Competitor { name: "tarflume-jpeg, groups", make: |data| crop(data, GROUP, false) },
    Competitor {
        name: "tarflume-jpeg, entry points, one by one",
        make: |data| crop(data, 1, true),
    },
    Competitor {
        name: "tarflume-jpeg, entry points, groups",
        make: |data| crop(data, GROUP, true),
    },
];

/// The entry points of a JPEG, as a sidecar holds them; none for kinds that have none.
pub(crate) fn points(jpeg: &[u8]) -> Option<Vec<u8>> {
    let mut points = Vec::new();
    let header = Header::parse(jpeg).ok()?;
    Scanner::new().scan(jpeg, &header, &mut points).ok()?;
    Some(points)
}

/// What is wanted of an item, and what is done with its pixels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    /// One pixel in the last corner: all codes are read, hardly a block is drawn.
    Entropy,
    /// All codes are read from the entry points of the rows, and a block becomes one sample.
    Rows,
    Full,
    Crop,
}

struct Group {
    decoder: Decoder,
    task: Task,
    with_points: bool,
    /// Room for each image of a group.
    rooms: Vec<Vec<u8>>,
    resize: OwnResize,
}

fn group<'d>(task: Task, size: usize, streams: usize, with_points: bool) -> Box<dyn Worker + 'd> {
    let mut decoder = Decoder::new();
    decoder.set_streams(streams);
    let rooms = vec![Vec::new(); size];
    Box::new(Group { decoder, task, with_points, rooms, resize: OwnResize::new() })
}

fn entropy<'d>(_: &'d Data, streams: usize) -> Box<dyn Worker + 'd> {
    group(Task::Entropy, if streams == 1 { 1 } else { 4 * GROUP }, streams, false)
}

fn rows(_: &Data) -> Box<dyn Worker + '_> {
    group(Task::Rows, 1, 4, true)
}

fn full<'d>(_: &'d Data, size: usize) -> Box<dyn Worker + 'd> {
    group(Task::Full, size, 4, false)
}

fn crop<'d>(_: &'d Data, size: usize, with_points: bool) -> Box<dyn Worker + 'd> {
    group(Task::Crop, size, 4, with_points)
}

/// The pixels of the scaled image that a window touches, and where it lies in them.
fn touched(window: Window, photo: &Photo) -> (Scale, Region, Area) {
    let window_size = Size { width: window.width, height: window.height };
    let scale = Scale::at_least(window_size, Size { width: SIDE, height: SIDE });
    let Size { width, height } = scale.of(photo.width, photo.height);
    let shift = scale as u32;
    let span = |from: u32, length: u32, all: u32| {
        let start = from >> shift;
        let end = (from + length).div_ceil(1 << shift).min(all);
        (start, end - start)
    };
    let (left, wide) = span(window.left, window.width, width);
    let (top, high) = span(window.top, window.height, height);
    let at = |n: u32| f64::from(n) / f64::from(1 << shift);
    let area = Area {
        left: at(window.left) - f64::from(left),
        top: at(window.top) - f64::from(top),
        width: at(window.width).min(f64::from(wide)),
        height: at(window.height).min(f64::from(high)),
    };
    (scale, Region { left, top, width: wide, height: high }, area)
}

impl Group {
    /// What of a photo is decoded.
    fn wanted(&self, data: &Data, item: usize) -> (Scale, Region) {
        let photo = data.photo(item);
        let (left, top, width, height) = match self.task {
            Task::Crop => {
                let (scale, region, _) = touched(data.items[item].window, photo);
                return (scale, region);
            }
            Task::Full => (0, 0, photo.width, photo.height),
            Task::Entropy => (photo.width - 1, photo.height - 1, 1, 1),
            Task::Rows => {
                let Size { width, height } = Scale::Eighth.of(photo.width, photo.height);
                return (Scale::Eighth, Region { left: 0, top: 0, width, height });
            }
        };
        (Scale::Full, Region { left, top, width, height })
    }

    fn decode(&mut self, data: &Data, items: std::ops::Range<usize>) -> Result<(), String> {
        let parse = |item| Header::parse(&data.photo(item).jpeg).map_err(|e| e.to_string());
        let headers = items.clone().map(parse).collect::<Result<Vec<_>, _>>()?;
        let wanted: Vec<_> = items.clone().map(|item| self.wanted(data, item)).collect();
        for (room, (_, region)) in self.rooms.iter_mut().zip(&wanted) {
            let bytes = region.width as usize * region.height as usize * 3;
            if room.len() < bytes {
                room.resize(bytes, 0);
            }
        }
        let with_points = self.with_points;
        let rooms = headers.iter().zip(&wanted).zip(&mut self.rooms);
        let jobs = items.zip(rooms).map(|(item, ((header, &(scale, region)), room))| {
            let photo = data.photo(item);
            let mut job = Job::new(&photo.jpeg, header, room);
            job.entry_points = photo.points.as_deref().filter(|_| with_points);
            (job.scale, job.region) = (scale, Some(region));
            job.stride = region.width as usize * 3;
            job
        });
        let mut result = Ok(());
        self.decoder.decode_group(jobs, |_, done| {
            if let Err(error) = done {
                result = Err(error.to_string());
            }
        });
        result
    }
}

impl Worker for Group {
    fn work(&mut self, queue: &Queue<'_>, seen: &mut OnDone<'_>) -> Result<(), String> {
        loop {
            let items = queue.take(self.rooms.len());
            if items.is_empty() {
                return Ok(());
            }
            self.decode(queue.data, items.clone())?;
            for (item, room) in items.zip(&self.rooms) {
                match self.task {
                    Task::Entropy | Task::Rows => seen(item, &[]),
                    Task::Full => seen(item, &room[..queue.data.photo(item).room()]),
                    Task::Crop => {
                        let window = queue.data.items[item].window;
                        let (scale, region, area) = touched(window, queue.data.photo(item));
                        let size = Size { width: region.width, height: region.height };
                        let width = window.width.into();
                        let height = window.height.into();
                        let area = match scale {
                            Scale::Full => Area { left: 0.0, top: 0.0, width, height },
                            _ => area,
                        };
                        let crop = self.resize.part(room, size, area)?;
                        seen(item, crop);
                    }
                }
            }
        }
    }
}

/// Entry points of all, made while nothing is drawn: what packing does.
struct Scan(Scanner);

fn scan(_: &Data) -> Box<dyn Worker + '_> {
    Box::new(Scan(Scanner::new()))
}

impl Worker for Scan {
    fn work(&mut self, queue: &Queue<'_>, seen: &mut OnDone<'_>) -> Result<(), String> {
        loop {
            let items = queue.take(4 * GROUP);
            if items.is_empty() {
                return Ok(());
            }
            let jpeg = |item| &queue.data.photo(item).jpeg[..];
            let parse = |item| Header::parse(jpeg(item)).map_err(|e| e.to_string());
            let headers = items.clone().map(parse).collect::<Result<Vec<_>, _>>()?;
            let job = |(bytes, header)| ScanJob::new(bytes, header);
            let jobs: Vec<_> = items.clone().map(jpeg).zip(&headers).map(job).collect();
            let mut result = Ok(());
            self.0.scan_group(&jobs, |n, done| match done {
                Ok(_) => seen(items.start + n, &[]),
                Err(error) => result = Err(error.to_string()),
            });
            result?;
        }
    }
}
