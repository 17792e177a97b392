//! Replaces the rows of a variable column after a slab is sealed.

use tarflume_types::PictureShape;

use super::{Slab, VariableRows};

impl Slab {
    /// The rows of a variable column; `None` for another one.
    ///
    /// # Panics
    /// Panics if the slab is not sealed, which is a bug in this crate.
    pub fn variable_rows(&self, column: usize) -> Option<VariableRows<'_>> {
        let offsets = self.offsets(column)?;
        Some(VariableRows::new(self.column(column), offsets))
    }

    /// Replaces the rows of a variable column of a sealed slab. `write` gets the rows as they are and memory for new ones: it
    /// writes them one after the other, and sets their lengths in bytes, which are 0 before. The memory is that of the rows as
    /// they were announced, less the rows as they are. A row that was a picture becomes one of as many channels as it has
    /// planes.
    ///
    /// # Panics
    /// Panics if the column is not variable, or if there is less memory than `write` says it has used.
    pub fn replace_rows(
        &mut self,
        column: usize,
        lengths: &mut Vec<usize>,
        write: impl FnOnce(VariableRows<'_>, &mut [u8], &mut [usize]),
    ) {
        assert!(*self.lent_now.get_mut() == 0, "a row is still lent");
        assert!(self.layout.shapes[column].bytes().is_none(), "column {column} is not variable");
        let place = self.layout.places[column];
        let first = self.rooms[place][0];
        let used = self.rooms[place][self.rows] - first;
        let next = self.rooms.get(place + 1).map_or(self.tail.length(), |rooms| rooms[0]);
        // SAFETY: `&mut self` and no lent rows exclude any other access to the block.
        let all = unsafe { self.tail.write(first, next - first) };
        let end = all.len() - used;
        // The rows as they are go to the end, so that new ones need no other memory.
        all.copy_within(..used, end);
        let (new, old) = all.split_at_mut(end);
        lengths.clear();
        lengths.resize(self.rows, 0);
        let offsets = &self.rooms[place][..=self.rows];
        write(VariableRows::new(old, offsets), new, lengths);
        assert!(lengths.iter().sum::<usize>() <= end, "{lengths:?} bytes of {end}");
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
