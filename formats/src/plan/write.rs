//! Encodes a plan while its samples stream by; holds one chunk in memory.

use std::io::{self, Write};

use super::contents::{
    CHUNK, FILES_SCHEMA, Location, MAGIC, MAX_CHUNK, NAME_MAX, PlanFoot, PlannedExt, PlannedPart,
    PlannedSample, PlannedShard, PlannedSource, SCHEMA,
};
use crate::bytes::checksum::crc32c;
use crate::bytes::varint::{put, put_bytes};
use crate::bytes::zstd_codec::Compressor;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::parts::name;
use crate::records::about::About;

/// zstd's level: names compress well at every level, and planning must not wait for compression.
const LEVEL: i32 = 1;

/// Writes a plan to any [`Write`].
pub struct PlanWriter<W> {
    out: W,
    written: u64,
    exts: Vec<PlannedExt>,
    sources: Option<Vec<PlannedSource>>,
    about: About,
    base: Option<String>,
    entry_points: bool,
    shards: Vec<PlannedShard>,
    shard: Option<OpenShard>,
    compressor: Compressor,
    chunk: Vec<u8>,
    /// The chunk's samples in the form that the content hash covers.
    canonical: Vec<u8>,
    last_source: Vec<u8>,
}

struct OpenShard {
    planned: PlannedShard,
    content: blake3::Hasher,
    sources: blake3::Hasher,
}

impl<W> std::fmt::Debug for PlanWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlanWriter").field("shards", &self.shards.len()).finish_non_exhaustive()
    }
}

impl<W: Write> PlanWriter<W> {
    /// Begins a plan whose parts use `exts`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write.
    pub fn new(mut out: W, exts: Vec<PlannedExt>) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        Ok(PlanWriter {
            out,
            written: MAGIC.len() as u64,
            exts,
            sources: None,
            about: About::default(),
            base: None,
            entry_points: false,
            shards: Vec::new(),
            shard: None,
            compressor: Compressor::new(LEVEL)?,
            chunk: Vec::with_capacity(CHUNK * 2),
            canonical: Vec::with_capacity(CHUNK * 2),
            last_source: Vec::new(),
        })
    }

    /// Permits all [locations](Location) of parts and sets the source files that they refer to. Must be
    /// called before the first sample; without it every part is a file.
    pub fn set_sources(&mut self, sources: Vec<PlannedSource>) {
        debug_assert!(self.written == MAGIC.len() as u64, "samples were added before");
        self.sources = Some(sources);
    }

    /// Sets the description of the samples for the manifest.
    pub fn set_about(&mut self, about: About) {
        self.about = about;
    }

    /// Sets the manifest whose data set gets the shards, by the blake3 of its bytes in hex.
    pub fn set_base(&mut self, manifest: String) {
        self.base = Some(manifest);
    }

    /// Sets whether sidecars get JPEG entry points; off by default.
    pub fn set_entry_points(&mut self, wanted: bool) {
        self.entry_points = wanted;
    }

    /// Begins the next shard.
    pub fn begin_shard(&mut self, name: impl Into<String>) {
        self.begin_shard_of(name, None);
    }

    /// Begins the next shard, which belongs to a split.
    pub fn begin_shard_of(&mut self, name: impl Into<String>, split: Option<String>) {
        debug_assert!(self.shard.is_none(), "the last shard was not ended");
        self.shard = Some(OpenShard {
            planned: PlannedShard {
                name: name.into(),
                split,
                samples: 0,
                source_bytes: 0,
                jpeg_bytes: 0,
                bytes: 0,
                at: self.written,
                length: 0,
                content: String::new(),
                sources: String::new(),
            },
            content: blake3::Hasher::new(),
            sources: blake3::Hasher::new(),
        });
    }

    /// Adds a sample to the shard.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write, if a path is longer than 64 KiB,
    /// or if a sample takes more than 7 MiB.
    pub fn add(&mut self, sample: &PlannedSample) -> Result<()> {
        if sample.source.len() > NAME_MAX {
            let text = format!("a path of more than {NAME_MAX} bytes");
            return Err(Error::new(ErrorKind::Limit, text).with_key(name::shown(&sample.key)));
        }
        let before = self.chunk.len();
        encode(sample, &self.last_source, self.sources.is_some(), &mut self.chunk)?;
        if self.chunk.len() - before > MAX_CHUNK - CHUNK {
            let text = "a sample's names and parts take more than 7 MiB in the plan";
            return Err(Error::new(ErrorKind::Limit, text).with_key(name::shown(&sample.key)));
        }
        self.last_source.clone_from(&sample.source);
        put_bytes(&mut self.canonical, &sample.key);
        put(&mut self.canonical, sample.parts.len() as u64);
        for part in &sample.parts {
            put_bytes(&mut self.canonical, self.exts[part.ext as usize].shard.as_bytes());
            put(&mut self.canonical, part.size);
            self.canonical.extend_from_slice(sample.text_of(part).unwrap_or_default());
        }
        if let Some(shard) = &mut self.shard {
            shard.planned.samples += 1;
            for part in &sample.parts {
                shard.planned.source_bytes += part.size;
                if is_jpeg(&self.exts[part.ext as usize].shard) {
                    shard.planned.jpeg_bytes += part.size;
                }
            }
        }
        if self.chunk.len() >= CHUNK { self.close_chunk() } else { Ok(()) }
    }

    /// Ends the shard; `bytes` is the length of its tar.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write.
    pub fn end_shard(&mut self, bytes: u64) -> Result<()> {
        self.close_chunk()?;
        if let Some(OpenShard { mut planned, content, sources }) = self.shard.take() {
            planned.bytes = bytes;
            planned.length = self.written - planned.at;
            planned.content = content.finalize().to_hex().to_string();
            planned.sources = sources.finalize().to_hex().to_string();
            self.shards.push(planned);
        }
        Ok(())
    }

    /// Writes the footer and returns its contents.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write.
    pub fn finish(
        mut self,
        tool: String,
        roots: Vec<String>,
        options: serde_json::Value,
        problems: Vec<serde_json::Value>,
    ) -> Result<(W, PlanFoot)> {
        let foot = PlanFoot {
            schema: if self.sources.is_some() { SCHEMA } else { FILES_SCHEMA },
            tool,
            content: content_hash(&options, &self.shards),
            roots,
            options,
            entry_points: self.entry_points,
            exts: self.exts,
            sources: self.sources.unwrap_or_default(),
            about: self.about,
            base: self.base,
            samples: self.shards.iter().map(|s| s.samples).sum(),
            bytes: self.shards.iter().map(|s| s.bytes).sum(),
            shards: self.shards,
            problems,
        };
        let json = serde_json::to_vec(&foot)
            .map_err(|e| Error::new(ErrorKind::Limit, format!("cannot write the footer: {e}")))?;
        let mut tail = json.clone();
        tail.extend(self.written.to_le_bytes());
        tail.extend((json.len() as u64).to_le_bytes());
        tail.extend(crc32c(&json).to_le_bytes());
        tail.extend([0; 4]);
        tail.extend(MAGIC);
        self.out.write_all(&tail).and_then(|()| self.out.flush()).map_err(write_failed)?;
        Ok((self.out, foot))
    }

    fn close_chunk(&mut self) -> Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        if let Some(shard) = &mut self.shard {
            shard.sources.update(&self.chunk);
            shard.content.update(&self.canonical);
        }
        let packed = self.compressor.compress(&self.chunk).map_err(write_failed)?;
        let mut head = [0; 12];
        head[..4].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        head[4..8].copy_from_slice(&(self.chunk.len() as u32).to_le_bytes());
        head[8..].copy_from_slice(&crc32c(&self.chunk).to_le_bytes());
        self.out
            .write_all(&head)
            .and_then(|()| self.out.write_all(&packed))
            .map_err(write_failed)?;
        self.written += (head.len() + packed.len()) as u64;
        self.chunk.clear();
        self.canonical.clear();
        self.last_source.clear();
        Ok(())
    }
}

