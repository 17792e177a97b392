//! Decoding a hostile JPEG: no panic, no byte outside the output's rows, and the same result with one
//! stream as with four, and if damaged pictures are kept. The first six bytes choose scale, color and region.

use tarflume_jpeg::{
    Color, Damage, Decoder, ErrorKind, Header, Job, OnDamage, Region, Scale, Size,
};

/// Decodes the input with one stream and with four, and with damage refused and kept.
pub fn jpeg_decode(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first_chunk::<6>() else { return };
    let Ok(header) = Header::parse(bytes) else { return };
    if u64::from(header.width()) * u64::from(header.height()) > 1 << 20 {
        return;
    }
    let scale = Scale::ALL[usize::from(choice[0] % 4)];
    let color = if choice[1] & 1 == 0 { Color::Rgb } else { Color::Gray };
    let Size { width, height } = scale.of(header.width(), header.height());
    let part = |from: u8, length: u8, all: u32| {
        let from = u32::from(from) * all / 256;
        (from, 1 + u32::from(length) * (all - from - 1) / 255)
    };
    let (left, width) = part(choice[2], choice[3], width);
    let (top, height) = part(choice[4], choice[5], height);
    let region = Region { left, top, width, height };
    let line = width as usize * color.bytes();
    let stride = line + 3;
    let decode = |streams, on_damage| {
        let mut output = vec![0xa5; stride * height as usize];
        let job = Job {
            region: Some(region),
            scale,
            color,
            stride,
            on_damage,
            ..Job::new(bytes, &header, &mut output)
        };
        let mut decoder = Decoder::new();
        decoder.set_streams(streams);
        let result = decoder.decode(job).map(|report| (report.drawn, report.damage));
        assert!(output.chunks(stride).all(|row| row[line..] == [0xa5; 3]));
        if let Err(error) = &result {
            let placed = error.byte().is_some_and(|byte| byte <= bytes.len() as u64);
            assert!(placed || error.kind() == ErrorKind::Unsupported, "{error:?}");
        }
        result.map(|found| (found, output)).map_err(|error| error.to_string())
    };
    let refused = decode(1, OnDamage::Refuse);
    assert!(refused == decode(4, OnDamage::Refuse));
    let kept = decode(1, OnDamage::Keep);
    match refused {
        Ok(((_, damage), _)) => {
            assert!(damage != Damage::Lost);
            assert!(refused == kept, "what is not damaged is decoded alike");
        }
        Err(_) => {
            assert!(kept.is_err() || kept.is_ok_and(|((_, damage), _)| damage != Damage::None))
        }
    }
}
