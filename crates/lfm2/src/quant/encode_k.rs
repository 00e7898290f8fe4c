//! Quantisers for the K-quants. The format fixes only how blocks are read; the search for scales is our
//! own: least squares between rounding steps, kept when the squared error falls.

use half::f16;

use super::KQuant;

/// Appends super-blocks of `kind`; the length of `w` is a multiple of 256.
pub fn k_quantise(kind: KQuant, w: &[f32], out: &mut Vec<u8>) {
    for w in w.chunks_exact(256) {
        match kind {
            KQuant::Q4K => with_minima(w, 15, out),
            KQuant::Q5K => with_minima(w, 31, out),
            KQuant::Q6K => signed(w, out),
        }
    }
}

/// The f16 nearest to `v`, and no further from zero than f16 reaches.
fn half(v: f32) -> f16 {
    f16::from_f32(v.clamp(-65504.0, 65504.0))
}

/// `1/v`, or 0 for 0: a block of zeros gets codes of zero.
fn inverse(v: f32) -> f32 {
    if v > 0.0 { 1.0 / v } else { 0.0 }
}

/// Scale and minimum (`w ≈ scale·q − min`, both at least 0) of a sub-block for codes `0..=top`.
fn fit(w: &[f32], top: f32) -> (f32, f32) {
    let lo = w.iter().copied().fold(0.0, f32::min);
    let hi = w.iter().copied().fold(0.0, f32::max);
    if hi == lo {
        return (0.0, 0.0);
    }
    let n = w.len() as f32;
    let mut best = ((hi - lo) / top, -lo);
    let mut best_error = f32::INFINITY;
    // The full range wastes codes on outliers: also try ranges that cut them off.
    for step in 0..12 {
        let mut scale = (hi - lo) / (top + 0.35 * step as f32 - 0.35);
        let mut min = -lo;
        for _ in 0..4 {
            let inv = inverse(scale);
            let (mut q1, mut q2, mut w1, mut qw, mut error) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for v in w {
                let q = ((v + min) * inv).round().clamp(0.0, top);
                let e = scale * q - min - v;
                error += e * e;
                q1 += q;
                q2 += q * q;
                w1 += v;
                qw += q * v;
            }
            if error < best_error {
                best_error = error;
                best = (scale, min);
            }
            let det = n * q2 - q1 * q1;
            if det <= 0.0 {
                break;
            }
            // Least squares for these codes; a minimum may not turn into a maximum.
            scale = (n * qw - q1 * w1) / det;
            min = (q1 * qw - q2 * w1) / det;
            if min < 0.0 {
                min = 0.0;
                scale = qw / q2;
            }
            if scale <= 0.0 {
                break;
            }
        }
    }
    best
}

/// Q4_K (`top` 15) and Q5_K (`top` 31).
fn with_minima(w: &[f32], top: u8, out: &mut Vec<u8>) {
    let fits: Vec<(f32, f32)> = w.chunks_exact(32).map(|w| fit(w, f32::from(top))).collect();
    let largest = fits
        .iter()
        .fold((0.0_f32, 0.0_f32), |m, f| (m.0.max(f.0), m.1.max(f.1)));
    let (d, dmin) = (half(largest.0 / 63.0), half(largest.1 / 63.0));
    let (inv, inv_min) = (inverse(d.to_f32()), inverse(dmin.to_f32()));
    let six = |v: f32| v.round().clamp(0.0, 63.0) as u8;
    let pairs: Vec<(u8, u8)> = fits
        .iter()
        .map(|f| (six(f.0 * inv), six(f.1 * inv_min)))
        .collect();

    let mut packed = [0_u8; 12];
    for (j, (sc, m)) in pairs.iter().enumerate() {
        if j < 4 {
            packed[j] |= sc;
            packed[j + 4] |= m;
        } else {
            packed[j + 4] = (sc & 15) | (m & 15) << 4;
            packed[j - 4] |= (sc >> 4) << 6;
            packed[j] |= (m >> 4) << 6;
        }
    }
    let mut low = [0_u8; 128];
    let mut high = [0_u8; 32];
    for (j, w) in w.chunks_exact(32).enumerate() {
        let scale = d.to_f32() * f32::from(pairs[j].0);
        let min = dmin.to_f32() * f32::from(pairs[j].1);
        let inv = inverse(scale);
        for (l, v) in w.iter().enumerate() {
            let q = ((v + min) * inv).round().clamp(0.0, f32::from(top)) as u8;
            low[32 * (j / 2) + l] |= (q & 15) << (4 * (j % 2));
            high[l] |= (q >> 4) << j;
        }
    }
    out.extend_from_slice(&d.to_le_bytes());
    out.extend_from_slice(&dmin.to_le_bytes());
    out.extend_from_slice(&packed);
    if top == 31 {
        out.extend_from_slice(&high);
    }
    out.extend_from_slice(&low);
}

/// Scale of a sub-block for signed codes −32 to 31; it may be negative, so that the larger edge gets −32.
fn fit_signed(w: &[f32]) -> f32 {
    let edge = w
        .iter()
        .copied()
        .fold(0.0_f32, |m, v| if v.abs() > m.abs() { v } else { m });
    if edge == 0.0 {
        return 0.0;
    }
    let (mut best, mut best_error) = (0.0, f32::INFINITY);
    for step in 0..12 {
        let mut scale = edge / -(32.5 - 0.3 * step as f32);
        for _ in 0..2 {
            let inv = 1.0 / scale;
            let (mut q2, mut qw, mut error) = (0.0, 0.0, 0.0);
            for v in w {
                let q = (v * inv).round().clamp(-32.0, 31.0);
                let e = scale * q - v;
                error += e * e;
                q2 += q * q;
                qw += q * v;
            }
            if error < best_error {
                best_error = error;
                best = scale;
            }
            if q2 == 0.0 || qw == 0.0 {
                break;
            }
            scale = qw / q2;
        }
    }
    best
}

/// Q6_K.
fn signed(w: &[f32], out: &mut Vec<u8>) {
    let fits: Vec<f32> = w.chunks_exact(16).map(fit_signed).collect();
    let largest = fits.iter().fold(0.0_f32, |m, s| m.max(s.abs()));
    let d = half(largest / 127.0);
    let inv = inverse(d.to_f32());
    let scales: Vec<i8> = fits
        .iter()
        .map(|s| (s * inv).round().clamp(-128.0, 127.0) as i8)
        .collect();
    let mut low = [0_u8; 128];
    let mut high = [0_u8; 64];
    for (i, v) in w.iter().enumerate() {
        let scale = d.to_f32() * f32::from(scales[i / 16]);
        let q = if scale == 0.0 {
            0.0
        } else {
            (v / scale).round().clamp(-32.0, 31.0)
        };
        let q = (q as i8 + 32) as u8;
        // Half h holds four rows of 32: rows 0 and 2 share bytes 0..32, rows 1 and 3 bytes 32..64.
        let (h, g, l) = (i / 128, i / 32 % 4, i % 32);
        low[64 * h + 32 * (g % 2) + l] |= (q & 15) << (4 * (g / 2));
        high[32 * h + l] |= (q >> 4) << (2 * g);
    }
    out.extend_from_slice(&low);
    out.extend_from_slice(&high);
    out.extend(scales.iter().map(|s| *s as u8));
    out.extend_from_slice(&d.to_le_bytes());
}
