//! Replaces the rows of a variable column after a slab is sealed.

use tarflume_types::PictureShape;

use super::Slab;

impl Slab {
    /// Replaces the rows of a variable column of a sealed slab: `lengths` has the bytes of each row, `bytes` the rows one after
    /// the other. A row that was a picture becomes one of as many channels as it has pictures of its size.
    ///
    /// # Panics
    /// Panics if the column is not variable, if the lengths are not those of its rows, or if there is less room than the rows
    /// were announced with.
    pub fn replace_rows(&mut self, column: usize, lengths: &[usize], bytes: &[u8]) {
        assert!(*self.lent_now.get_mut() == 0, "a row is still lent");
        assert!(self.layout.shapes[column].bytes().is_none(), "column {column} is not variable");
        assert!(lengths.len() == self.rows && lengths.iter().sum::<usize>() == bytes.len());
        let place = self.layout.places[column];
        let first = self.rooms[place][0];
        let next = self.rooms.get(place + 1).map_or(self.tail.length(), |rooms| rooms[0]);
        assert!(bytes.len() <= next - first, "{} bytes, {}", bytes.len(), next - first);
        // SAFETY: `&mut self` and no lent rows exclude any other access to the block.
        unsafe { self.tail.write(first, bytes.len()) }.copy_from_slice(bytes);
        let mut end = first;
        for (row, length) in lengths.iter().enumerate() {
            let cell = &self.pictured[place][row];
            if let Some(picture) = cell.get() {
                let plane = picture.height as usize * picture.width as usize;
                let channels = (length / plane.max(1)) as u32;
                cell.set(Some(PictureShape { channels, ..picture }));
            }
            *self.used[place][row].get_mut() = *length;
            end += length;
            self.rooms[place][row + 1] = end;
        }
    }
}
