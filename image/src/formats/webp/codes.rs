//! Validates the prefix codes of a lossless WebP and computes the memory that its decoder allocates for them
//! ("WebP Lossless Bitstream Specification", sections 4 to 6).
//!
//! The decoder allocates a table of up to 4 KiB for each code, with five codes in each group. The largest value in
//! the entropy image gives the number of groups: a file of 3.6 MB can declare codes that take 1.3 GB, however small
//! the picture is. Therefore this module reads the codes first, one after the other, and counts exactly what the
//! decoder will allocate. A limit on the file's length would instead reject photographs of a few megabytes, which
//! have some hundred groups.
//!
//! Copied pixels repeat earlier values, so the largest value is found without storing any pixel. Each step consumes
//! at least one bit of the file, so the work is bounded by its length.

/// Bytes of the decoder for a group in addition to its tables, while the list of groups grows.
const GROUP: u64 = 1024;
/// The allocator's overhead for the two lists of a code.
const LISTS: u64 = 64;
/// Symbols that copy earlier pixels, after those of green.
const COPIES: usize = 24;
/// Number of symbols of red, blue, opacity and distance.
const OTHERS: [usize; 4] = [256, 256, 256, 40];
/// The longest code, and the longest code that the decoder resolves by table.
const LONGEST: usize = 15;
const SHOWN: usize = 10;
/// The order in which the file stores the lengths of the code length code.
const ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Maximum columns and rows.
const SIDE: u32 = 1 << 14;

/// Bytes that the decoder allocates for the codes of a lossless bitstream. `sides` is the size of a bitstream that
/// does not contain it (an opacity plane). `None` if the codes are damaged or truncated.
pub(in crate::formats) fn memory(bytes: &[u8], sides: Option<(u32, u32)>) -> Option<u64> {
    let mut bits = CodeBits { bytes, at: 0 };
    let (width, height) = match sides {
        Some(sides) => sides,
        None => bits.sides()?,
    };
    if width > SIDE || height > SIDE {
        return None;
    }
    let width = bits.transforms(width, height)?;
    let cache = bits.cache()?;
    let mut groups = 1;
    if bits.take(1)? == 1 {
        let side = bits.take(3)? + 2;
        groups = bits.image(blocks(width, side) * blocks(height, side))? + 1;
    }
    let mut memory = 0;
    for _ in 0..groups {
        memory += GROUP + bits.group(cache)?.iter().map(Code::memory).sum::<u64>();
    }
    Some(memory)
}

/// Number of blocks of `1 << side` pixels in a line of `pixels`.
fn blocks(pixels: u32, side: u32) -> u32 {
    pixels.div_ceil(1 << side)
}

