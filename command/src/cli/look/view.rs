//! `pack view`: a page that shows a data set in a browser, as one file or from a server.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use tarflume::transforms::Recipe;
use tarflume_base::{Exit, Failure, Outcome, units};
use tarflume_formats::Durability;
use tarflume_formats::output::{OutputFile, OutputKind, contains};
use tarflume_formats::shown::ShowPath;
use tarflume_inspect::stats::Options;
use tarflume_inspect::view::{BoxForm, DrawOptions, Draws, PageOptions, draws, page, read_recipe};
use tarflume_shards::listing::Listing;

use super::browser;
use super::stats::Measuring;
use crate::cli::arguments::args;
use crate::cli::features::{self, or_url};
use crate::signals;
use crate::viewer::{Site, serve};

const AFTER: &str = "\
Without -o, a server on this machine pages through all samples and filters them exactly: at its start
it reads the JSON and the picture header of each sample. In a terminal of a desktop it also opens the
page in the browser. With -o, the page is one file without any link to a network. It has charts of
all samples and thumbnails of some that are spread evenly; it says how many.

Examples:
  pack view shards/                              photographs and charts in the browser
  pack view shards/ --port 8080 --class json:/label
  pack view shards/ -o page.html                 one file to keep, mail or publish
  pack view shards/ -o page.html --thumbnails 2000 --max-size 20
  pack view shards/ --transform recipe.json      what a recipe of transforms makes of samples

Exit codes: 0 done   2 no data set   65 bad data   73 the system refuses   75 try again";

/// Show a data set in a browser: photographs, boxes, masks and charts
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(args::DATA_SET), value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) path: PathBuf,
    /// Write the page to this file, and serve nothing
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with_all = ["serve", "port", "host", "allow_host"]
    )]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    force: bool,
    /// Show at most N samples on the page of one file
    #[arg(long, value_name = "N", default_value_t = 400, requires = "output")]
    thumbnails: usize,
    /// Longer side of a thumbnail of the file in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 160, requires = "output",
          value_parser = clap::value_parser!(u32).range(16..=1024))]
    side: u32,
    /// Limit on the file in MB; fewer samples are shown if they do not fit
    #[arg(long, value_name = "MB", default_value_t = 5, requires = "output",
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_size: u64,
    /// The form of boxes [default: as the fields of the JSON tell]
    #[arg(long, value_enum)]
    boxes: Option<Boxes>,
    /// Show eight samples beside four draws each of the recipe in this file: JSON, as `recipe.save(FILE)` of
    /// tarflume.transforms writes it
    #[arg(long, value_name = "FILE")]
    transform: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
    /// Serve pages until Ctrl-C, and open no browser
    #[arg(long)]
    serve: bool,
    /// The port of the server; 0 for a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// The address of the server. Other than 127.0.0.1, everyone who reaches it sees the data
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Accept requests for this host name, beside `localhost` and addresses; repeatable
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
}

/// The values of `--boxes`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Boxes {
    /// Left, top, width, height in pixels: COCO
    Sized,
    /// Left, top, right, bottom in pixels: Pascal VOC
    Corners,
    /// Center x, center y, width, height, relative to the picture: YOLO
    Centered,
}

impl From<Boxes> for BoxForm {
    fn from(boxes: Boxes) -> BoxForm {
        match boxes {
            Boxes::Sized => BoxForm::Sized,
            Boxes::Corners => BoxForm::Corners,
            Boxes::Centered => BoxForm::Centered,
        }
    }
}

/// A page that this command wrote.
const PAGE: OutputKind = OutputKind {
    name: "a page in HTML",
    is: |bytes| {
        bytes.to_ascii_lowercase().starts_with(b"<!doctype html") && contains(bytes, "id=\"charts")
    },
};

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    match &args.output {
        Some(output) => write(args, output),
        None => run_server(args),
    }
}

fn title(path: &Path) -> String {
    let path = path.shown().to_string(); // a URL without its secrets
    let whole = std::path::absolute(&path).unwrap_or_else(|_| path.into());
    let name = whole.file_name().unwrap_or(OsStr::new("data set"));
    tarflume_formats::name::shown(name.as_encoded_bytes())
}

impl Args {
    /// The recipe of `--transform`.
    fn recipe(&self) -> Result<Option<Recipe>, Failure> {
        self.transform.as_deref().map(read_recipe).transpose()
    }
}

/// Applies the recipe of `--transform` to some samples; `None` without a recipe.
fn drawn(listing: &Listing, recipe: Option<&Recipe>, side: u32) -> Result<Option<Draws>, Failure> {
    let options = DrawOptions { side, ..DrawOptions::default() };
    recipe.map(|recipe| draws(listing, recipe, options)).transpose()
}

fn write(args: &Args, output: &Path) -> Outcome {
    if !args.force && tarflume_formats::files::exists(output)? {
        return Err(Failure::usage("it exists; give --force to replace it").in_file(output));
    }
    let file = OutputFile::new(output, PAGE)?;
    let recipe = args.recipe()?;
    let (listing, measured) = args.measuring.run(&args.path, Options::default().examine, false)?;
    let options = PageOptions {
        title: title(&args.path),
        thumbnails: args.thumbnails,
        side: args.side,
        max_bytes: args.max_size as usize * 1_000_000,
        boxes: args.boxes.map(BoxForm::from),
        draws: drawn(&listing, recipe.as_ref(), args.side)?,
        stop: signals::stop(),
    };
    let made = page(&listing, &measured, &options)?;
    file.write(&made.html, Durability::Synced)?;
    print_result!(
        "{}: {} of {}, {}",
        output.shown(),
        units::count(made.shown as u64),
        units::counted(measured.stats.samples, "sample", "samples"),
        units::bytes(made.html.len() as u64)
    );
    if made.left_out > 0 {
        print_message!(
            "notice: {} left out, because the page has at most {} MB (--max-size)",
            units::counted(made.left_out as u64, "sample was", "samples were"),
            args.max_size
        );
    }
    Ok(Exit::Done)
}

fn run_server(args: &Args) -> Outcome {
    let address = SocketAddr::new(args.host, args.port);
    let refused = |e: std::io::Error| {
        Failure::usage(format!("cannot listen on {address}: {e}; give another --port or --host"))
    };
    let recipe = args.recipe()?;
    let listener = TcpListener::bind(address).map_err(refused)?;
    let (listing, measured) = args.measuring.run(&args.path, u64::MAX, true)?;
    let draws = drawn(&listing, recipe.as_ref(), DrawOptions::default().side)?;
    let site = Site::new(
        title(&args.path),
        listing,
        measured,
        args.boxes.map(BoxForm::from),
        draws.as_ref(),
        args.allow_host.clone(),
    );
    let address = format!("http://{}/", listener.local_addr().map_err(refused)?);
    print_result!("{address}");
    if !args.serve && browser::open(&address) {
        print_message!("the page opens in the browser; Ctrl-C ends the server");
    } else {
        print_message!("Ctrl-C ends the server");
    }
    serve(&listener, site, &signals::stop())?;
    Ok(Exit::Done)
}
