//! The console as a person meets it: keys in, pictures and effects out.

mod actions;
mod gates;
mod lists;
mod promotion;
mod running;
mod windows;
