//! The constants of nvJPEG: statuses, backends and formats, as in NVIDIA's `nvjpeg.h` (12.4 and 13.3 agree). Calls
//! nothing.

use std::fmt;

/// `NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION`: interpolates chroma, as the CPU decoder does. Available since 12.1.
const INTERPOLATE: u32 = 1 << 5;

/// An `nvjpegStatus_t` that is not success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status(pub(super) i32);

impl Status {
    /// The device failed.
    pub(super) const EXECUTION_FAILED: Status = Status(6);

    /// Converts a status code; 0 is success.
    pub(super) fn of(code: i32) -> Result<(), Status> {
        if code == 0 { Ok(()) } else { Err(Status(code)) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            1 => "NOT_INITIALIZED",
            2 => "INVALID_PARAMETER",
            3 => "BAD_JPEG",
            4 => "JPEG_NOT_SUPPORTED",
            5 => "ALLOCATOR_FAILURE",
            6 => "EXECUTION_FAILED",
            7 => "ARCH_MISMATCH",
            8 => "INTERNAL_ERROR",
            9 => "IMPLEMENTATION_NOT_SUPPORTED",
            10 => "INCOMPLETE_BITSTREAM",
            _ => "unknown",
        };
        write!(f, "NVJPEG_STATUS_{name} ({})", self.0)
    }
}

/// A backend of nvJPEG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// The library's default, which is not hardware.
    Default,
    /// Decodes Huffman codes on the GPU, too, in batches of more than 50 pictures.
    GpuHybrid,
    /// The chip's JPEG engines, which use none of the GPU's compute cores.
    Hardware,
    /// As [`Backend::GpuHybrid`], for JPEGs in device memory without restart intervals.
    GpuHybridDevice,
    /// As [`Backend::Hardware`], for JPEGs in device memory.
    HardwareDevice,
}

impl Backend {
    /// Its `nvjpegBackend_t`.
    pub(super) fn number(self) -> i32 {
        match self {
            Backend::Default => 0,
            Backend::GpuHybrid => 2,
            Backend::Hardware => 3,
            Backend::GpuHybridDevice => 4,
            Backend::HardwareDevice => 5,
        }
    }

    /// Flags to create it with, in order of preference, by the library's version. The engines of an H200 interpolate
    /// chroma without the flag, within 2 of 255 of the CPU, and five times as fast as with it (bench/RESULTS.md, part
    /// `engines`); the other backends repeat it, and a library may refuse to create one with the flag.
    pub(super) fn flags(self, version: [i32; 3]) -> &'static [u32] {
        if version < [12, 1, 0] {
            &[0]
        } else if self.has_engines() {
            &[0, INTERPOLATE]
        } else {
            &[INTERPOLATE, 0]
        }
    }

    /// Whether it uses the hardware engines.
    pub(super) fn has_engines(self) -> bool {
        matches!(self, Backend::Hardware | Backend::HardwareDevice)
    }

    /// Whether it reads JPEGs from device memory instead of host memory.
    pub fn reads_device(self) -> bool {
        matches!(self, Backend::GpuHybridDevice | Backend::HardwareDevice)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Default => "DEFAULT",
            Backend::GpuHybrid => "GPU_HYBRID",
            Backend::Hardware => "HARDWARE",
            Backend::GpuHybridDevice => "GPU_HYBRID_DEVICE",
            Backend::HardwareDevice => "HARDWARE_DEVICE",
        })
    }
}

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputFormat {
    /// One byte: luma.
    Gray,
    /// Three bytes: red, green, blue.
    Rgb,
}

impl OutputFormat {
    pub(super) const ALL: [OutputFormat; 2] = [OutputFormat::Gray, OutputFormat::Rgb];

    /// Its `nvjpegOutputFormat_t`.
    pub(super) fn number(self) -> i32 {
        match self {
            OutputFormat::Gray => 2, // NVJPEG_OUTPUT_Y
            OutputFormat::Rgb => 5,  // NVJPEG_OUTPUT_RGBI
        }
    }

    /// The format with this many channels.
    pub(super) fn of(channels: u8) -> Option<OutputFormat> {
        match channels {
            1 => Some(OutputFormat::Gray),
            3 => Some(OutputFormat::Rgb),
            _ => None,
        }
    }
}
