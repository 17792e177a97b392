//! Files and folders that the user named.

pub(super) mod distinct;
pub(super) mod given;
pub(super) mod new_folder;
