//! Makes a list of steps that shows a difference as short as it gets.

/// Delta debugging: drops ever smaller pieces as long as `still` finds a fault in what is left.
/// The result is such that no single step can be left out, unless `tries` runs out first.
pub fn shrink<T: Clone>(steps: &[T], mut tries: usize, mut still: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut best = steps.to_vec();
    let mut piece = best.len().div_ceil(2);
    while piece > 0 && tries > 0 {
        let mut at = 0;
        let mut dropped = false;
        while at < best.len() && tries > 0 {
            tries -= 1;
            let mut less = best.clone();
            less.drain(at..(at + piece).min(best.len()));
            if still(&less) {
                best = less;
                dropped = true;
            } else {
                at += piece;
            }
        }
        if piece > 1 {
            piece = piece.div_ceil(2);
        } else if !dropped {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn what_is_needed_together_stays_and_nothing_else() {
        let steps: Vec<u32> = (0..100).collect();
        let found = shrink(&steps, 10_000, |s| [7, 50, 93].iter().all(|n| s.contains(n)));
        assert_eq!(found, [7, 50, 93]);
    }

    #[test]
    fn tries_are_bounded() {
        let steps: Vec<u32> = (0..100).collect();
        let mut asked = 0;
        shrink(&steps, 5, |_| {
            asked += 1;
            false
        });
        assert_eq!(asked, 5);
    }
}
