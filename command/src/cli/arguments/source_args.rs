//! The arguments that `build` and `plan` share: what is packed, under which names, into how many
//! shards.

use std::path::PathBuf;

use tarflume_base::check::CheckLevel;
use tarflume_base::compress::Compress;
use tarflume_base::{Failure, size};
use tarflume_formats::json::JsonRules;
use tarflume_packer::build::{BuildOptions, Request};
use tarflume_shards::workdir::Policy;

use super::args::{self, Format, Jobs, choice};
use super::image_args::ImageArgs;
use super::{places, zeros};
use crate::cli::features::HelpPart::{Always, With, Without};
use crate::cli::features::{self, Feature, HelpPart, or_url};
use crate::cli::output::progress;
use crate::signals;

const SOURCES: &[HelpPart] = &[
    Always("Folders to pack, whose keys are paths relative to them; or sources of one kind:"),
    With(Feature::Tables, " arrow:,"),
    Always(" csv:,"),
    With(Feature::Hdf5, " hdf5:,"),
    Always(" idx:, json:, jsonl:, litdata:, mat:, mds:, npy:, npz:,"),
    With(Feature::Tables, " parquet:,"),
    Always(" raw:, tar:, tfrecord:, zarr:, zip:"),
];

const SOURCES_MORE: &[HelpPart] = &[
    Always(
        "\n\nA source is KIND:FILE,FILE?name=value. FILE may have braces ({000..099}) and wildcards, or be a folder of \
         such files; mds: and litdata: take the folder that has index.json, zarr: that of a group or an array. Columns become parts by name: \
         mds:old?key=id&jpg=image&json=*, csv:t.csv?key=id&jpg=@path for files named in a column, json:list.json?at=/images&key=#&jpg=@{folder}/{name} for rows inside a JSON document, raw:x.dat?dtype=float32&shape=768 for numbers \
         without a header, npz:t.npz?png=x&label=y for arrays whose rows are pictures",
    ),
    With(Feature::Hdf5, ", hdf5:t.h5?image=/x&label=/y"),
    Always(
        ". Without options, images and other bytes become parts, and all other values the sample's JSON.",
    ),
];

const JOIN: &[HelpPart] = &[Always(
    "Make each row of a table the JSON of its sample: FILE, or FILE:key=COLUMN,on=NAME,as=EXT; repeatable",
)];

const JOIN_MORE: &[HelpPart] = &[
    Always(
        ".\n\nFILE is .csv, .tsv, .jsonl or .json (at=/annotations names the list that has the rows), each also with .gz or .zst",
    ),
    With(Feature::Tables, ", or .parquet"),
    Always(
        ". Other files are text: their lines tell what separates the fields, or sep=tab, sep=space (runs of blanks), \
         sep=line do; header=none, header=NAME+NAME, skip=LINES, quote=none (quotes are text) and encoding=latin1 describe them. rows=order gives row n \
         to sample n, many=list collects all rows of a sample in lists, missing-row=keep|skip and orphan-row=ignore say \
         what happens to samples and rows that match nothing, remove=PREFIX and add=PREFIX change the rows' names, \
         fields=NAME|NAME takes some columns only, texts=NAME|NAME reads columns as text. COLUMN has the samples' names; without it, the first column that is called file_name, filename, path, image, \
         id or the like. NAME is what the column has: key (cat/001), stem (001), basename (001.jpg) or path \
         (cat/001.jpg); it is found from the rows. as=meta.json stores the rows as .meta.json, for samples that have \
         JSON files. `auto`, the default, joins metadata.csv",
    ),
    With(Feature::Tables, ", metadata.jsonl and metadata.parquet"),
    Without(Feature::Tables, " and metadata.jsonl"),
    Always(" of image folders, which have a column file_name; `none` joins nothing."),
];

const FILES: &[HelpPart] = &[
    Always("Take the files from a list instead of reading the folders: text, .csv, .tsv, .jsonl,"),
    With(Feature::Tables, " .parquet,"),
    Always(
        " or the manifest.json of an S3 inventory. A file whose size is listed is not examined before it is packed",
    ),
];

