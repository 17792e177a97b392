//! Operations of tarflume as the loader's threads run them: draws, and applies what was drawn. For `operations.py`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use tarflume_transforms::operations::Shape;
use tarflume_transforms::{Frame, Recipe, apply};

use crate::pictures::{Picture, Pictures};

/// A measurement takes at least this time.
const LEAST: Duration = Duration::from_millis(20);
const CHANNELS: usize = 3;

/// The nanoseconds a picture of each operation of `recipes.json`, as JSON. A recipe whose name begins with "wide" takes
/// the picture of 500 x 375.
pub fn measure(folder: &Path, pictures: &Pictures) -> Result<String, String> {
    let path = folder.join("recipes.json");
    let text = std::fs::read(&path).map_err(|why| format!("{}: {why}", path.display()))?;
    let recipes: BTreeMap<String, Recipe> =
        serde_json::from_slice(&text).map_err(|why| format!("{}: {why}", path.display()))?;
    let mut found = BTreeMap::new();
    for (name, recipe) in &recipes {
        let picture = if name.starts_with("wide") { pictures.wide() } else { pictures.square() };
        found.insert(name, nanoseconds(recipe, picture).map_err(|why| format!("{name}: {why}"))?);
    }
    serde_json::to_string(&found).map_err(|why| why.to_string())
}

fn nanoseconds(recipe: &Recipe, picture: Picture<'_>) -> Result<f64, String> {
    let mut frame = Frame::default();
    let mut actions = Vec::new();
    let on = Shape { size: picture.size, channels: CHANNELS };
    let mut seed = 0;
    let mut run = |count: u64| -> Result<Duration, String> {
        let start = Instant::now();
        for _ in 0..count {
            actions.clear();
            recipe.draw(seed, 0, on, &mut actions).map_err(|why| why.to_string())?;
            let room = frame.begin(picture.size, CHANNELS).map_err(|why| why.to_string())?;
            room[..picture.pixels.len()].copy_from_slice(picture.pixels);
            apply(&actions, &mut frame).map_err(|why| why.to_string())?;
            seed += 1;
        }
        Ok(start.elapsed())
    };
    // The first pictures make the buffers as large as they become.
    run(16)?;
    let mut count = 64;
    loop {
        let took = run(count)?;
        if took >= LEAST {
            return Ok(took.as_nanos() as f64 / count as f64);
        }
        count *= 2;
    }
}
