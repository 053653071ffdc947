//! The console as a person meets it: keys in, pictures out.

mod lists;