const FILES_MORE: &[HelpPart] = &[Always(
    ".\n\nText has lines of SIZE<tab>TIME<tab>PATH, as `find SRC -type f -printf '%s\\t%T@\\t%p\\n'` writes them, of \
     SIZE<tab>PATH, of a path alone, or of GPFS's policy engine. Tables have a column path, key or file, and may have \
     size and mtime. A time counts if it is text with nine decimals of a second. Paths are absolute, below SRC, or keys \
     of the bucket that is mounted at SRC.",
)];

/// Sources, output, and the options that determine the shards.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SourceArgs {
    #[arg(help = features::text(SOURCES), long_help = features::long(SOURCES, SOURCES_MORE), required = true, value_name = "SRC")]
    sources: Vec<PathBuf>,
    #[arg(help = features::text(args::OUT), short, long, value_name = or_url("DIR|URL", "DIR"))]
    pub(in crate::cli) out: PathBuf,

    /// Limit shards to this size [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Shards")]
    shard_size: Option<u64>,
    /// Limit shards to N samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Shards")]
    shard_samples: Option<u64>,
    /// Make exactly N shards of nearly equal size
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          conflicts_with_all = ["shard_size", "shard_samples"], help_heading = "Shards")]
    shards: Option<u64>,
    /// Name shards PREFIX-000000.tar; those of a split SPLIT-000000.tar, or PREFIX-SPLIT-000000.tar
    /// if PREFIX is given
    #[arg(long, default_value = "shard", help_heading = "Shards")]
    prefix: String,
    /// Distribute samples over shards at random; the same seed gives the same shards
    #[arg(long, value_name = "SEED", help_heading = "Shards")]
    shuffle: Option<u64>,
    /// Compress shards: zstd or zstd:LEVEL, 1 to 22 [default level: 3].
    ///
    /// Shards are PREFIX-000000.tar.zst; any zstd program decompresses them to the tar. JPEGs and other compressed
    /// parts are stored. A loader decompresses only the frames that hold a sample.
    #[arg(long, value_name = "zstd[:LEVEL]", value_parser = Compress::parse, help_heading = "Shards")]
    compress: Option<Compress>,
    /// Store typed values of samples in the sidecars: NAME:TYPE,..., such as class:u32,split:str.
    ///
    /// A loader then reads labels, weights and tables without JSON. NAME:TYPE is the field /NAME of the part json,
    /// NAME=EXT:/FIELD:TYPE a field of another part, NAME=EXT:TYPE the text of a part. Types: bool, u8, i8, u16,
    /// i16, u32, i32, u64, i64, f32, f64, str. A value of another type is a problem of its sample; a sample may lack
    /// a value.
    #[arg(long, value_name = "COLUMNS", help_heading = "Shards")]
    columns: Option<String>,

    #[arg(help = features::text(JOIN), long_help = features::long(JOIN, JOIN_MORE), long, value_name = "FILE", help_heading = "Samples")]
    join: Vec<String>,
    /// Join the annotations of a COCO or LVIS file: boxes, masks, keypoints, captions and panoptic segments as lists
    /// in each sample's JSON; options as in --join
    #[arg(long, value_name = "FILE", help_heading = "Samples", conflicts_with_all = ["yolo", "voc", "annotations"])]
    coco: Vec<String>,
    /// Join the YOLO label files (.txt) of a folder; options as in --join
    #[arg(long, value_name = "DIR", help_heading = "Samples", conflicts_with_all = ["voc", "annotations"])]
    yolo: Option<String>,
    /// Read the names of YOLO's classes from FILE: one name a line, or the data set's YAML file
    #[arg(long, value_name = "FILE", help_heading = "Samples", requires = "yolo")]
    yolo_names: Option<PathBuf>,
    /// Join the Pascal VOC annotations (.xml) of a folder; options as in --join
    #[arg(long, value_name = "DIR", help_heading = "Samples", conflicts_with = "annotations")]
    voc: Option<String>,
    /// Join the annotations that another program has exported: a CSV of Open Images, an XML of
    /// CVAT for images, a JSON of Label Studio. The content tells which; options as in
    /// --join
    #[arg(long, value_name = "FILE", help_heading = "Samples")]
    annotations: Option<String>,
    #[arg(help = features::text(FILES), long_help = features::long(FILES, FILES_MORE), long, value_name = "LIST", num_args = 1.., help_heading = "Samples")]
    files: Vec<PathBuf>,
    /// Pair the files of parallel folders: with `--pair images=jpg masks=png`, SRC/images/a.jpg and
    /// SRC/masks/a.png are the sample `a`. Or by patterns: '*_sat.jpg=jpg' '*_mask.png=mask.png'.
    ///
    /// EXT is the part in the shard; masks=mask.png makes .png files a part of another name. A part that samples may
    /// lack has a `?`: 'masks=mask.png?'. In a pattern, `*` is what the files of a sample have in common, with
    /// its folders: it is the key. A file that several patterns match belongs to the one with most
    /// other text; files that none matches are counted, and not packed.
    #[arg(long, value_name = "DIR=EXT", num_args = 1.., help_heading = "Samples")]
    pair: Vec<String>,
    /// Make one sample of the files of each folder: its path is the key, and its files are the parts 0.jpg, 1.jpg, .. in
    /// the order of their numbers.
    ///
    /// `folder=N` is the Nth folder from SRC with all below it. `:names` keeps the names of files as those of parts: b02.tif.
    /// Numbered files have names that differ by numbers only; `:numbers` numbers others, too. `,count=8` makes folders with
    /// another number of names a problem. A single .json file is the part json. Nothing is required of samples
    /// unless --require says so.
    #[arg(long, value_name = "folder[=N][:names|:numbers]", conflicts_with_all = ["pair", "files"],
          help_heading = "Samples")]
    group: Option<String>,
    /// Require these parts of every sample; `image` is any image, '' requires nothing [default:
    /// image,json for folders, image with --label, --join, --coco, --yolo, --voc and --annotations]
    #[arg(long, value_name = "EXTS", help_heading = "Samples")]
    require: Option<String>,
    /// Write the class of each sample: `folder` is the one that holds the image, `folder=N` the Nth from
    /// SRC, `path` the path of all folders, `path=N` from the Nth on; `/FIELD` a value of the sample's JSON
    /// (of a table that is joined, too), `/FIELD~REGEX` a part of it, `name:REGEX` what the group of a
    /// regular expression finds in the file's name, `source` the name of SRC or of the tar.
    ///
    /// Each sample's JSON gets the fields `class` (a number) and `class_name`; a sample without a
    /// JSON gets one. Classes are sorted by the bytes of their names and numbered from 0; a value that is
    /// a number is that of its class. dataset.json has the table. A name of several folders (but those of
    /// splits, as train and val) and a single name for all samples are problems that show other choices.
    #[arg(
        long,
        value_name = "folder[=N]|path[=N]|/FIELD[~REGEX]|name:REGEX|source",
        help_heading = "Labels and splits"
    )]
    label: Option<String>,
    /// Take the numbers of classes (--label, --coco, --voc, --annotations) from FILE; a class that is not in it is a problem.
    ///
    /// FILE has a name on each line, with or without its number and with or without a text behind an id
    /// of WordNet, or is a .csv of them; a JSON list of names, a JSON object of names with numbers or of
    /// numbers with names, id2label of transformers, categories of COCO, data.yaml of YOLO, or the
    /// dataset.json of another data set. For --annotations a .csv has labels and names. :order=sorted
    /// numbers the names from 0 in their sorted order, as torchvision does, :order=listed as they are listed. `order=number` without
    /// FILE takes names that are numbers as those of their classes.
    #[arg(long, value_name = "FILE[:order=ORDER]", help_heading = "Labels and splits")]
    classes: Option<PathBuf>,
    /// Divide the samples into splits by the hash of their keys; each split has its own shards
    #[arg(
        long,
        value_name = "NAME=SHARE,..",
        conflicts_with = "shards",
        help_heading = "Labels and splits"
    )]
    split: Option<String>,
    /// Take the shares of --split in each class; FIELD is in the sample's JSON
    #[arg(long, value_name = "FIELD", requires = "split", help_heading = "Labels and splits")]
    stratify: Option<String>,
    /// Put samples with the same value of FIELD into one split: with `--split train=0.8,val=0.2 --split-group
    /// /patient`, the hash is that of the value
    #[arg(
        long,
        value_name = "FIELD",
        requires = "split",
        conflicts_with = "stratify",
        help_heading = "Labels and splits"
    )]
    split_group: Option<String>,
    /// Take the name of the split from a field of the JSON, from a folder, or, of other sources than folders, from
    /// the data set or the name of the file that has the sample (file, or source); file:test=test_*,train=* names
    /// the files of each split; `none` makes one set
    #[arg(long, value_name = "FIELD|folder[=N]|file[:NAME=PATTERN,..]|none", conflicts_with_all = ["split", "shards"],
          help_heading = "Labels and splits")]
    split_by: Option<String>,
    /// Take the splits from lists of samples: train=train.txt,val=val.txt; NAME=* has what no list names.
    ///
    /// A line has a key, a path or a name of a file, with or without extension, and may have other columns after a blank
    /// or a tab.
    #[arg(long, value_name = "NAME=FILE,..", conflicts_with_all = ["split", "split_by", "shards"],
          help_heading = "Labels and splits")]
    split_list: Option<String>,

    /// Rename extensions, after conversion to lower case
    #[arg(long, value_name = "FROM=TO,..", default_value = "jpeg=jpg", help_heading = "Samples")]
    ext_map: String,
    /// Name images by their content: a PNG named .jpg becomes a .png in the shard.
    ///
    /// Reads the first bytes of every image during the scan.
    #[arg(long, help_heading = "Samples")]
    ext_by_content: bool,
    /// Handle names that some readers misread: RULE=ACTION,.. or one ACTION for all.
    ///
    /// Rules: dot (several dots), space, nonascii, hidden, dunder (begins with __), long (over 100
    /// bytes), case (differs only in case), path (in tars, zips and tables: absolute, doubled slashes,
    /// `.` inside). Actions: refuse, replace, allow; and hidden=skip. path=replace cleans such names;
    /// one ACTION alone is for all rules but hidden and path.
    /// The default refuses all such names and skips hidden files, so that every reader can read the
    /// shards.
    #[arg(long, value_name = "RULES", default_value = "", help_heading = "Samples")]
    names: String,
    /// Leave out paths under SRC that match GLOB, or the samples whose keys FILE lists; repeatable.
    ///
    /// A GLOB without a slash is of names in any folder: Thumbs.db, raw (the folder and all in it); /raw is of SRC alone.
    /// FILE has one key per line, or JSON objects with a field `key`: the list of bad samples of a
    /// training run, problems.jsonl, the reasons in a quarantine. (Begin a glob with [@] for an @.)
    #[arg(long, value_name = "GLOB|@FILE", help_heading = "Samples")]
    exclude: Vec<String>,
    /// Keep empty files with these extensions, such as captions or labels of pictures without objects: txt,cls
    ///
    /// Other empty files are problems. `pack reshard` keeps all empty parts.
    #[arg(long, value_name = "EXT,EXT..", value_delimiter = ',', help_heading = "Samples")]
    keep_empty: Vec<String>,
    /// Follow symbolic links
    #[arg(long, help_heading = "Samples")]
    follow_links: bool,
    /// Leave out the entry points of JPEGs: packs several times faster, but training decodes
    /// slower.
    ///
    /// Entry points are the places inside a JPEG from which decoding can start. They are in the
    /// sidecar; the tar is the same without them. Finding them reads every Huffman code, which also
    /// proves the JPEG whole: without them, and without --check decode, damage inside its data is
    /// not found. --check none leaves them out, too. `pack index --entry-points` adds them later.
    #[arg(long, help_heading = "Samples")]
    no_entry_points: bool,
    /// Leave out samples whose image has the same bytes as an earlier image
    #[arg(long, help_heading = "Samples")]
    dedupe: bool,
    /// Pack the first N samples only (of the shuffled order, with --shuffle)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Samples")]
    limit: Option<u64>,
    /// Check the content of files at this level [default: structure].
    ///
    /// `decode` reads every Huffman code of JPEGs (entry points need this in any case)
    /// and decodes every other image to pixels, and checks the structure of arrays, pickles, texts, sound and
    /// videos. --dry-run checks contents only if --check is given.
    #[arg(long, value_parser = choice::<CheckLevel>(), help_heading = "Samples")]
    check: Option<CheckLevel>,
    /// Check boxes, classes, polygons, masks and keypoints of the samples: inside of the picture, not empty, with a
    /// listed class, as many as the labels.
    ///
    /// A sample with a wrong object is a problem, for --on-problem. They are found while samples are packed.
    #[arg(long, help_heading = "Samples")]
    objects: bool,
    /// Which texts are JSON: strict, or python, which also accepts NaN, Infinity, halves of surrogate pairs
    /// and repeated names.
    ///
    /// Python's json writes such texts. The data set records the rules, and later commands follow them. A half of a
    /// surrogate pair is read as U+FFFD.
    #[arg(long, value_name = "RULES", value_parser = choice::<JsonRules>(), default_value = "strict", help_heading = "Samples")]
    json_rules: JsonRules,
    /// Handle problems this way; `fail` publishes nothing
    #[arg(long, value_parser = choice::<Policy>(), default_value = "fail", help_heading = "Samples")]
    on_problem: Policy,

    /// State something about this build, which dataset.json keeps and `pack info` shows: by=jane@example.org,
    /// commit=3f2a; repeatable.
    ///
    /// Nothing is stated by itself, so the same samples give the same bytes everywhere.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Samples")]
    provenance: Vec<String>,

    #[command(flatten)]
    images: ImageArgs,
    #[command(flatten)]
    jobs: Jobs,
    /// Discard an unfinished build in DIR and start over
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    pub(in crate::cli) show: ShowArgs,
}

