//! The page of conditions and reasons is made from the code that uses them.

use ruvio_operator::api::{ConditionType, Reason};

use super::text;

#[test]
fn the_page_of_conditions_lists_what_a_status_may_say() {
    let mut page = String::from(
        "# Conditions and reasons\n\nWhat the status of a `RuvioCluster` may say. Each condition has the generation of the spec that it is \
         about, and a message with names and figures.\n\n| condition | true means |\n|---|---|\n",
    );
    for condition in ConditionType::ALL {
        page.push_str(&format!("| `{condition}` | {} |\n", condition.about()));
    }
    page.push_str("\n| reason | what it means |\n|---|---|\n");
    for reason in Reason::ALL {
        page.push_str(&format!("| `{reason}` | {} |\n", reason.about()));
    }
    text::assert_is("docs/src/reference/conditions.md", &page);
}
