//! `Bottleneck`: what everything waits for, and the sentence that says what would help.

use super::stats::{Stats, share};

/// What everything else waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bottleneck {
    /// Nothing was measured yet.
    Unknown,
    /// Reading the shards.
    Storage,
    /// Decoding, resizing, converting.
    Decode,
    /// Functions that the user handed in, called for each sample.
    Functions,
    /// The device's JPEG decoder, or pictures that it refused.
    Decoder,
    /// Copying batches to a device.
    Upload,
    /// What the consumer makes of each batch before it uses it.
    Transform,
    /// Whoever takes the batches.
    Consumer,
    /// The threads had room to work and did not: the memory bound, or too few batches ahead.
    Loader,
}

impl Stats {
    /// What everything else waits for.
    pub fn bottleneck(&self) -> Bottleneck {
        if self.stage("consumer").is_none_or(|stage| stage.items == 0) {
            return Bottleneck::Unknown;
        }
        let (read, decode) = (self.busy("read"), self.busy("decode"));
        let threads = self.threads_time();
        if self.starved() < 0.05 {
            let transform = self.busy("transform") > self.busy("consumer");
            if transform { Bottleneck::Transform } else { Bottleneck::Consumer }
        } else if self.held_up_by_decoder() > 0.5 {
            Bottleneck::Decoder
        } else if share(self.busy("upload"), self.running.as_secs_f64()) > 0.8 {
            Bottleneck::Upload
        } else if self.stream && share(read, self.running.as_secs_f64()) > 0.8 {
            // Its one thread has no time left; whether decoders have, their own time says.
            if share(decode, threads) > 0.8 { self.decoding() } else { Bottleneck::Storage }
        } else if share(read + decode, threads) < 0.4 {
            Bottleneck::Loader
        } else if read > decode {
            Bottleneck::Storage
        } else {
            self.decoding()
        }
    }

    /// The share of the time in which batches waited for the device's decoder.
    fn held_up_by_decoder(&self) -> f64 {
        let held_up = self.decoder.as_ref().map_or(0.0, |d| d.held_up().as_secs_f64());
        share(held_up, self.running.as_secs_f64())
    }

    /// What decoding spends its time with.
    fn decoding(&self) -> Bottleneck {
        let functions = self.calls.time().as_secs_f64() > self.busy("decode") / 2.0;
        if functions { Bottleneck::Functions } else { Bottleneck::Decode }
    }