/// What is printed.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::cli) struct ShowArgs {
    /// Show progress on stderr this way
    #[arg(long, value_enum, default_value = "auto")]
    progress: progress::Mode,
    /// Print text, or JSON: results on stdout, problems and progress on stderr, one object per line
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Show problems and errors only
    #[arg(short, long)]
    pub(in crate::cli) quiet: bool,
}

impl ShowArgs {
    pub(in crate::cli) fn mode(&self) -> progress::Mode {
        match (self.format, self.progress) {
            (Format::Json, progress::Mode::None) => progress::Mode::None,
            (Format::Json, _) => progress::Mode::Json,
            (Format::Text, mode) => mode.resolved(self.quiet),
        }
    }

    /// Returns true if everything is printed as JSON.
    pub(in crate::cli) fn is_json(&self) -> bool {
        self.format == Format::Json
    }
}

impl SourceArgs {
    /// Returns the failure of a build, with what a source is if it is no folder of samples.
    pub(in crate::cli) fn misplaced(&self, failure: Failure) -> Failure {
        places::no_source(&self.sources, &self.out, failure)
    }

    /// Converts the arguments to a request.
    pub(in crate::cli) fn request(&self, dry_run: bool) -> Result<Request, Failure> {
        self.request_from(&[], dry_run)
    }

