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
        1 => Just("true".into()),
        1 => Just("stretch".into()),
        1 => Just("STRETCH ".into()),
        1 => Just("gpu".into()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2000)))]

    #[test]
    fn what_a_setting_takes_is_in_range_and_reads_back(text in texts()) {
        let mut settings = Settings::default();
        for setting in SETTINGS {
            let Ok(value) = setting.parse(&text) else { continue };
            prop_assert!(!matches!(value, Value::Number(x) if !x.is_finite()), "{}: {value:?}", setting.name);
            settings.set(setting.name, value.clone()).unwrap();
            prop_assert_eq!(settings.get(setting.name), Some(value.clone()));
            prop_assert_eq!(setting.parse(&value.to_string()), Ok(value));
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
