package providertest

import "testing"

// Run tests the driver. Its subtests run in parallel, each with instances of its own that it removes.
func Run(t *testing.T, h Harness) {
	h.validate(t)
	for _, test := range []struct {
		promise string
		check   func(t *testing.T, h Harness)
	}{
		{"lifecycle", testLifecycle},
		{"every call may be repeated", testRepeat},
		{"provision comes again before bind", testStart},
		{"many instances at once", testParallel},
		{"a start survives a death at every stop", testStartDeaths},
		{"bind survives a death at every stop", testBindDeaths},
		{"deprovision survives a death at every stop", testDeprovisionDeaths},
		{"deprovision removes what is half made", testHalfMade},
		{"without the instance", testNothing},
		{"update", testUpdate},
		{"update after update", testUpdates},
		{"update survives a death at every stop", testUpdateDeaths},
		{"a half-made update stops nothing else", testHalfUpdated},
		{"a refused update changes nothing", testRefusedUpdate},
		{"bindings live alone", testBindings},
		{"rotation", testRotation},
		{"rotation survives a death at every stop", testRotationDeaths},
		{"unbind survives a death at every stop", testUnbindDeaths},
		{"unbind removes what is half made", testHalfBound},
		{"check", testCheck},
		{"check finds what is broken", testBroken},
		{"names", testNames},
		{"list", testList},
		{"a foreign object is left alone", testForeign},
		{"a foreign binding is left alone", testForeignBinding},
		{"a context that is done starts nothing", testDone},
		{"odd parameters", testOdd},
		{"an unreachable back end is a retryable error", testUnreachable},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			test.check(t, h)
		})
	}
}
