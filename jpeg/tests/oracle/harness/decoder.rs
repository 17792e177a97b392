//! The crate through its public interface; checks that no byte beside a picture is written.

use tarflume_jpeg::{
    Color, Decoder, Error, Header, Job, OnDamage, Region, Report, Scale, ScanJob, Scanner,
};

use crate::harness::picture::Picture;

/// The initial value of the output's bytes; between rows they must keep it.
const UNTOUCHED: u8 = 0xA5;
/// Bytes between rows of the output.
const GAP: usize = 5;

/// The requested part of a JPEG. The default is all of it, in color.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask<'a> {
    pub(crate) scale: Scale,
    pub(crate) color: Color,
    pub(crate) region: Option<Region>,
    pub(crate) points: Option<&'a [u8]>,
    pub(crate) on_damage: OnDamage,
}

/// A picture being decoded: memory for its pixels, with gaps between the rows.
pub(crate) struct Room {
    size: (u32, u32),
    channels: usize,
    pub(crate) stride: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Room {
    pub(crate) fn new(header: &Header, ask: &Ask<'_>) -> Room {
        let whole = ask.scale.of(header.width(), header.height());
        let size = ask.region.map_or((whole.width, whole.height), |r| (r.width, r.height));
        let channels = ask.color.bytes();
        let stride = size.0 as usize * channels + GAP;
        Room { size, channels, stride, bytes: vec![UNTOUCHED; stride * size.1 as usize] }
    }

    /// Returns the picture after checking its gaps.
    pub(crate) fn picture(&self) -> Picture {
        let width = self.size.0 as usize;
        let height = self.size.1 as usize;
        let mut bytes = Vec::with_capacity(width * height * self.channels);
        for row in self.bytes.chunks_exact(self.stride) {
            let (pixels, gap) = row.split_at(width * self.channels);
            assert_eq!(gap, [UNTOUCHED; GAP], "bytes between rows were written");
            bytes.extend_from_slice(pixels);
        }
        Picture { width, height, channels: self.channels, bytes }
    }
}

/// Returns a job for these bytes.
pub(crate) fn job<'a>(
    bytes: &'a [u8],
    header: &'a Header,
    ask: Ask<'a>,
    room: &'a mut Room,
) -> Job<'a> {
    let mut job = Job::new(bytes, header, &mut room.bytes);
    job.entry_points = ask.points;
    job.region = ask.region;
    job.scale = ask.scale;
    job.color = ask.color;
    job.on_damage = ask.on_damage;
    job.stride = room.stride;
    job
}

/// A decoder and a scanner, kept from JPEG to JPEG as in a program.
#[derive(Default)]
pub(crate) struct TestDecoder {
    pub(crate) decoder: Decoder,
    scanner: Scanner,
}

impl TestDecoder {
    pub(crate) fn decode(&mut self, jpeg: &[u8], ask: Ask<'_>) -> Result<Picture, Error> {
        self.report(jpeg, ask).map(|(picture, _)| picture)
    }

    /// Returns the picture and the decoder's report.
    pub(crate) fn report(&mut self, jpeg: &[u8], ask: Ask<'_>) -> Result<(Picture, Report), Error> {
        let header = Header::parse(jpeg)?;
        let mut room = Room::new(&header, &ask);
        let report = self.decoder.decode(job(jpeg, &header, ask, &mut room))?;
        Ok((room.picture(), report))
    }

    /// Returns the entry points of a JPEG.
    pub(crate) fn points(&mut self, jpeg: &[u8]) -> Result<Vec<u8>, Error> {
        let header = Header::parse(jpeg)?;
        let mut points = Vec::new();
        self.scanner.scan(jpeg, &header, &mut points)?;
        Ok(points)
    }

    /// Returns its entry points with this many MCUs between two in a row.
    pub(crate) fn points_every(&mut self, step: u32, jpeg: &[u8]) -> Result<Vec<u8>, Error> {
        let header = Header::parse(jpeg)?;
        let job = ScanJob { step: Some(step), ..ScanJob::new(jpeg, &header) };
        let mut points = Vec::new();
        self.scanner.scan_job(job, &mut points)?;
        Ok(points)
    }
}
