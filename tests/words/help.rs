//! The help of the commands: what a newcomer sees first, and where everything is.

use crate::harness::Place;

#[test]
fn the_help_has_the_commands_in_groups() {
    let help = Place::new().pack("--help").succeeds().stdout;
    let mut at = 0;
    for word in [
        "\nEveryday:\n  build ",
        "\nInspect:\n",
        "\nConvert:\n",
        "\nClusters:\n",
        "\nOptions:\n",
        "\nExamples:\n",
    ] {
        let found =
            help[at..].find(word).unwrap_or_else(|| panic!("no {word:?} behind {}", &help[..at]));
        at += found;
    }
}

#[test]
fn the_short_help_of_build_fits_on_a_screen_and_the_long_one_has_all() {
    let place = Place::new();
    let short = place.pack("build -h").succeeds().stdout;
    let long = place.pack("build --help").succeeds().stdout;
    let options = |help: &str| {
        let is_option = |line: &&str| line.starts_with("  -") || line.starts_with("      --");
        help.lines().filter(is_option).count()
    };
    assert_eq!(options(&short), 14, "{short}");
    assert!(options(&long) > 50, "{long}");
    assert!(short.lines().count() <= 60, "{short}");
    assert!(short.ends_with("\nMore options: pack build --help\n"), "{short}");
    assert!(!long.contains("More options"), "{long}");
}

#[test]
fn what_is_no_option_of_images_is_not_under_images() {
    let place = Place::new();
    for command in ["build", "plan", "scan", "slurm", "reshard"] {
        let help = place.pack(&format!("{command} --help")).succeeds().stdout;
        let images = help.split("\nImages:\n").nth(1).unwrap();
        let images =
            images.split("\n\n").take_while(|part| part.starts_with(' ')).collect::<String>();
        for option in ["--jobs", "--progress", "--quiet", "--dry-run", "--fresh", "--no-fsync"] {
            assert!(!images.contains(&format!("{option} ")), "{command}: {images}");
            assert!(!images.contains(&format!("{option}\n")), "{command}: {images}");
        }
        assert!(images.contains("--resize"), "{command}: {images}");
    }
}

#[test]
fn no_text_of_a_help_is_broken_twice() {
    let place = Place::new();
    let top = place.pack("--help").succeeds().stdout;
    let commands = top.lines().filter_map(|line| line.strip_prefix("  "));
    let commands = commands.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names: Vec<String> =
        commands.map_while(|line| Some(line.split(' ').next()?.to_string())).collect();
    for name in names.iter().filter(|name| *name != "help" && *name != "pack") {
        for columns in ["100", "60"] {
            let help = place.pack_in(&[("COLUMNS", columns)], &format!("{name} --help"));
            let help = help.succeeds().stdout;
            let Some((_, behind)) = help.split_once("\nExamples:\n") else { continue };
            let most: usize = columns.parse().unwrap();
            for (line, next) in behind.lines().zip(behind.lines().skip(1)) {
                assert!(line.chars().count() <= most, "{name}: {line}");
                // A line that was broken for the source, and again here, leaves a short one in between.
                let is_text = |line: &str| line.starts_with(|c: char| c.is_alphabetic());
                let word = next.split(' ').next().unwrap_or_default().len();
                if is_text(line) && is_text(next) {
                    assert!(
                        line.chars().count() + 1 + word > most,
                        "{name}, {columns}: {line:?} {next:?}"
                    );
                }
            }
        }
    }
}
