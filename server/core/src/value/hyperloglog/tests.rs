//! Both forms against a plain array of registers.

use proptest::prelude::*;

use super::*;

fn raises() -> impl Strategy<Value = Vec<(usize, u8)>> {
    // Close together, so that runs are split and joined.
    let near = (0usize..40, 1u8..=3);
    let far = (0usize..REGISTERS, 1u8..=32);
    prop::collection::vec(prop_oneof![3 => near, 1 => far], 0..150)
}

fn registers(value: &[u8]) -> Box<Registers> {
    let mut registers = Box::new([0; REGISTERS]);
    merge(&mut registers, value, form(value).expect("a value")).expect("sound");
    registers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_forms_hold_what_an_array_holds(raises in raises()) {
        let mut model = Box::new([0u8; REGISTERS]);
        let mut sparse = empty().to_vec();
        let mut dense = to_dense(&sparse).expect("sound");
        for (index, register) in raises {
            let raised = model[index] < register;
            model[index] = model[index].max(register);
            prop_assert_eq!(raise(&mut sparse, index, register, usize::MAX), Ok(raised));
            prop_assert_eq!(raise(&mut dense, index, register, 0), Ok(raised));
        }
        prop_assert_eq!(form(&sparse), Some(Form::Sparse));
        prop_assert_eq!(registers(&sparse), model.clone());
        prop_assert_eq!(registers(&dense), model);
        prop_assert_eq!(&to_dense(&sparse).expect("sound")[HEADER_BYTES..], &dense[HEADER_BYTES..]);
        let counts = histogram(&sparse, Form::Sparse);
        prop_assert_eq!(counts, histogram(&dense, Form::Dense));
        prop_assert_eq!(counts.expect("sound").iter().sum::<u32>() as usize, REGISTERS);
    }
}

#[test]
fn what_the_sparse_form_cannot_hold_becomes_dense() {
    let mut value = empty().to_vec();
    assert_eq!(raise(&mut value, 5, 33, 3000), Ok(true));
    assert_eq!(form(&value), Some(Form::Dense));
    assert_eq!(
        (
            dense::get(&value, 4),
            dense::get(&value, 5),
            dense::get(&value, 6)
        ),
        (0, 33, 0)
    );
    let mut value = empty().to_vec();
    assert_eq!(raise(&mut value, 5, 2, 18), Ok(true));
    assert_eq!(form(&value), Some(Form::Dense));
}

#[test]
fn the_cache_is_fresh_until_told_otherwise() {
    let mut value = empty().to_vec();
    assert_eq!(cached(&value), Some(0));
    assert!(set_stale(&mut value));
    assert!(!set_stale(&mut value));
    assert_eq!(cached(&value), None);
    value[CACHE_AT..HEADER_BYTES].copy_from_slice(&(1u64 << 40).to_le_bytes());
    assert_eq!(cached(&value), Some(1 << 40));
}

#[test]
fn estimates_of_few_elements_are_close() {
    let mut value = empty().to_vec();
    for nth in 0..100u64 {
        let (index, register) = place(&nth.to_le_bytes());
        raise(&mut value, index, register, 3000).expect("sound");
    }
    let counts = histogram(&value, Form::Sparse).expect("sound");
    assert!(cardinality(&counts).abs_diff(100) <= 2);
}
