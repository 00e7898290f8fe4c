//! The streaming oracle against the reference.

use std::path::Path;

use lfm2::oracle;
use lfm2::reference::Reference;

#[test]
fn equals_the_reference_on_every_model_and_format() {
    for path in ["dense", "moe", "dense/mlx", "moe/mlx", "kquant/kquant.gguf"] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(path);
        let opened = lfm2::open(&dir).unwrap();
        let source = opened.weights();
        let tokens: Vec<u32> = (0..90).map(|i| i * 41 % 256).collect();
        let r = Reference::new(source).unwrap();
        let want = r.forward(&mut r.state(), &tokens).unwrap();
        let positions = [0, 1, 2, 63, 64, 89];
        let got = oracle::logits(source, &tokens, &positions, 3, &mut |_, _| {}).unwrap();
        let top = want.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        for (p, row) in positions.iter().zip(&got) {
            for (g, w) in row.iter().zip(&want[p * 256..][..256]) {
                assert!((g - w).abs() < 1e-4 * top, "{path}: position {p}: {g} {w}");
            }
        }
        assert!(oracle::logits(source, &[256], &[0], 1, &mut |_, _| {}).is_err());
        assert!(oracle::logits(source, &[1], &[1], 1, &mut |_, _| {}).is_err());
    }
}
