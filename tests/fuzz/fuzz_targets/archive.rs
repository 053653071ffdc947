//! Any bytes are an archive or an error; what comes out stays inside and can be packed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidewaiter::steps::archive::{self, Limits};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        file: 1 << 16,
        total: 1 << 18,
        entries: 100,
        ratio: 100,
    };
    let Ok(unpacked) = archive::read(bytes, 0, limits) else {
        return;
    };
    let packed = archive::write(&unpacked.entries, false).expect("what was read can be written");
    let again = archive::read(&packed, 0, Limits::default()).expect("and read");
    for (path, content) in &unpacked.entries {
        assert_eq!(again.entries.get(path), Some(content), "{path}");
    }
});
