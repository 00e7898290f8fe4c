//! Everything a session promises, against the two backends without weights.

use engine::mock::{Asynchronous, Scripted};
use engine::{Backend, Cancel, Error, Finish, PAGE, Request, Sampling, Session, Token};
use proptest::prelude::*;

fn greedy<'a>(max: usize) -> Request<'a> {
    Request {
        max_tokens: Some(max),
        ..Request::new(Sampling::greedy(), &[])
    }
}

/// What the toy model says after `prompt`, computed from nothing one token at a time.
fn fresh(prompt: &[u32], n: usize, sampling: &Sampling) -> Vec<u32> {
    let mut b = Asynchronous::new(97, 4096, 1);
    let mut s = Session::new(&mut b).unwrap();
    let mut out = Vec::new();
    let mut r = Request {
        max_tokens: Some(n),
        ..Request::new(sampling.clone(), &[])
    };
    s.generate(&mut b, prompt, &mut r, &mut |t: &Token| {
        out.push(t.id);
        true
    })
    .unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Turns of any kind (append, edit, retry, shorten, stop midway in a launch of any size) give what a
    /// fresh device gives, and never compute more than the new tokens plus one page.
    #[test]
    fn any_history_of_edits_equals_a_fresh_start(
        launch in 1_usize..9,
        turns in prop::collection::vec((0_usize..400, prop::collection::vec(0_u32..97, 1..80), 0_usize..30, 0_usize..40), 1..8),
        seed in 0_u64..3,
    ) {
        let sampling = Sampling { temperature: if seed == 0 { 0.0 } else { 0.8 }, seed, repetition_penalty: 1.1, ..Sampling::default() };
        let mut b = Asynchronous::new(97, 4096, launch);
        let mut s = Session::new(&mut b).unwrap();
        for (keep, new, n, cut) in turns {
            let keep = keep.min(s.tokens().len());
            let mut prompt = s.tokens()[..keep].to_vec();
            prompt.extend(&new);
            let common = s.tokens().iter().zip(&prompt).take_while(|(a, b)| a == b).count();
            let before = b.prefilled;
            let mut out = Vec::new();
            let mut r = Request { max_tokens: Some(n), ..Request::new(sampling.clone(), &[]) };
            let g = s.generate(&mut b, &prompt, &mut r, &mut |t: &Token| { out.push(t.id); out.len() != cut }).unwrap();
            prop_assert!(b.prefilled - before <= prompt.len() - common + PAGE);
            prop_assert_eq!(g.stats.cached_tokens + g.stats.prefilled_tokens, prompt.len());
            prop_assert_eq!(b.prefilled - before, g.stats.prefilled_tokens);
            let want = fresh(&prompt, n, &sampling);
            let len = if cut > 0 && cut <= n { cut } else { n };
            prop_assert_eq!(&out[..], &want[..len]);
            prompt.extend(&out);
            prop_assert_eq!(s.tokens(), &prompt[..]);
            prop_assert_eq!(b.position(s.state()), prompt.len());
        }
    }
}

#[test]
fn a_stop_token_is_neither_shown_nor_kept() {
    for launch in [1, 3, 8] {
        let all = fresh(&[5, 6, 7], 20, &Sampling::greedy());
        let stop = all[6];
        let first = all.iter().position(|t| *t == stop).unwrap();
        let mut b = Asynchronous::new(97, 4096, launch);
        let mut s = Session::new(&mut b).unwrap();
        let mut out = Vec::new();
        let stops = [stop];
        let mut r = Request::new(Sampling::greedy(), &stops);
        let g = s
            .generate(&mut b, &[5, 6, 7], &mut r, &mut |t: &Token| {
                out.push(t.id);
                true
            })
            .unwrap();
        assert_eq!(g.finish, Finish::Stop(stop));
        assert_eq!(out, all[..first]);
        assert_eq!(s.tokens().len(), 3 + first);
        // The next turn writes the stop token itself and goes on from there without computing anything twice.
        let mut prompt = s.tokens().to_vec();
        prompt.push(stop);
        let before = b.prefilled;
        s.generate(&mut b, &prompt, &mut greedy(1), &mut |_| true)
            .unwrap();
        assert_eq!(b.prefilled - before, 1);
    }
}

#[test]
fn the_same_prompt_again_costs_at_most_a_page_and_says_so() {
    let mut b = Asynchronous::new(97, 4096, 4);
    let mut s = Session::new(&mut b).unwrap();
    let prompt: Vec<u32> = (0..300).map(|i| i % 97).collect();
    s.generate(&mut b, &prompt, &mut greedy(0), &mut |_| true)
        .unwrap();
    let g = s
        .generate(&mut b, &prompt, &mut greedy(5), &mut |_| true)
        .unwrap();
    assert_eq!(g.stats.cached_tokens, 300, "logits were still pending");
    let g = s
        .generate(&mut b, &prompt, &mut greedy(5), &mut |_| true)
        .unwrap();
    assert_eq!(g.stats.cached_tokens, 299 / PAGE * PAGE);
}

