//! Settings from text, as command lines and launch lines bring them.

use autolevels::settings::{SETTINGS, Settings, Value};
use proptest::prelude::*;

use crate::cases;

/// Text that is nearly, or quite, what a setting takes.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => any::<String>(),
        4 => any::<f64>().prop_map(|x| x.to_string()),
        4 => (-1.0..30.0f64).prop_map(|x| x.to_string()),
        2 => any::<i64>().prop_map(|x| x.to_string()),
        2 => "[-+]?(inf|nan|NaN|infinity|0x[0-9a-f]{1,4}|[0-9]{1,30})",
        4 => "[-+ ]?[0-9]{0,4}[.,]?[0-9]{0,4}(e[-+]?[0-9]{1,4})?[ %\0]?",
        4 => prop::collection::vec(prop_oneof![0.0..1.0f64, Just(0.0), Just(1.0), any::<f64>()], 3..6)
            .prop_map(|edges| edges.iter().map(f64::to_string).collect::<Vec<_>>().join(",")),
        1 => Just("true".into()),
        1 => Just("stretch".into()),
        1 => Just("STRETCH ".into()),
        1 => Just("gpu".into()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(2000)) })]

    #[test]
    fn what_a_setting_takes_is_in_range_and_reads_back(text in texts()) {
        let mut settings = Settings::default();
        for setting in SETTINGS {
            let Ok(value) = setting.parse(&text) else { continue };
            prop_assert!(!matches!(value, Value::Number(x) if !x.is_finite()), "{}: {value:?}", setting.name);
            settings.set(setting.name, value.clone()).unwrap();
            // A rectangle is kept as its numbers, not as the text that they came in.
            let kept = settings.get(setting.name).unwrap();
            prop_assert!(kept == value || setting.name == "roi", "{}: {value:?} is kept as {kept:?}", setting.name);
            prop_assert_eq!(setting.parse(&kept.to_string()), Ok(kept));
        }
        // Only black and white, each in its range, may not fit together.
        let (black, white) = (settings.black, settings.white);
        prop_assert_eq!(settings.check().is_ok(), black < white);
    }

    #[test]
    fn no_name_is_taken_for_a_setting_that_is_not(name in any::<String>(), text in texts()) {
        let known = SETTINGS.iter().any(|setting| setting.name == name);
        prop_assert_eq!(Settings::default().set(&name, Value::Text(text)).is_err() || known, true);
    }
}
