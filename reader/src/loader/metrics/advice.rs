//! The sentences of a verdict: what limits a loader, by how much, and what helps. Text alone.

use tarflume_formats::message;
use tarflume_formats::message::{Call, Face, Message, Name, Phrase, Task};

use crate::decode::costs::operations::OperationStats;
use crate::loader::metrics::bottleneck::{Bottleneck, Doubt, LEAST, Measurements, judge};
use crate::loader::metrics::stats::{Stats, share};

/// A verdict names an operation that takes this share of decoding.
const WORTH_NAMING: f64 = 0.10;

/// `43 %`
fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

impl Stats {
    /// What limits the rate of batches and what helps, in two or three sentences.
    pub fn verdict(&self) -> String {
        self.verdict_message().in_face(Face::Rust)
    }

    /// The verdict, whose settings are data.
    #[doc(hidden)]
    pub fn verdict_message(&self) -> Message {
        let facts = self.facts();
        match judge(&facts) {
            Err(doubt) => self.doubt(doubt, &facts),
            Ok(cause) => self.cause(cause, &facts),
        }
    }

    /// What the consumer did meanwhile.
    fn consumer(&self, facts: &Measurements) -> String {
        if facts.starved > 0.98 {
            "Batches were taken as fast as they came.".into()
        } else {
            format!("The consumer waited in {} of its time.", percent(facts.starved))
        }
    }

    /// `12,300 samples/s, 1234.5 MB/s read`
    fn pace(&self) -> String {
        let seconds = self.running.as_secs_f64();
        let samples = self.stage("decode").map_or(0, |stage| stage.items) as f64;
        let bytes = self.stage("read").map_or(0, |stage| stage.bytes) as f64;
        format!(
            "{:.0} samples/s, {:.1} MB/s read",
            share(samples, seconds),
            share(bytes, seconds) / 1e6
        )
    }

    fn doubt(&self, doubt: Doubt, facts: &Measurements) -> Message {
        match doubt {
            Doubt::Nothing => Message::words("No batch was taken yet."),
            Doubt::Short => message!(
                "Too little was measured to say what limits: behind the first batch of an epoch came {} more in \
                 {:.2} s, and {} in {} s are needed. Measure longer, or take smaller batches with {batch}.",
                facts.batches, facts.seconds, LEAST.0, LEAST.1;
batch = Name::Batch),
            Doubt::Mixed => message!(
                "No single cause limits the loader: of the threads' time reads waited {}, decoding took {}, \
                 functions of your own {}, the loader's own work {}; they were idle for {}. More threads help \
                 while cores are free: try {threads}.",
                percent(facts.storage),
                percent(facts.decode),
                percent(facts.functions),
                percent(facts.own),
                percent(facts.memory + facts.prefetch);
threads = Name::Threads),
            Doubt::Busy => message!(
                "Cannot tell what limits the loader: its threads waited for a core in {} of their time. End \
                 other programs, or ask for fewer threads with {threads}, and measure again.",
                percent(facts.queued);
threads = Name::Threads),
            Doubt::Mapped => message!(
                "Cannot tell storage from decoding: threads slept in {} of the time of decoding, and mapped \
                 shards are read where they are touched. Measure again with the source `file`.",
                percent(facts.slept)
            ),
        }
    }

    fn cause(&self, cause: Bottleneck, facts: &Measurements) -> Message {
        let consumer = self.consumer(facts);
        match cause {
            Bottleneck::Consumer => message!(
                "The loader keeps up: the consumer waited for batches in {} of its time. Only faster work \
                 between two batches makes it faster.",
                percent(facts.starved)
            ),
            Bottleneck::Transform => message!(
                "The loader keeps up, and what is made of each batch takes {} of the consumer's time. Do it on \
                 the GPU, or with less work a batch.",
                percent(facts.transform)
            ),
            Bottleneck::Balanced => message!(
                "Loader and consumer are about equally fast: the consumer waited in {} of its time. Only both \
                 together can become faster.",
                percent(facts.starved)
            ),
            Bottleneck::Upload => message!(
                "Copying to the device is the limit: a copy was under way in {} of the time. {consumer} Send \
                 smaller pictures, leave resize_on_device out, or keep the data set on the device (`resident`).",
                percent(facts.upload)
            ),
            Bottleneck::Decoder => message!(
                "The device's JPEG decoder is the limit: batches waited for it in {} of the time. {consumer} A \
                 smaller share leaves more to the CPU.",
                percent(facts.decoder)
            ),
            cause => self.of_threads(cause, facts, &consumer),
        }
    }