    /// As [`SourceArgs::request`], from the scans of the folders' parts.
    pub(in crate::cli) fn request_from(
        &self,
        from_scans: &[PathBuf],
        dry_run: bool,
    ) -> Result<Request, Failure> {
        let options = BuildOptions {
            sources: self.sources.clone(),
            out: self.out.clone(),
            shard_size: self.shard_size,
            shard_samples: self.shard_samples,
            shards: self.shards,
            prefix: self.prefix.clone(),
            shuffle: self.shuffle,
            require: self.require.clone(),
            label: self.label.clone(),
            classes: self.classes.clone(),
            split: self.split.clone(),
            stratify: self.stratify.clone(),
            split_by: self.split_by.clone(),
            split_list: self.split_list.clone(),
            split_group: self.split_group.clone(),
            ext_map: self.ext_map.clone(),
            ext_by_content: self.ext_by_content,
            ignore_zeros: zeros::are_ignored(),
            names: self.names.clone(),
            exclude: self.exclude.clone(),
            join: self.join.clone(),
            coco: self.coco.clone(),
            yolo: self.yolo.clone(),
            yolo_names: self.yolo_names.clone(),
            voc: self.voc.clone(),
            annotations: self.annotations.clone(),
            objects: self.objects,
            from_scans: from_scans.to_vec(),
            files: self.files.clone(),
            pair: self.pair.clone(),
            group: self.group.clone(),
            follow_links: self.follow_links,
            entry_points: !self.no_entry_points,
            dedupe: self.dedupe,
            limit: self.limit,
            prepare: self.images.preparation()?,
            check: self.check,
            on_problem: self.on_problem,
            jobs: self.jobs.given().map(|n| n as u64),
            fresh: self.fresh,
            dry_run,
            compress: self.compress,
            columns: self.columns.clone(),
            json_rules: Some(self.json_rules),
            keep_empty: self.keep_empty.clone(),
            provenance: self.provenance.clone(),
            ..BuildOptions::new(Vec::new(), PathBuf::new())
        };
        let mut request = options.request()?;
        request.stop = signals::stop();
        Ok(request)
    }
}
