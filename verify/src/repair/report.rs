//! The result of a repair as JSON.

use serde_json::{Value, json};
use tarflume_formats::message::Face;

use super::{Repaired, RepairedFile, Replaced};

impl Repaired {
    /// Returns the result as a JSON value, with its problems in the words of a face.
    pub fn to_value(&self, face: Face) -> Value {
        let files: Vec<Value> = self.files.iter().map(of_file).collect();
        let problems: Vec<Value> =
            self.problems.iter().map(|problem| problem.to_value(face)).collect();
        json!({"shards": self.shards, "sound": self.sound, "files": files, "problems": problems})
    }
}

fn of_file(file: &RepairedFile) -> Value {
    let RepairedFile { path, what, bytes, from } = file;
    let from: Vec<String> = from.iter().map(|path| path.display().to_string()).collect();
    let mut value = json!({"path": path.display().to_string(), "bytes": bytes, "from": from});
    if let Replaced::Parts { samples, parts, headers } = what {
        value["samples"] = (*samples).into();
        value["parts"] = (*parts).into();
        value["headers"] = (*headers).into();
    }
    value
}
