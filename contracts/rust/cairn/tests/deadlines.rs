//! The search tries deadlines in the near future, and calls that succeed only after them.

use cairn::testing::fuzz;

mod promise {
    use cairn::*;

    static UNTIL: Cell<u64> = Cell::new("until");
    static LATE: Cell<bool> = Cell::new("late");

    contract! {
        write fn promise(until: u64) {
            require(until > block_time(), "it is past");
            UNTIL.set(&until)
        }

        write fn claim() {
            require(UNTIL.find().is_some() && block_time() >= UNTIL.get(), "it is too early");
            LATE.set(&true)
        }

        read fn late() -> bool {
            LATE.get()
        }
    }
}

#[test]
fn a_deadline_is_made_that_comes() {
    let setup = |w: &mut fuzz::World| {
        let alice = w.actor("alice");
        let promise = w.deploy("promise", alice, promise::CONTRACT, "", 0);
        w.target(promise, &[]);
        w.invariant("nothing is late", move |chain| {
            if chain.view(promise, "late", "")? == "true" { Err("it is".into()) } else { Ok(()) }
        });
    };
    assert!(fuzz::search(&fuzz::Config::default(), &setup).is_some());
}