#[test]
fn prompts_that_do_not_fit_are_refused_before_any_work() {
    let mut b = Asynchronous::new(97, 100, 1);
    let mut s = Session::new(&mut b).unwrap();
    let long = vec![1; 101];
    let e = s
        .generate(&mut b, &long, &mut greedy(1), &mut |_| true)
        .unwrap_err();
    assert!(matches!(
        e,
        Error::Context {
            need: 101,
            have: 100
        }
    ));
    assert_eq!(b.prefilled, 0);
    let e = s
        .generate(&mut b, &[97], &mut greedy(1), &mut |_| true)
        .unwrap_err();
    assert_eq!(e.to_string(), "token 97 is outside the vocabulary of 97");
    assert!(
        s.generate(&mut b, &[], &mut greedy(1), &mut |_| true)
            .is_err()
    );
    // A prompt that fills the context exactly runs and generates nothing.
    let g = s
        .generate(&mut b, &long[..100], &mut greedy(9), &mut |_| true)
        .unwrap();
    assert_eq!((g.finish, g.stats.generated_tokens), (Finish::Budget, 0));
    let g = s
        .generate(&mut b, &long[..98], &mut greedy(9), &mut |_| true)
        .unwrap();
    assert_eq!((g.finish, g.stats.generated_tokens), (Finish::Budget, 2));
}

#[test]
fn cancellation_keeps_a_usable_prefix() {
    let mut b = Asynchronous::new(97, 4096, 1);
    let mut s = Session::new(&mut b).unwrap();
    let prompt: Vec<u32> = (0..300).map(|i| i % 97).collect();
    let cancel = Cancel::default();
    let stopper = cancel.clone();
    let mut progress = move |done: usize, _: usize| {
        if done >= 2 * PAGE {
            stopper.cancel();
        }
    };
    let mut r = Request {
        cancel: cancel.clone(),
        progress: Some(&mut progress),
        ..greedy(5)
    };
    let g = s.generate(&mut b, &prompt, &mut r, &mut |_| true).unwrap();
    assert_eq!(g.finish, Finish::Cancelled);
    assert_eq!(s.tokens(), &prompt[..3 * PAGE]);
    cancel.reset();
    let mut out = Vec::new();
    let g = s
        .generate(&mut b, &prompt, &mut greedy(5), &mut |t| {
            out.push(t.id);
            true
        })
        .unwrap();
    assert_eq!(g.stats.cached_tokens, 3 * PAGE);
    assert_eq!(out, fresh(&prompt, 5, &Sampling::greedy()));

    let cancel = Cancel::default();
    let mut r = Request {
        cancel: cancel.clone(),
        ..greedy(100)
    };
    let mut n = 0;
    let g = s
        .generate(&mut b, &prompt, &mut r, &mut |_| {
            n += 1;
            if n == 7 {
                cancel.cancel();
            }
            true
        })
        .unwrap();
    assert_eq!(
        (g.finish, g.stats.generated_tokens, n),
        (Finish::Cancelled, 7, 7)
    );
}

#[test]
fn sessions_survive_the_disk_and_damage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.session");
    let mut b = Asynchronous::new(97, 4096, 4);
    let mut s = Session::new(&mut b).unwrap();
    let prompt: Vec<u32> = (0..300).map(|i| i * 7 % 97).collect();
    s.generate(&mut b, &prompt, &mut greedy(20), &mut |_| true)
        .unwrap();
    s.save(&mut b, "toy", &path).unwrap();

    let mut b = Asynchronous::new(97, 4096, 4);
    let (mut s, tokens) = Session::load(&mut b, "toy", &path).unwrap();
    assert_eq!(tokens.len(), 320);
    let mut out = Vec::new();
    let g = s
        .generate(&mut b, &tokens, &mut greedy(5), &mut |t| {
            out.push(t.id);
            true
        })
        .unwrap();
    // 320 tokens are five whole pages; only the last page is computed again, for its logits.
    assert_eq!(g.stats.prefilled_tokens, PAGE);
    assert_eq!(out, fresh(&tokens, 5, &Sampling::greedy()));

    let e = Session::load(&mut b, "other", &path)
        .unwrap_err()
        .to_string();
    assert!(
        e.ends_with("was saved with another model (toy); this one is other"),
        "{e}"
    );
    let good = std::fs::read(&path).unwrap();
    for cut in [0, 4, 8, 20, good.len() / 2, good.len() - 1] {
        std::fs::write(&path, &good[..cut]).unwrap();
        assert!(Session::load(&mut b, "toy", &path).is_err(), "cut at {cut}");
    }
    for flip in (0..good.len()).step_by(37) {
        let mut bad = good.clone();
        bad[flip] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        assert!(
            Session::load(&mut b, "toy", &path).is_err(),
            "flip at {flip}"
        );
    }
}

#[test]
fn scripts_play_in_batches_of_any_size() {
    for batch in [1, 2, 5] {
        let mut b = Scripted::new(100, 500, [vec![1, 2, 3, 4, 9, 5]]).with_batch(batch);
        b.play(vec![7]);
        let mut s = Session::new(&mut b).unwrap();
        let mut out = Vec::new();
        let mut r = Request::new(Sampling::greedy(), &[9]);
        let g = s
            .generate(&mut b, &[50], &mut r, &mut |t| {
                out.push(t.id);
                true
            })
            .unwrap();
        assert_eq!((g.finish, &out[..]), (Finish::Stop(9), &[1, 2, 3, 4][..]));
        let prompt = [50, 1, 2, 3, 4, 9, 60];
        let g = s.generate(&mut b, &prompt, &mut r, &mut |_| true).unwrap();
        assert_eq!((g.stats.cached_tokens, g.stats.prefilled_tokens), (5, 2));
    }
}
