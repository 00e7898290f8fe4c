//! Every kernel compiles for every architecture the compiler at hand knows. Needs NVRTC, no card.

use std::path::Path;

use cuda::nvrtc::Nvrtc;
use cuda::source::sources;

#[test]
fn kernels_compile_for_every_architecture() {
    let nvrtc = match Nvrtc::find() {
        Ok(n) => n,
        Err(e) => {
            println!("NOT TESTED: {e}");
            return;
        }
    };
    let archs: Vec<i32> = nvrtc.archs().iter().copied().filter(|a| *a >= 80).collect();
    assert!(archs.contains(&80) && archs.contains(&90), "{archs:?}");
    for name in ["dense", "moe"] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../lfm2/tests/golden")
            .join(name);
        let config = lfm2::Config::from_file(&dir.join("config.json")).unwrap();
        for arch in [80, 86, 89, 90, 100, 120]
            .iter()
            .filter(|a| archs.contains(a))
        {
            for s in sources(&config, 1024).unwrap() {
                let cubin = nvrtc.compile(s.name, &s.text, *arch).unwrap();
                assert!(cubin.starts_with(b"\x7fELF"), "{} sm_{arch}", s.name);
            }
        }
    }
}

/// Without a driver, a device or the compiler, opening is an error in one line, not a panic.
#[test]
fn a_machine_without_a_card_gets_an_error() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lfm2/tests/golden/dense");
    let opened = lfm2::open(&dir).unwrap();
    match cuda::Cuda::new(opened.weights(), &cuda::Options::default(), &mut |_, _| {}) {
        Ok(_) => println!("a card is here"),
        Err(e) => {
            let e = e.to_string();
            assert!(!e.is_empty() && !e.contains('\n'), "{e}");
            println!("{e}");
        }
    }
}
