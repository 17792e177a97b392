//! Pages that show a data set in a browser: one file with charts, thumbnails and search, or the page of a server.
//! Prints nothing, and opens no socket.

mod card;
mod draws;
mod page;
mod picture;
mod rle;
mod shapes;

pub use self::card::{Card, CardOptions, CardPart, bytes_of_card, card};
pub use self::draws::{DrawOptions, DrawnPicture, DrawnSample, Draws, draws, read_recipe};
pub use self::page::{Page, PageOptions, content_policy, live_page, page};
pub use self::picture::{Thumbnail, mask, thumbnail};
pub use self::shapes::{BoxForm, Shape};