    /// The most expensive operation of a recipe, if it takes a share of decoding that is worth a change.
    fn expensive_operation(&self) -> Option<String> {
        let OperationStats { column, name, busy, .. } = self.most_expensive()?;
        let share = share(busy.as_secs_f64(), self.busy("decode"));
        (share >= WORTH_NAMING).then(|| {
            format!(
                "The most expensive operation is {name} of column {column}, with {} of that.",
                percent(share)
            )
        })
    }

    /// The sentences for causes in the threads' time.
    fn of_threads(&self, cause: Bottleneck, facts: &Measurements, consumer: &str) -> Message {
        let decode = facts.decode + facts.functions;
        match cause {
            Bottleneck::Functions => message!(
                "Functions of your own are the limit: they took {} of the threads' time, {} of that waiting to \
                 be let in. {consumer} Call them once a batch, or take a transform of the library.",
                percent(facts.functions),
                percent(share(self.calls.waiting.as_secs_f64(), self.calls.time().as_secs_f64()))
            ),
            Bottleneck::Storage if self.setting.stream => message!(
                "Storage is the limit: threads waited for the stream in {} of their time ({}). {consumer} With \
                 an index (`{index}`) all threads read.",
                percent(facts.storage),
                self.pace();
index = Call::of(Task::Index)),
            Bottleneck::Storage => message!(
                "Storage is the limit: threads slept in reads for {} of their time ({}). {consumer} More \
                 threads ({threads}) hide latency; {blocks} instead of {full} makes reads longer.",
                percent(facts.storage),
                self.pace();
threads = Name::Threads,
blocks = Phrase::BlockShuffle,
full = Phrase::FullShuffle),
            Bottleneck::Decode if facts.slept > 0.5 => message!(
                "Decoding is the limit: it took {} of the threads' time, and slept in {} of that. {consumer} \
                 More threads ({threads}) help, more cores do not.",
                percent(decode),
                percent(facts.slept);
threads = Name::Threads),
            Bottleneck::Decode => match self.expensive_operation() {
                Some(operation) => message!(
                    "Decoding is the limit: it took {} of the threads' time. {consumer} {operation} More cores, smaller \
                     results or a cheaper operation in its place help.",
                    percent(decode)
                ),
                None => message!(
                    "Decoding is the limit: it took {} of the threads' time. {consumer} More cores, smaller images \
                     on disk or a cheaper filter help.",
                    percent(decode)
                ),
            },
            Bottleneck::Memory if facts.clamped => message!(
                "The memory limit is the bottleneck: it has room for {} of {} batches in preparation, and threads were \
                 idle for {} of their time. {consumer} Raise {limit}, or take smaller batches.",
                self.setting.depth,
                self.setting.requested,
                percent(facts.memory + facts.prefetch);
limit = Name::MemoryLimit),
            Bottleneck::Memory => message!(
                "The memory limit is the bottleneck: threads waited for room in {} of their time. {consumer} Raise \
                 {limit}, or take smaller batches.",
                percent(facts.memory);
limit = Name::MemoryLimit),
            Bottleneck::Prefetch => message!(
                "Too few batches are prepared at once: threads were idle for {} of their time while {} batches \
                 were under way. {consumer} Raise {prefetch}, or take larger batches.",
                percent(facts.prefetch),
                self.setting.depth;
prefetch = Name::Prefetch),
            _ => message!(
                "Nothing holds the loader up: storage, decoding, memory and the consumer left {} of the \
                 threads' time to planning, copying and closing batches ({}, {} threads). {consumer}",
                percent(facts.own),
                self.pace(),
                self.threads
            ),
        }
    }
}
