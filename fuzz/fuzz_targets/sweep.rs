#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    attnlab_fuzz::readers::sweep(data);
});