    /// One sentence: what everything waits for, and what would help.
    pub fn verdict(&self) -> String {
        let percent = |x: f64| format!("{:.0} %", 100.0 * x);
        let threads = self.threads_time();
        let starved = percent(self.starved());
        match self.bottleneck() {
            Bottleneck::Unknown => "No batch was taken yet.".into(),
            Bottleneck::Consumer => format!(
                "The consumer is what everything waits for: it waited for batches in {starved} of its time."
            ),
            Bottleneck::Transform => format!(
                "What is made of each batch is what everything waits for: it took {} of the consumer's time. \
                 Do it on the GPU, or with less work a batch.",
                percent(share(
                    self.busy("transform"),
                    self.busy("transform") + self.busy("consumer")
                ))
            ),
            Bottleneck::Upload => format!(
                "Copying to the device is what everything waits for: the consumer waited {starved} of its \
                 time, and a copy was under way {} of it. Send smaller pictures, leave resize_on_device out, or \
                 keep the data set on the device (`resident`).",
                percent(share(self.busy("upload"), self.running.as_secs_f64()))
            ),
            Bottleneck::Decoder => format!(
                "The device's JPEG decoder is what everything waits for: the consumer waited {starved} of its \
                 time, and batches waited for that decoder in {} of it. A smaller share leaves more to the \
                 CPU.",
                percent(self.held_up_by_decoder())
            ),
            Bottleneck::Functions => format!(
                "Functions of your own are what everything waits for: the consumer waited {starved} of its \
                 time, they took {} of the threads' time, {} of that waiting to be let in. Do it once a \
                 batch, or with a transform of ours.",
                percent(share(self.calls.time().as_secs_f64(), threads)),
                percent(share(self.calls.waiting.as_secs_f64(), self.calls.time().as_secs_f64()))
            ),
            Bottleneck::Storage if self.stream => format!(
                "Storage is what everything waits for: the consumer waited {starved} of its time, and the \
                 one thread that reads a stream was never idle. With an index (`pack index`) all threads \
                 read."
            ),
            Bottleneck::Storage => format!(
                "Storage is what everything waits for: the consumer waited {starved} of its time, and \
                 reading took {} of the threads' time. More threads hide latency; Blocks instead of Full \
                 makes reads longer.",
                percent(share(self.busy("read"), threads))
            ),
            Bottleneck::Decode => format!(
                "Decoding is what everything waits for: the consumer waited {starved} of its time, and \
                 decoding took {} of the threads' time. More cores, smaller images on disk or a cheaper \
                 filter help.",
                percent(share(self.busy("decode"), threads))
            ),
            Bottleneck::Loader => format!(
                "The loader itself is what everything waits for: the consumer waited {starved} of its \
                 time while threads were idle. Raise .memory() or .prefetch()."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::decode::Scratch;
    use crate::loader::meter::Meter;
    use crate::loader::stats::DecoderStats;

    fn meter(read: u64, decode: u64, consumer: u64, starved: u64) -> Stats {
        let meter = Meter::new(2);
        let ms = Duration::from_millis;
        meter.read.add(ms(read), 10, 1 << 20);
        meter.decode.add(ms(decode), 100, 1 << 20);
        meter.consumer.add(ms(consumer), 5, 0);
        meter.starved.add(ms(starved), 5, 0);
        meter.running.add(ms(consumer + starved), 0, 0);
        meter.stats()
    }

    #[test]
    fn the_verdict_names_what_everything_waits_for() {
        assert_eq!(meter(100, 1800, 10, 990).bottleneck(), Bottleneck::Decode);
        assert_eq!(meter(1800, 100, 10, 990).bottleneck(), Bottleneck::Storage);
        assert_eq!(meter(100, 300, 990, 10).bottleneck(), Bottleneck::Consumer);
        assert_eq!(meter(100, 300, 10, 990).bottleneck(), Bottleneck::Loader);
        assert_eq!(Meter::new(2).stats().bottleneck(), Bottleneck::Unknown);
    }

    #[test]
    fn functions_are_blamed_for_most_of_decoding_and_transforms_for_most_of_consuming() {
        let ms = Duration::from_millis;
        let with = |called: u64, transform: u64, consumer: u64, starved: u64| {
            let meter = Meter::new(2);
            meter.decode.add(ms(1800), 100, 0);
            let mut scratch = Scratch::default();
            scratch.called(ms(called / 3), ms(called - called / 3));
            meter.count(&mut scratch);
            meter.count(&mut scratch); // what was taken over is not counted twice
            meter.transform.add(ms(transform), 5, 0);
            meter.consumer.add(ms(consumer), 5, 0);
            meter.starved.add(ms(starved), 5, 0);
            meter.running.add(ms(consumer + starved), 0, 0);
            meter.stats()
        };
        assert_eq!(with(900, 0, 10, 990).bottleneck(), Bottleneck::Decode);
        let functions = with(1500, 0, 10, 990);
        assert_eq!(functions.bottleneck(), Bottleneck::Functions);
        assert!(functions.to_string().contains("1 calls, 1.000 s, 0.500 s waiting"), "{functions}");
        assert!(
            functions.verdict().contains("75 % of the threads' time, 33 % of that"),
            "{functions}"
        );
        assert_eq!(with(0, 400, 990, 10).bottleneck(), Bottleneck::Consumer);
        let transform = with(0, 700, 990, 10);
        assert_eq!(transform.bottleneck(), Bottleneck::Transform);
        assert_eq!(transform.stage("consumer").unwrap().busy, ms(290));
        assert!(transform.to_string().contains("transform   0.700"), "{transform}");
    }

    #[test]
    fn a_decoder_that_holds_batches_up_is_blamed_and_no_idle_thread() {
        let ms = Duration::from_millis;
        let with = |waited: u64, redone: u64, consumer: u64, starved: u64| {
            let (waited, redone) = (ms(waited), ms(redone));
            let decoder = DecoderStats { waited, redone, decoded: 7, ..DecoderStats::default() };
            Stats { decoder: Some(decoder), ..meter(100, 300, consumer, starved) }
        };
        assert_eq!(with(700, 0, 10, 990).bottleneck(), Bottleneck::Decoder);
        assert_eq!(with(300, 400, 10, 990).bottleneck(), Bottleneck::Decoder);
        assert_eq!(with(300, 0, 10, 990).bottleneck(), Bottleneck::Loader);
        assert_eq!(with(900, 0, 990, 10).bottleneck(), Bottleneck::Consumer);
        let text = with(700, 0, 10, 990).to_string();
        assert!(text.contains("JPEGs decoded by the device: 7, 0 refused"), "{text}");
        assert!(text.contains("waited for that decoder in 70 % of it"), "{text}");
    }

    #[test]
    fn the_table_ends_in_the_verdict() {
        let text = meter(100, 1800, 10, 990).to_string();
        assert_eq!(text.lines().count(), 7);
        assert!(text.lines().last().unwrap().starts_with("Decoding is"), "{text}");
    }
}
