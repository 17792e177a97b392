//! Valid JPEGs, from `fuzz/seeds`, for targets that change something else than the JPEG; and the checksum of entry points.

/// 97 x 61 pixels, 4:2:0.
pub(crate) const YUV420: &[u8] = include_bytes!("../../seeds/jpeg_header/yuv420");

/// Pictures of three kinds.
pub(crate) const GOOD: [&[u8]; 3] = [
    YUV420,
    include_bytes!("../../seeds/jpeg_header/yuv444"),
    include_bytes!("../../seeds/jpeg_header/gray"),
];

/// Returns the checksum of bytes as entry points and strips hold it.
pub(crate) fn crc32c(bytes: &[u8]) -> [u8; 4] {
    (crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32).to_le_bytes()
}

/// Puts the right checksum into entry points.
pub(crate) fn put_checksum(points: &mut [u8]) {
    points[16..20].fill(0);
    let sum = crc32c(points);
    points[16..20].copy_from_slice(&sum);
}