/// Returns the hash that identifies a plan: the same options and shards give the same hash.
fn content_hash(options: &serde_json::Value, shards: &[PlannedShard]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"tarflume plan 1\n");
    hasher.update(options.to_string().as_bytes());
    for shard in shards {
        let line = format!("\n{} {} {}", shard.name, shard.samples, shard.content);
        hasher.update(line.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

fn encode(
    sample: &PlannedSample,
    last_source: &[u8],
    any_location: bool,
    out: &mut Vec<u8>,
) -> Result<()> {
    let common = sample.source.iter().zip(last_source).take_while(|(a, b)| a == b).count();
    put(out, u64::from(sample.root));
    put(out, common as u64);
    put_bytes(out, &sample.source[common..]);
    if sample.key == sample.source {
        put(out, 0);
    } else {
        put(out, sample.key.len() as u64 + 1);
        out.extend_from_slice(&sample.key);
    }
    put(out, sample.parts.len() as u64);
    for part in &sample.parts {
        match part.location {
            Location::File { stamp } if !any_location => {
                put(out, u64::from(part.ext));
                put(out, part.size);
                out.extend_from_slice(&stamp.to_le_bytes());
            }
            _ if any_location => encode_located(sample, part, out)?,
            _ => return Err(mislocated(sample)),
        }
    }
    Ok(())
}

/// Returns true for the last extension of a JPEG.
fn is_jpeg(ext: &str) -> bool {
    ["jpg", "jpeg"].contains(&ext.rsplit('.').next().unwrap_or(ext))
}

/// Encodes a part of schema 2: the extension's number times 4 plus the kind of its location.
fn encode_located(sample: &PlannedSample, part: &PlannedPart, out: &mut Vec<u8>) -> Result<()> {
    let ext = u64::from(part.ext) << 2;
    match part.location {
        Location::File { stamp } => {
            put(out, ext);
            put(out, part.size);
            out.extend_from_slice(&stamp.to_le_bytes());
        }
        Location::Path { stamp, .. } => {
            put(out, ext);
            put(out, part.size);
            out.extend_from_slice(&stamp.to_le_bytes());
            let path = sample.path_of(part).filter(|path| path.len() <= NAME_MAX);
            put_bytes(out, path.ok_or_else(|| mislocated(sample))?);
        }
        Location::Text { .. } => {
            put(out, ext | 1);
            put_bytes(out, sample.text_of(part).ok_or_else(|| mislocated(sample))?);
        }
        Location::Range { source, at } => {
            put(out, ext | 2);
            put(out, part.size);
            put(out, u64::from(source));
            put(out, at);
        }
        Location::Cell { source, row, column } => {
            put(out, ext | 3);
            put(out, part.size);
            put(out, u64::from(source));
            put(out, row);
            put(out, u64::from(column));
        }
    }
    Ok(())
}

fn mislocated(sample: &PlannedSample) -> Error {
    let text = "a part's location is not valid in this plan";
    Error::new(ErrorKind::Limit, text).with_key(name::shown(&sample.key))
}

fn write_failed(source: io::Error) -> Error {
    Error::io(source, "write", "the plan")
}
