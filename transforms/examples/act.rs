//! Applies actions to pixels, and draws actions, for tests that compare with other libraries.
//!
//! Reads requests from the standard input until it ends, each a line of JSON.
//! `{"height": 2, "width": 3, "channels": 3, "actions": [...]}` is followed by the pixels; the answer is a line
//! `{"height": ..., "width": ...}` and the pixels. `{"height": 2, "width": 3, "channels": 3, "recipe": [...], "seeds": [0, 100]}`
//! has no pixels; the answer is a line with the list of actions for each seed of the range.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write, stdin, stdout};

use serde::Deserialize;
use tarflume_image::ImageSize;
use tarflume_transforms::actions::Action;
use tarflume_transforms::operations::Shape;
use tarflume_transforms::{Frame, Recipe, apply};

#[derive(Deserialize)]
struct Request {
    height: u32,
    width: u32,
    channels: usize,
    #[serde(default)]
    actions: Vec<Action>,
    recipe: Option<Recipe>,
    #[serde(default)]
    seeds: [u64; 2],
}

fn main() {
    let mut input = BufReader::new(stdin().lock());
    let mut output = stdout().lock();
    let mut frame = Frame::default();
    let mut line = String::new();
    while input.read_line(&mut line).unwrap() > 0 {
        let request: Request = serde_json::from_str(&line).unwrap();
        line.clear();
        let size = ImageSize::new(request.width, request.height);
        if let Some(recipe) = request.recipe {
            recipe.validate().unwrap();
            let drawn: Vec<Vec<Action>> = (request.seeds[0]..request.seeds[1])
                .map(|seed| {
                    let mut actions = Vec::new();
                    let on = Shape { size, channels: request.channels };
                    recipe.draw(seed, 0, on, &mut actions).unwrap();
                    actions
                })
                .collect();
            writeln!(output, "{}", serde_json::to_string(&drawn).unwrap()).unwrap();
        } else {
            input.read_exact(frame.begin(size, request.channels).unwrap()).unwrap();
            apply(&request.actions, &mut frame).unwrap();
            let ImageSize { width, height } = frame.size();
            writeln!(output, "{{\"height\": {height}, \"width\": {width}}}").unwrap();
            output.write_all(frame.pixels()).unwrap();
        }
        output.flush().unwrap();
    }
}
