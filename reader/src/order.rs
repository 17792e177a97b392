//! Which sample comes when: pure arithmetic, no I/O.
