//! Names of a loader's keywords: for the spellings of other loaders. Pure text; which keywords exist is decided in `settings`.

pub(crate) mod array_rows;
pub(crate) mod bucket_keywords;
pub(crate) mod loader_columns;
pub(crate) mod loader_keywords;
pub(crate) mod pack_keywords;

/// Spellings of PyTorch, DALI, Grain, FFCV, tf.data and webdataset, and the keyword for each.
const SPELLINGS: [(&str, &[&str]); 12] = [
    ("batch_size", &["batch", "bs", "local_batch_size", "batch_per_rank"]),
    (
        "buffer_size",
        &["buffer", "initial_fill", "shuffle_buffer", "shuffle_buffer_size", "shuffle_size"],
    ),
    ("device_slots", &["ring", "slots", "device_buffers", "gpu_prefetch_queue_depth"]),
    (
        "drop_last",
        &["drop_remainder", "last_batch_policy", "pad_last_batch", "partial", "remainder"],
    ),
    ("memory_limit", &["memory", "max_memory", "mem_limit", "cache_limit", "ram_budget_mb"]),
    (
        "num_threads",
        &["threads", "n_threads", "nthreads", "num_parallel_calls", "read_threads", "jobs"],
    ),
    ("on_bad", &["on_error", "handler", "skip_errors", "ignore_errors"]),
    (
        "prefetch",
        &[
            "prefetch_batches",
            "prefetch_factor",
            "prefetch_queue_depth",
            "prefetch_buffer_size",
            "batches_ahead",
            "predownload",
        ],
    ),
    ("rank", &["shard_id", "shard_index", "global_rank", "dp_rank"]),
    ("seed", &["random_seed", "shuffle_seed"]),
    ("shuffle", &["random_shuffle", "order", "shuffle_algo"]),
    ("world_size", &["world", "num_replicas", "num_shards", "shard_count", "dp_size", "num_ranks"]),
];

/// Keywords of other loaders for which a loader has no keyword, and what it has instead.
const INSTEAD: [(&[&str], &str); 12] = [
    (
        &["num_workers", "worker_count", "workers", "max_workers", "py_num_workers"],
        "a loader has no worker processes; num_threads= is the number of its threads, by default one for \
         each core",
    ),
    (
        &["persistent_workers", "multiprocessing_context", "in_order", "timeout"],
        "a loader has no worker processes, so leave it out: its threads live as long as the loader",
    ),
    (
        &["worker_init_fn"],
        "a loader has no worker processes, so leave it out: seed= determines all random numbers",
    ),
    (
        &["pin_memory", "pin_memory_device", "non_blocking"],
        "tarflume.torch.Loader takes pin_memory=, and device=\"cuda\" copies each batch from pinned memory to \
         the GPU",
    ),
    (
        &["sampler"],
        "shuffle= and seed= determine the order, select= the samples, and weights= how often each class \
         comes; tarflume.torch.MapDataset works with samplers",
    ),
    (
        &["batch_sampler"],
        "batch_size= and drop_last= determine the batches, shuffle= and seed= the order, weights= how often \
         each class comes; tarflume.torch.MapDataset works with samplers",
    ),
    (&["generator"], "seed= is a whole number that determines the order and all random crops"),
    (
        &["collate_fn", "batch_transform"],
        "columns are arrays of a whole batch, so nothing has to be collated; collate=function and \
         tarflume.torch.Loader(transform=function) change batches, deliver=\"tuple\" makes tuples",
    ),
    (
        &["transform", "transforms", "operations", "pipelines", "pipeline"],
        "image= takes a transform of pictures, tarflume.Apply(function, column) changes samples, and \
         collate=function changes batches",
    ),
    (
        &["mixup", "cutmix", "mixup_fn", "mixup_alpha", "cutmix_alpha"],
        "mix=tarflume.Mix(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=1000) mixes the rows of each batch",
    ),
    (&["device_id", "gpu", "gpu_id"], "device=\"cuda:0\" is the GPU with number 0"),
    (
        &["num_epochs", "epochs"],
        "loader.epoch(number) yields one epoch; repeat= is the passes of an epoch",
    ),
];

/// What to use instead of `name`, which is no keyword of a loader but one of another.
pub(crate) fn instead_of(name: &str) -> Option<String> {
    if let Some((keyword, _)) = SPELLINGS.iter().find(|(_, others)| others.contains(&name)) {
        return Some(format!("did you mean {keyword}=?"));
    }
    let found = INSTEAD.iter().find(|(names, _)| names.contains(&name));
    found.map(|(_, text)| (*text).to_string())
}
