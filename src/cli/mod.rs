//! Verbs of the command line, one file each, and how results are printed.
