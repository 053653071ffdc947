//! The terminal: a pure function of state to a buffer, and the one loop that changes the state.