/// Reads bits, the lowest first.
struct CodeBits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl CodeBits<'_> {
    /// Reads a number of up to 18 bits.
    fn take(&mut self, count: usize) -> Option<u32> {
        let rest = self.bytes.get(self.at / 8..)?;
        if rest.len() * 8 < self.at % 8 + count {
            return None;
        }
        let some = &rest[..rest.len().min(4)];
        let found = some.iter().rev().fold(0u32, |sum, &byte| sum << 8 | u32::from(byte));
        let found = found >> (self.at % 8) & ((1 << count) - 1);
        self.at += count;
        Some(found)
    }

    /// Reads width and height from the bitstream's header.
    fn sides(&mut self) -> Option<(u32, u32)> {
        (self.take(8)? == 0x2f).then_some(())?;
        let sides = (self.take(14)? + 1, self.take(14)? + 1);
        // The opacity flag, then the version, which must be 0.
        self.take(1)?;
        (self.take(3)? == 0).then_some(sides)
    }

    /// Skips the transforms. Returns the width of the image that they apply to.
    fn transforms(&mut self, mut width: u32, height: u32) -> Option<u32> {
        let mut seen = [false; 4];
        while self.take(1)? == 1 {
            let kind = self.take(2)? as usize;
            if std::mem::replace(&mut seen[kind], true) {
                return None;
            }
            match kind {
                // Subtract green: has no data.
                2 => {}
                // A palette, which packs several pixels into one if it is small.
                3 => {
                    let colors = self.take(8)? + 1;
                    self.image(colors)?;
                    width = blocks(width, shared(colors));
                }
                _ => {
                    let side = self.take(3)? + 2;
                    self.image(blocks(width, side) * blocks(height, side))?;
                }
            }
        }
        Some(width)
    }

    /// Reads the size of the color cache, whose entries are additional symbols of green.
    fn cache(&mut self) -> Option<usize> {
        if self.take(1)? == 0 {
            return Some(0);
        }
        let bits = self.take(4)?;
        (1..=11).contains(&bits).then_some(1 << bits)
    }

    /// Skips an entropy-coded image. Returns the largest 16-bit value of red (upper half) and green (lower half),
    /// which in an entropy image is the number of a group.
    fn image(&mut self, pixels: u32) -> Option<u32> {
        let cache = self.cache()?;
        let [green, red, blue, opacity, distance] = self.group(cache)?;
        let pixels = u64::from(pixels);
        let mut at = 0;
        let mut largest = 0;
        while at < pixels {
            let symbol = green.read(self)?;
            if symbol < 256 {
                let before = self.at;
                largest = largest.max(red.read(self)? << 8 | symbol);
                blue.read(self)?;
                opacity.read(self)?;
                // A pixel that consumes no bit repeats to the end of the image.
                let endless = green.is_single() && self.at == before;
                at += if endless { pixels } else { 1 };
            } else if symbol < 256 + COPIES as u32 {
                let length = self.length(symbol - 256)?;
                let symbol = distance.read(self)?;
                self.length(symbol)?;
                // A copy before the first pixel has no source.
                if at == 0 || length > pixels - at {
                    return None;
                }
                at += length;
            } else {
                at += if green.is_single() { pixels } else { 1 };
            }
        }
        Some(largest)
    }

    /// Reads a length or a distance. `symbol` determines the number of extra bits.
    fn length(&mut self, symbol: u32) -> Option<u64> {
        if symbol < 4 {
            return Some(u64::from(symbol) + 1);
        }
        let more = (symbol - 2) >> 1;
        let least = (2 + (symbol & 1)) << more;
        Some(u64::from(least + self.take(more as usize)?) + 1)
    }

    /// Reads the five codes of a group. The first has `cache` additional symbols for cached colors.
    fn group(&mut self, cache: usize) -> Option<[Code; 5]> {
        let green = self.code(256 + COPIES + cache)?;
        let [red, blue, opacity, distance] = OTHERS;
        Some([green, self.code(red)?, self.code(blue)?, self.code(opacity)?, self.code(distance)?])
    }

    /// Reads a code of up to `symbols` symbols: a simple one of one or two symbols, or the lengths of all.
    fn code(&mut self, symbols: usize) -> Option<Code> {
        if self.take(1)? == 1 {
            let two = self.take(1)? == 1;
            let bits = if self.take(1)? == 1 { 8 } else { 1 };
            let first = self.take(bits)?;
            let second = if two { Some(self.take(8)?) } else { None };
            let named = [Some(first), second].into_iter().flatten();
            if named.clone().any(|symbol| symbol as usize >= symbols) {
                return None;
            }
            let symbols = named.map(|symbol| symbol as u16).collect();
            let mut counts = [0; LONGEST + 1];
            counts[1] = if two { 2 } else { 0 };
            return Some(Code { counts, symbols });
        }
        let mut lengths = [0; ORDER.len()];
        let count = 4 + self.take(4)? as usize;
        for &place in &ORDER[..count] {
            lengths[place] = self.take(3)? as u8;
        }
        let lengths = self.lengths(&Code::of(&lengths)?, symbols)?;
        Code::of(&lengths)
    }

    /// Reads the code lengths of `symbols` symbols.
    fn lengths(&mut self, code: &Code, symbols: usize) -> Option<Vec<u8>> {
        let mut left = symbols;
        if self.take(1)? == 1 {
            let bits = 2 + 2 * self.take(3)? as usize;
            left = 2 + self.take(bits)? as usize;
            (left <= symbols).then_some(())?;
        }
        let mut lengths = Vec::with_capacity(symbols);
        let mut last = 8;
        while lengths.len() < symbols && left > 0 {
            left -= 1;
            let found = code.read(self)? as u8;
            let (length, times) = match found {
                0..16 => (found, 1),
                16 => (last, 3 + self.take(2)?),
                17 => (0, 3 + self.take(3)?),
                _ => (0, 11 + self.take(7)?),
            };
            last = if found < 16 && length > 0 { length } else { last };
            lengths.resize(lengths.len() + times as usize, length);
        }
        (lengths.len() <= symbols).then_some(lengths)
    }
}

/// log2 of the number of pixels with so many colors that are packed into one.
fn shared(colors: u32) -> u32 {
    match colors {
        0..=2 => 3,
        3..=4 => 2,
        5..=16 => 1,
        _ => 0,
    }
}

/// A canonical prefix code: the number of codes of each length, and the symbols in the order of their codes. A
/// single symbol has no bits.
struct Code {
    counts: [u16; LONGEST + 1],
    symbols: Vec<u16>,
}

impl Code {
    /// The code with these lengths; `None` if they do not form a complete code.
    fn of(lengths: &[u8]) -> Option<Code> {
        let mut counts = [0u16; LONGEST + 1];
        lengths.iter().for_each(|&length| counts[usize::from(length)] += 1);
        counts[0] = 0;
        let used: usize = counts.iter().copied().map(usize::from).sum();
        let mut symbols = Vec::with_capacity(used);
        for length in (1..=LONGEST).filter(|&length| counts[length] > 0) {
            let of_length = lengths.iter().enumerate().filter(|&(_, &l)| usize::from(l) == length);
            symbols.extend(of_length.map(|(symbol, _)| symbol as u16));
        }
        if used == 1 {
            return Some(Code { counts: [0; LONGEST + 1], symbols });
        }
        let filled = counts.iter().enumerate().skip(1);
        let filled: u32 = filled.map(|(n, &count)| u32::from(count) << (LONGEST - n)).sum();
        (filled == 1 << LONGEST).then_some(Code { counts, symbols })
    }

    fn is_single(&self) -> bool {
        self.symbols.len() == 1
    }

    /// Reads the next symbol.
    fn read(&self, bits: &mut CodeBits<'_>) -> Option<u32> {
        if self.is_single() {
            return Some(self.symbols[0].into());
        }
        // `first` is the first code of the current length, `place` the index of its symbol.
        let mut code = 0;
        let mut first = 0;
        let mut place = 0;
        for &count in &self.counts[1..] {
            let count = u32::from(count);
            code |= bits.take(1)?;
            if code < first + count {
                return self.symbols.get((place + code - first) as usize).map(|&s| s.into());
            }
            (place, first, code) = (place + count, (first + count) << 1, code << 1);
        }
        None
    }

    /// Bytes of the decoder's table, and of its tree for longer codes.
    fn memory(&self) -> u64 {
        if self.is_single() {
            return 0;
        }
        let longest = self.counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let behind: u64 = self.counts[SHOWN + 1..].iter().map(|&count| u64::from(count)).sum();
        (4 << longest.min(SHOWN)) + 2 * 16 * behind + LISTS
    }
}
