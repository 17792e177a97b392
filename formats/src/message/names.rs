//! `Name`: the settings that messages name, each with its option, its keyword and its setter. The one table of them.

use serde::{Deserialize, Serialize};

/// How the three faces write a name.
pub(super) struct Spelling {
    /// The option of the command, with its dashes.
    pub(super) option: &'static str,
    /// The keyword of Python; empty if the command alone has the setting.
    pub(super) keyword: &'static str,
    /// The setter of a builder in Rust; of a loader's settings alone.
    pub(super) setter: Option<&'static str>,
}

macro_rules! names {
    ($($name:ident $option:literal $keyword:literal $($setter:literal)?;)*) => {
        /// The name of a setting: `Name::ShardSize` is `--shard-size` and `shard_size=`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "`pack --help` has them, word for word")]
        pub enum Name {
            $($name,)*
        }

        impl Name {
            /// All names.
            pub const ALL: &[Name] = &[$(Name::$name),*];

            pub(super) fn spelling(self) -> Spelling {
                match self {
                    $(Name::$name => Spelling {
                        option: $option,
                        keyword: $keyword,
                        setter: [$(Some($setter),)? None][0],
                    },)*
                }
            }
        }
    };
}

names! {
    AcceptEdits "--accept-edits" "accept_edits";
    AllowMissingEnd "--allow-missing-end" "allow_missing_end";
    Alpaca "--alpaca" "alpaca";
    Annotations "--annotations" "annotations";
    Baseline "--baseline" "";
    BadBudget "--bad-budget" "bad_budget";
    Cache "--cache" "cache";
    ChatTemplate "--chat-template" "chat_template";
    Changed "--changed" "";
    ChangedSince "--changed-since" "changed_since";
    Check "--check" "check";
    Class "--class" "";
    Classes "--classes" "classes";
    Coco "--coco" "coco";
    Columns "--columns" "columns";
    Compress "--compress" "compress";
    Dedupe "--dedupe" "dedupe";
    Drop "--drop" "drop";
    DropLonger "--drop-longer" "drop_longer";
    DType "--dtype" "dtype";
    Encodings "--as" "encodings";
    EntryPoints "--entry-points" "entry_points";
    Eos "--eos" "eos";
    Exclude "--exclude" "exclude";
    Export "--export" "";
    ExtByContent "--ext-by-content" "ext_by_content";
    ExtMap "--ext-map" "ext_map";
    Files "--files" "";
    FilesFrom "--files-from" "";
    FollowLinks "--follow-links" "follow_links";
    Force "--force" "force";
    Fresh "--fresh" "fresh";
    FromScans "--from-scans" "";
    Group "--group" "group";
    IgnoreZeros "--ignore-zeros" "ignore_zeros" ".ignore_zeros()";
    Jobs "--jobs" "jobs";
    Join "--join" "join";
    Json "--json" "json";
    JsonRules "--json-rules" "json_rules";
    KeepEmpty "--keep-empty" "keep_empty";
    KeepOriginalSize "--keep-original-size" "keep_original_size";
    KeyBy "--key-by" "key_by";
    Keys "--keys" "keys";
    Label "--label" "label";
    Length "--length" "length";
    Level "--level" "level";
    Limit "--limit" "limit";
    ManifestOnly "--manifest-only" "manifest_only";
    MaskPrompt "--mask-prompt" "mask_prompt";
    MaxLength "--max-length" "max_length";
    MaxSize "--max-size" "max_size";
    Messages "--messages" "messages";
    MinLength "--min-length" "min_length";
    Names "--names" "names";
    NoEntryPoints "--no-entry-points" "entry_points";
    Numbers "--numbers" "numbers";
    Objects "--objects" "objects";
    Optimize "--optimize" "optimize";
    Orient "--orient" "orient";
    OnProblem "--on-problem" "on_problem";
    Out "-o" "out";
    Pack "--pack" "pack";
    Pad "--pad" "pad";
    Pair "--pair" "pair";
    Parts "--parts" "parts";
    PerLine "--per-line" "per_line";
    Policy "--policy" "policy";
    PromptField "--prompt" "prompt";
    Provenance "--provenance" "provenance";
    Quality "--quality" "quality";
    Prefix "--prefix" "prefix";
    Rename "--rename" "rename";
    Root "--root" "root";
    Resize "--resize" "resize";
    Require "--require" "require";
    RequireChecksums "--require-checksums" "require_checksums";
    Response "--response" "response";
    Sample "--sample" "sample";
    Schema "--schema" "schema";
    ShardSamples "--shard-samples" "shard_samples";
    ShardSize "--shard-size" "shard_size";
    Shards "--shards" "shards";
    SignedBy "--signed-by" "signed_by";
    SingleWriter "--single-writer" "single_writer";
    Shuffle "--shuffle" "shuffle";
    Slice "--slice" "slice";
    Source "--source" "source";
    SpecialTokens "--special-tokens" "special_tokens";
    Split "--split" "split";
    StripMetadata "--strip-metadata" "strip_metadata";
    SplitBy "--split-by" "split_by";
    SplitGroup "--split-group" "split_group";
    SplitList "--split-list" "split_list";
    SplitSpecialTokens "--split-special-tokens" "split_special_tokens";
    Storage "--storage" "storage";
    Stratify "--stratify" "stratify";
    Subtree "--subtree" "";
    TemplateDate "--template-date" "template_date";
    TemplateName "--template-name" "template_name";
    TemplateVariables "--template-variables" "template_variables";
    TextField "--text-field" "text_field";
    TextPart "--text-part" "text_part";
    TimeBudget "--time-budget" "time_budget";
    To "--to" "to";
    ToJpeg "--to-jpeg" "to_jpeg";
    Tokenizer "--tokenizer" "tokenizer";
    Tools "--tools" "tools";
    Truncate "--truncate" "truncate";
    Unit "--unit" "unit";
    Unique "--unique" "unique";
    Vocabulary "--vocabulary" "vocabulary";
    Voc "--voc" "voc";
    Where "--where" "where";
    Window "--window" "window";
    WriteBaseline "--write-baseline" "";
    WriteExpect "--write-expect" "";
    Yolo "--yolo" "yolo";
    YoloNames "--yolo-names" "yolo_names";
    // Of a loader.
    Batch "--batch" "batch_size" ".batch()";
    MemoryLimit "--memory" "memory_limit" ".memory_limit()";
    Prefetch "--prefetch" "prefetch" ".prefetch()";
    Threads "--jobs" "num_threads" ".threads()";
}

impl Name {
    /// Returns the name of a keyword of Python that functions of packing have.
    pub fn of_keyword(keyword: &str) -> Option<Name> {
        Name::ALL.iter().copied().find(|name| name.has_keyword() && name.keyword() == keyword)
    }

    /// Returns the option of the command: `--shard-size`.
    pub fn option(self) -> &'static str {
        self.spelling().option
    }

    /// Returns true if Python has the setting, too.
    pub(super) fn has_keyword(self) -> bool {
        !self.spelling().keyword.is_empty()
    }

    /// Returns the keyword of Python: `shard_size`; an empty text if the command alone has the setting.
    pub fn keyword(self) -> &'static str {
        self.spelling().keyword
    }
}
