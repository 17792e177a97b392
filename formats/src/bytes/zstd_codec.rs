//! The only use of the zstd library: compresses and decompresses frames. Without the feature `zstd`, every call is an error
//! that names the feature.

pub(crate) use self::codec::{Compressor, decompress, decompress_into};

#[cfg(feature = "zstd")]
mod codec {
    use std::cell::RefCell;
    use std::{fmt, io};

    use zstd::bulk;

    /// Compresses frames.
    pub(crate) struct Compressor(bulk::Compressor<'static>);

    impl fmt::Debug for Compressor {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Compressor")
        }
    }

    impl Compressor {
        /// Creates a compressor with this level of zstd, 1 to 22.
        ///
        /// # Errors
        /// Returns an error if memory is exhausted.
        pub(crate) fn new(level: i32) -> io::Result<Compressor> {
            bulk::Compressor::new(level).map(Compressor)
        }

        /// Adds a checksum to each frame.
        ///
        /// # Errors
        /// Returns the error of the library.
        pub(crate) fn include_checksum(&mut self) -> io::Result<()> {
            self.0.include_checksum(true)
        }

        /// Returns `data` as one frame.
        ///
        /// # Errors
        /// Returns an error if memory is exhausted.
        pub(crate) fn compress(&mut self, data: &[u8]) -> io::Result<Vec<u8>> {
            self.0.compress(data)
        }
    }

    /// Returns the content of a frame, at most `limit` bytes.
    ///
    /// # Errors
    /// Returns an error if the frame is damaged or its content longer.
    pub(crate) fn decompress(frame: &[u8], limit: usize) -> io::Result<Vec<u8>> {
        bulk::decompress(frame, limit)
    }

    /// Writes the content of a frame to `into` and returns its length.
    ///
    /// # Errors
    /// Returns an error if the frame is damaged or its content longer.
    pub(crate) fn decompress_into(frame: &[u8], into: &mut [u8]) -> io::Result<usize> {
        thread_local! {
            // A decompressor has 100 KiB of tables; one is kept for each thread.
            static DECOMPRESSOR: RefCell<Option<bulk::Decompressor<'static>>> = const { RefCell::new(None) };
        }
        DECOMPRESSOR.with_borrow_mut(|kept| {
            let decompressor = match kept {
                Some(decompressor) => decompressor,
                None => kept.insert(bulk::Decompressor::new()?),
            };
            decompressor.decompress_to_buffer(frame, into)
        })
    }
}

#[cfg(not(feature = "zstd"))]
mod codec {
    use std::io;

    /// A compressor that cannot be created.
    #[derive(Debug)]
    pub(crate) enum Compressor {}

    impl Compressor {
        pub(crate) fn new(_level: i32) -> io::Result<Compressor> {
            Err(left_out())
        }

        pub(crate) fn include_checksum(&mut self) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn compress(&mut self, _data: &[u8]) -> io::Result<Vec<u8>> {
            match *self {}
        }
    }

    pub(crate) fn decompress(_frame: &[u8], _limit: usize) -> io::Result<Vec<u8>> {
        Err(left_out())
    }

    pub(crate) fn decompress_into(_frame: &[u8], _into: &mut [u8]) -> io::Result<usize> {
        Err(left_out())
    }

    fn left_out() -> io::Error {
        let text = concat!(
            "this program was compiled without zstd; in its Cargo.toml: tarflume-formats = { version = \"",
            env!("CARGO_PKG_VERSION"),
            "\", features = [\"zstd\"] }"
        );
        io::Error::new(io::ErrorKind::Unsupported, text)
    }
}
